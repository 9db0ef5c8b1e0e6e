// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// jobKind is the kind of child whose Go type every scheme has.
var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// NewChild implements adapter.TypedChildren.
func (Kind) NewChild(kind schema.GroupVersionKind) adapter.Object {
	if kind == jobKind {
		return &batchv1.Job{}
	}
	return nil
}

func (t *Template) makesJobs() bool { return t.apiVersion == "batch/v1" && t.kind == "Job" }

// buildTyped is Build, and gives a Job its Go type. One that holds what this program has no field for, or another type
// for, stays as it is: the server may be newer, and if it is not, says so itself.
func (t *Template) buildTyped(timetable metav1.Object, start Start) (adapter.Object, *Obstacle) {
	p, obstacle := t.expand(timetable, start)
	if obstacle != nil {
		return nil, obstacle
	}
	if job := t.job(p); job != nil {
		return job, nil
	}
	child, obstacle := t.build(p)
	if obstacle != nil {
		return nil, obstacle
	}
	return child, nil
}

// job makes the Job of its parts; nil if they are those of anything else.
func (t *Template) job(p *childParts) *batchv1.Job {
	if !t.makesJobs() {
		return nil
	}
	job := &batchv1.Job{ObjectMeta: p.metadata}
	job.APIVersion, job.Kind = t.apiVersion, t.kind
	if unknown, err := json.UnmarshalStrict(p.spec, &job.Spec); err != nil || len(unknown) > 0 {
		return nil
	}
	if timeout := int64(t.timeout / time.Second); t.timeout > 0 && (job.Spec.ActiveDeadlineSeconds == nil || *job.Spec.ActiveDeadlineSeconds > timeout) {
		job.Spec.ActiveDeadlineSeconds = &timeout
	}
	return job
}
