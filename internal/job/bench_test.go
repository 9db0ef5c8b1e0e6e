// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDecide: one sync of a large Job of which most pods have ended and are counted, a few ended just now and the
// rest runs.
func BenchmarkDecide(b *testing.B) {
	for _, mode := range []string{"", " indexed"} {
		for _, n := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("%d pods%s", n, mode), func(b *testing.B) {
				j := aJob(fmt.Sprintf("p%d c%d", n/5, n)+mode, started(time.Hour), counted(int32(n*8/10), 0), indexesDone(fmt.Sprintf("0-%d", n*8/10-1), ""))
				pods := numbered(n, "p", "ready iN")
				for i := range pods {
					switch {
					case i < n*8/10:
						pods[i] = aPod(fmt.Sprintf("p%d succeeded -F i%d", i, i))
					case i < n*8/10+10:
						pods[i] = aPod(fmt.Sprintf("p%d succeeded i%d", i, i))
					}
				}
				b.ReportAllocs()
				for b.Loop() {
					plan := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
					if r := plan.PlanStatus(Results{}); len(r.Unfinalize) != 10 || len(plan.Delete) > 0 {
						b.Fatalf("%d finalizers", len(r.Unfinalize))
					}
				}
			})
		}
	}
}
