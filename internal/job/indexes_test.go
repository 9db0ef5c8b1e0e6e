// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// JOB-210: which indexes come next.
func TestPendingIndexes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		active            []int
		completed, failed string
		want              []int
	}{
		"beside active and completed": {[]int{3, 5, 8}, "2-4,9", "", []int{0, 1, 6, 7, 10}},
		"beside failed":               {[]int{3, 9}, "1,5,9", "2,6,7", []int{0, 4, 8, 10, 11}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := aJob("p8 c20 indexed blpi1", started(time.Hour), indexesDone(test.completed, test.failed))
			j.Spec.Parallelism = ptr.To(int32(len(test.active) + 5))
			var pods []*corev1.Pod
			for _, i := range test.active {
				pods = append(pods, aPod(fmt.Sprintf("p%d running i%d fc0", i, i)))
			}
			var got []int
			for _, c := range Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).Create {
				got = append(got, c.Index)
			}
			// JOB-211: index 3 is active and completed at once in the first case: such a pod is not useless.
			if !slices.Equal(got, test.want) {
				t.Errorf("created %v, want %v", got, test.want)
			}
		})
	}
}

// JOB-211: active pods of which only one may have an index.
func TestUselessPods(t *testing.T) {
	t.Parallel()
	j := aJob("p9 c3 indexed", started(time.Hour))
	p := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true}, Pods: somePods(
		"a running", "b running i-1", "c running ix", "d running i3", "e running i0", "f ready i0", "g pending i0", "h running i2")})
	var got []string
	for _, d := range p.Delete {
		got = append(got, d.Name)
	}
	slices.Sort(got)
	if want := []string{"a", "b", "c", "d", "e", "g"}; !slices.Equal(got, want) {
		t.Errorf("deleted %v, want %v", got, want)
	}
}

// JOB-220: the status of the largest Jobs fits into an object.
func TestStatusOfAHugeJob(t *testing.T) {
	t.Parallel()
	var odd strings.Builder
	for i := 1; i < 100000; i += 2 {
		fmt.Fprintf(&odd, "%d,", i)
	}
	j := aJob("p1000 c100000 indexed", started(time.Hour), indexesDone(strings.TrimSuffix(odd.String(), ","), ""))
	plan := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	r := plan.PlanStatus(mishaps{}.carryOut(plan))
	if len(plan.Create) != 500 || plan.Create[499].Index != 998 || r.Write.Status.Succeeded != 50000 {
		t.Errorf("%d pods, %d done", len(plan.Create), r.Write.Status.Succeeded)
	}
	if n := len(r.Write.Status.CompletedIndexes); n > 1_000_000 {
		t.Errorf("%d bytes of indexes", n)
	}
}

// JOB-220: a sync looks once at each pod that is accounted for, and then only at the others.
func TestSyncCostsWhatIsStillToBeDone(t *testing.T) {
	t.Parallel()
	pods := numbered(5000, "p", "succeeded iN -F")
	for i := range 10 {
		pods = append(pods, aPod(fmt.Sprintf("q%d succeeded i%d", i, 5000+i)), aPod(fmt.Sprintf("r%d running i%d", i, 6000+i)))
	}
	j := aJob("p10 c7000 indexed", started(time.Hour), counted(5000, 0), indexesDone("0-4999", ""))
	p := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	if n := len(p.sync.pods.relevant); n != 20 || len(p.sync.pods.byUID) != 20 {
		t.Errorf("the rules look at %d pods, want the 20 that are not accounted for", n)
	}
}
