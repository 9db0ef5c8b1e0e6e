// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// A Job that is suspended runs nothing once none of its Pods is active, and not before; one that has ended is not
// suspended.
func TestSuspendedJob(t *testing.T) {
	ended := []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	for sentence, c := range map[string]struct {
		suspend    *bool
		active     int32
		conditions []batchv1.JobCondition
		want       bool
	}{
		"never suspended":               {},
		"resumed":                       {suspend: new(false)},
		"suspended from the beginning":  {suspend: new(true), want: true},
		"suspended, and Pods still run": {suspend: new(true), active: 1},
		"ended":                         {suspend: new(true), conditions: ended},
	} {
		t.Run(sentence, func(t *testing.T) {
			job := &batchv1.Job{Spec: batchv1.JobSpec{Suspend: c.suspend}, Status: batchv1.JobStatus{Active: c.active, Conditions: c.conditions}}
			if got := adapter.JobChild(job, adapter.Info{}).Suspended; got != c.want {
				t.Errorf("suspended: %v, want %v", got, c.want)
			}
		})
	}
}
