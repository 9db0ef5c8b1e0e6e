// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package make

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CronJobBuilder builds a batch/v1 CronJob.
type CronJobBuilder struct {
	obj batchv1.CronJob
}

// CronJob starts a CronJob that is due every ten minutes, allows overlaps, and keeps
// three successful Jobs and one failed.
func CronJob(namespace, name string) CronJobBuilder {
	return CronJobBuilder{batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"},
		ObjectMeta: newMeta("cronjob", namespace, name),
		Spec: batchv1.CronJobSpec{
			Schedule:                   "*/10 * * * *",
			ConcurrencyPolicy:          batchv1.AllowConcurrent,
			Suspend:                    new(false),
			SuccessfulJobsHistoryLimit: new(int32(3)),
			FailedJobsHistoryLimit:     new(int32(1)),
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
				Template: corev1.PodTemplateSpec{Spec: podSpec()},
			}},
		},
	}}
}

// Obj returns the CronJob as the API server has it.
func (b CronJobBuilder) Obj() *batchv1.CronJob { return b.obj.DeepCopy() }

// New returns the CronJob as a user creates it.
func (b CronJobBuilder) New() *batchv1.CronJob {
	o := b.obj.DeepCopy()
	o.ObjectMeta, o.Status = unsaved(o.ObjectMeta), batchv1.CronJobStatus{}
	return o
}

// UID sets metadata.uid.
func (b CronJobBuilder) UID(uid types.UID) CronJobBuilder {
	b.obj.UID = uid
	return b
}

// ResourceVersion sets metadata.resourceVersion.
func (b CronJobBuilder) ResourceVersion(v string) CronJobBuilder {
	b.obj.ResourceVersion = v
	return b
}

// Created sets metadata.creationTimestamp.
func (b CronJobBuilder) Created(t time.Time) CronJobBuilder {
	b.obj.CreationTimestamp = metav1.NewTime(t)
	return b
}

// Deleted sets metadata.deletionTimestamp, as for an object that a finalizer holds.
func (b CronJobBuilder) Deleted(t time.Time) CronJobBuilder {
	b.obj.DeletionTimestamp = at(t)
	return b
}

// Finalizer adds a finalizer.
func (b CronJobBuilder) Finalizer(name string) CronJobBuilder {
	b.obj.Finalizers = add(b.obj.Finalizers, name)
	return b
}

// Label adds a label.
func (b CronJobBuilder) Label(key, value string) CronJobBuilder {
	b.obj.Labels = with(b.obj.Labels, key, value)
	return b
}

// Annotation adds an annotation.
func (b CronJobBuilder) Annotation(key, value string) CronJobBuilder {
	b.obj.Annotations = with(b.obj.Annotations, key, value)
	return b
}

// Schedule sets spec.schedule.
func (b CronJobBuilder) Schedule(s string) CronJobBuilder {
	b.obj.Spec.Schedule = s
	return b
}

// TimeZone sets spec.timeZone.
func (b CronJobBuilder) TimeZone(name string) CronJobBuilder {
	b.obj.Spec.TimeZone = &name
	return b
}

// Deadline sets spec.startingDeadlineSeconds.
func (b CronJobBuilder) Deadline(seconds int64) CronJobBuilder {
	b.obj.Spec.StartingDeadlineSeconds = &seconds
	return b
}

// Policy sets spec.concurrencyPolicy.
func (b CronJobBuilder) Policy(p batchv1.ConcurrencyPolicy) CronJobBuilder {
	b.obj.Spec.ConcurrencyPolicy = p
	return b
}

// Suspend sets spec.suspend.
func (b CronJobBuilder) Suspend(suspended bool) CronJobBuilder {
	b.obj.Spec.Suspend = &suspended
	return b
}

// History sets the limits of successful and failed Jobs kept.
func (b CronJobBuilder) History(successful, failed int32) CronJobBuilder {
	b.obj.Spec.SuccessfulJobsHistoryLimit, b.obj.Spec.FailedJobsHistoryLimit = &successful, &failed
	return b
}

// NoHistoryLimits leaves both history limits unset.
func (b CronJobBuilder) NoHistoryLimits() CronJobBuilder {
	b.obj.Spec.SuccessfulJobsHistoryLimit, b.obj.Spec.FailedJobsHistoryLimit = nil, nil
	return b
}

// TemplateLabel adds a label to the Job template.
func (b CronJobBuilder) TemplateLabel(key, value string) CronJobBuilder {
	b.obj.Spec.JobTemplate.Labels = with(b.obj.Spec.JobTemplate.Labels, key, value)
	return b
}

// TemplateAnnotation adds an annotation to the Job template.
func (b CronJobBuilder) TemplateAnnotation(key, value string) CronJobBuilder {
	b.obj.Spec.JobTemplate.Annotations = with(b.obj.Spec.JobTemplate.Annotations, key, value)
	return b
}

// Template makes the Job template that of a Job.
func (b CronJobBuilder) Template(job JobBuilder) CronJobBuilder {
	o := job.New()
	b.obj.Spec.JobTemplate = batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: o.Labels, Annotations: o.Annotations},
		Spec:       o.Spec,
	}
	return b
}

// LastSchedule sets status.lastScheduleTime.
func (b CronJobBuilder) LastSchedule(t time.Time) CronJobBuilder {
	b.obj.Status.LastScheduleTime = at(t)
	return b
}

// LastSuccessful sets status.lastSuccessfulTime.
func (b CronJobBuilder) LastSuccessful(t time.Time) CronJobBuilder {
	b.obj.Status.LastSuccessfulTime = at(t)
	return b
}

// Active adds Jobs to status.active.
func (b CronJobBuilder) Active(jobs ...*batchv1.Job) CronJobBuilder {
	for _, job := range jobs {
		b.obj.Status.Active = add(b.obj.Status.Active, corev1.ObjectReference{
			APIVersion:      "batch/v1",
			Kind:            "Job",
			Namespace:       job.Namespace,
			Name:            job.Name,
			UID:             job.UID,
			ResourceVersion: job.ResourceVersion,
		})
	}
	return b
}
