// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/google/go-cmp/cmp"
)

// A Job of one pod costs four writes and two events (JOB-375).
func TestOnePodJobCostsFourWrites(t *testing.T) {
	for name, mode := range map[string]func(make.JobBuilder) make.JobBuilder{
		"NonIndexed": func(b make.JobBuilder) make.JobBuilder { return b },
		"Indexed":    func(b make.JobBuilder) make.JobBuilder { return b.Indexed(1) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(mode(make.Job(ns, "one")).Obj())
			w.run()
			w.setPod(w.pods()[0], func(s *corev1.PodStatus) {
				s.Phase = corev1.PodRunning
				s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			})
			w.pass(100 * time.Millisecond)
			w.finishAll(corev1.PodSucceeded)
			w.pass(time.Hour)
			w.wantStatus("one", func(s batchv1.JobStatus) bool {
				return condition(s, batchv1.JobComplete) && s.Succeeded == 1 && s.Failed == 0
			}, "complete with one success")
			w.wantHeld(0)
			if n := w.writes(); n != 4 {
				t.Errorf("%d writes, want 4: %v", n, w.calls)
			}
			if diff := cmp.Diff([]string{"SuccessfulCreate", "Completed"}, w.said.reasons()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
