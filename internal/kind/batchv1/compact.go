// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package batchv1

import (
	"slices"
	"unique"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

var _ adapter.Compacter = Kind{}

// compactCronJob is a CronJob whose template is as the API server stores it, and is decoded when a Job is made of it.
// What many CronJobs have in common is held once for all of them. It is never modified.
type compactCronJob struct {
	adapter.CompactMeta
	schedule unique.Handle[string]
	// timeZone is the zero Handle when there is none.
	timeZone                   unique.Handle[string]
	concurrency                unique.Handle[batchv1.ConcurrencyPolicy]
	suspend                    bool
	deadline                   *int64
	keepSuccessful, keepFailed *int32
	status                     batchv1.CronJobStatus
	// timetable is the annotation of ours, "" when it is absent.
	timetable unique.Handle[string]
	// template is a batchv1.JobTemplateSpec in protobuf.
	template []byte
}

// Compact implements adapter.Compacter.
func (Kind) Compact(obj adapter.Object) adapter.Object {
	cj, ok := obj.(*batchv1.CronJob)
	if !ok || cj == nil {
		return obj
	}
	whole := &cj.Spec.JobTemplate
	reachesJobs := batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: whole.Labels, Annotations: whole.Annotations}, Spec: whole.Spec}
	template, err := reachesJobs.Marshal()
	if err != nil {
		return obj
	}
	c := &compactCronJob{
		CompactMeta:    adapter.NewCompactMeta(cj, info),
		schedule:       unique.Make(cj.Spec.Schedule),
		concurrency:    unique.Make(cj.Spec.ConcurrencyPolicy),
		suspend:        cj.Spec.Suspend != nil && *cj.Spec.Suspend,
		deadline:       cj.Spec.StartingDeadlineSeconds,
		keepSuccessful: sharedLimit(cj.Spec.SuccessfulJobsHistoryLimit),
		keepFailed:     sharedLimit(cj.Spec.FailedJobsHistoryLimit),
		status:         cj.Status,
		timetable:      unique.Make(cj.Annotations[adapter.AnnotationTimetable]),
		template:       slices.Clip(template),
	}
	if cj.Spec.TimeZone != nil {
		c.timeZone = unique.Make(*cj.Spec.TimeZone)
	}
	return c
}

// limits are the history limits that nearly every CronJob has; nobody writes to them.
var limits = [...]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}

// sharedLimit gives a limit of the same value that many CronJobs share.
func sharedLimit(limit *int32) *int32 {
	if limit == nil || *limit < 0 || int(*limit) >= len(limits) {
		return limit
	}
	return &limits[*limit]
}

// spec is the spec without its template.
func (c *compactCronJob) spec() batchv1.CronJobSpec {
	spec := batchv1.CronJobSpec{
		Schedule:                   c.schedule.Value(),
		ConcurrencyPolicy:          c.concurrency.Value(),
		Suspend:                    &c.suspend,
		StartingDeadlineSeconds:    c.deadline,
		SuccessfulJobsHistoryLimit: c.keepSuccessful,
		FailedJobsHistoryLimit:     c.keepFailed,
	}
	if c.timeZone != (unique.Handle[string]{}) {
		spec.TimeZone = new(c.timeZone.Value())
	}
	return spec
}

// GetObjectKind implements runtime.Object; like objects that come from a client it does not know its own kind.
func (*compactCronJob) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object.
func (c *compactCronJob) DeepCopyObject() runtime.Object {
	twin := *c
	twin.status = *c.status.DeepCopy()
	return &twin
}

// contents are what the kind reads of a CronJob beside its template.
type contents struct {
	meta      metav1.Object
	spec      batchv1.CronJobSpec
	status    *batchv1.CronJobStatus
	timetable string
}

// contentsOf gives them for both forms of a CronJob; false for anything else.
func contentsOf(obj adapter.Object) (contents, bool) {
	switch cj := obj.(type) {
	case *compactCronJob:
		if cj != nil {
			return contents{meta: cj, spec: cj.spec(), status: &cj.status, timetable: cj.timetable.Value()}, true
		}
	case *batchv1.CronJob:
		if cj != nil {
			return contents{meta: cj, spec: cj.Spec, status: &cj.Status, timetable: cj.Annotations[adapter.AnnotationTimetable]}, true
		}
	}
	return contents{}, false
}

// templateOf gives the template of both forms of a CronJob, which shares nothing with it; false for anything else.
func templateOf(obj adapter.Object) (*batchv1.JobTemplateSpec, bool, error) {
	switch cj := obj.(type) {
	case *compactCronJob:
		if cj != nil {
			var template batchv1.JobTemplateSpec
			return &template, true, template.Unmarshal(cj.template)
		}
	case *batchv1.CronJob:
		if cj != nil {
			return cj.Spec.JobTemplate.DeepCopy(), true, nil
		}
	}
	return nil, false, nil
}
