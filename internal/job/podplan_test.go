// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// job.md 2.8: what is deleted first, each row before the next.
func TestDeletionPreference(t *testing.T) {
	t.Parallel()
	readySince := func(name string, d time.Duration, more string) *corev1.Pod {
		p := aPod(name + " running ready " + more)
		p.Status.Conditions[0].LastTransitionTime = ago(d)
		return p
	}
	noTime := aPod("5 running")
	noTime.CreationTimestamp = metav1.Time{}
	sidecarRestarts := aPod("4 running initrestarts3")
	sidecarRestarts.Spec.InitContainers = []corev1.Container{{Name: "init", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
	inOrder := []*corev1.Pod{
		aPod("0 unscheduled age9000"), aPod("1 pending age9000"), aPod("2 unknown age9000"),
		aPod("3 running restarts2"), sidecarRestarts, noTime, aPod("6 running age60"), aPod("7 running age600"),
		readySince("8", time.Second, "age60"), readySince("9", time.Minute, "restarts9 age60"), readySince("A", time.Minute, "age60"), readySince("B", time.Minute, "age600"),
	}
	var owned []claimedPod
	for _, p := range inOrder {
		owned = append(owned, claimedPod{pod: p})
	}
	active := classifyPods(owned, recordedPods{}, Expectations{}, now, time.Second).active
	slices.SortFunc(active, byDeletionPreference(now))
	var got []string
	for _, v := range active {
		got = append(got, v.pod.Name)
	}
	if want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
