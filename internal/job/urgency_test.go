// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Who waits for a status write.
func TestUrgency(t *testing.T) {
	t.Parallel()
	active := func(n int32) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Status.Active = n } }
	runSyncs(t, map[string]syncTest{
		"nothing to write": {
			job: aJob("p1 c3", started(time.Minute), active(1)), pods: somePods("a running"), want: "urgency=-",
		},
		"the start": {
			job: aJob("p2 c5"), want: "urgency=start",
		},
		"the start, and a pod has ended": {
			job: aJob("p2 c5"), pods: somePods("a succeeded", "b running"), want: "urgency=immediate",
		},
		"the start of a Job that was suspended": {
			job: aJob("p2 c5", withCondition(batchv1.JobSuspended, "True", "JobSuspended")), want: "urgency=immediate",
		},
		"progress": {
			job: aJob("p2 c5", started(time.Minute), active(2)), pods: somePods("a succeeded", "b running"), want: "urgency=progress",
		},
		"progress, and no pod runs": {
			job: aJob("p1 c5", started(time.Minute), active(1)), pods: somePods("a failed end1"), want: "urgency=immediate active=0",
		},
		"an outcome": {
			job: aJob("p2 c5 bl0", started(time.Minute), active(2)), pods: somePods("a failed", "b running"), want: "urgency=immediate active=1",
		},
		"an outcome that is stored, while pods are stopped": {
			job:  aJob("p2 c5 bl0", started(time.Minute), active(2), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			pods: somePods("a failed", "b running deleting"), want: "urgency=immediate write=yes",
		},
		"the end": {
			job: aJob("", started(time.Minute), active(1)), pods: somePods("a succeeded"), want: "urgency=immediate write=end",
		},
		"readiness": {
			job: aJob("p1 c3", started(time.Minute), active(1)), pods: somePods("a ready"), want: "urgency=lazy",
		},
		"readiness of a Job that is being deleted": {
			job: aJob("p1 c3 deleting", started(time.Minute), active(1)), pods: somePods("a ready"), want: "urgency=immediate",
		},
		"settling, and no pod runs": {
			job: aJob("p0 c3", started(time.Minute), uncounted("a", "")), pods: somePods("a succeeded -F"), want: "urgency=lazy active=0",
		},
		"settling of a suspended Job": {
			job:  aJob("p1 c3 suspend", started(time.Minute), uncounted("a", ""), withCondition(batchv1.JobSuspended, "True", "JobSuspended")),
			pods: somePods("a succeeded -F"), want: "urgency=immediate write=yes",
		},
	})
}
