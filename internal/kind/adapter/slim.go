// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Slim types hold what a CronJob controller reads of a custom resource. Decoding drops the rest, so they must never be
// sent back whole: status is written by patch, and a child's spec travels as raw JSON. What their APIs have in common
// is here; each kind embeds it and adds what only its own API has.

// CronJobSpec has the fields of batch/v1, with the meaning they have there, except for timeZone.
type CronJobSpec struct {
	Schedule                   string                    `json:"schedule"`
	StartingDeadlineSeconds    *int64                    `json:"startingDeadlineSeconds,omitempty"`
	ConcurrencyPolicy          batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	Suspend                    *bool                     `json:"suspend,omitempty"`
	JobTemplate                Template                  `json:"jobTemplate"`
	SuccessfulJobsHistoryLimit *int32                    `json:"successfulJobsHistoryLimit,omitempty"`
	FailedJobsHistoryLimit     *int32                    `json:"failedJobsHistoryLimit,omitempty"`
}

// Cron translates the spec.
func (s *CronJobSpec) Cron() cron.Spec {
	return cron.Spec{
		Schedules:      []string{s.Schedule},
		Deadline:       s.StartingDeadlineSeconds,
		Concurrency:    s.ConcurrencyPolicy,
		Suspend:        s.Suspend != nil && *s.Suspend,
		KeepSuccessful: s.SuccessfulJobsHistoryLimit,
		KeepFailed:     s.FailedJobsHistoryLimit,
	}
}

// DeepCopyInto copies s into out.
func (s *CronJobSpec) DeepCopyInto(out *CronJobSpec) {
	*out = *s
	out.StartingDeadlineSeconds = DeepCopyPointer(s.StartingDeadlineSeconds)
	out.Suspend = DeepCopyPointer(s.Suspend)
	s.JobTemplate.DeepCopyInto(&out.JobTemplate)
	out.SuccessfulJobsHistoryLimit = DeepCopyPointer(s.SuccessfulJobsHistoryLimit)
	out.FailedJobsHistoryLimit = DeepCopyPointer(s.FailedJobsHistoryLimit)
}

// CronJobStatus has the fields of batch/v1 except for lastSuccessfulTime.
type CronJobStatus struct {
	Active           []corev1.ObjectReference `json:"active,omitempty"`
	LastScheduleTime *metav1.Time             `json:"lastScheduleTime,omitempty"`
}

// Cron translates the status, and the annotation of ours in metadata.
func (s *CronJobStatus) Cron(metadata *metav1.ObjectMeta) cron.State {
	return cron.State{
		Active:       s.Active,
		LastSchedule: Time(s.LastScheduleTime),
		Timetable:    metadata.Annotations[cron.AnnotationTimetable],
	}
}

// DeepCopyInto copies s into out.
func (s *CronJobStatus) DeepCopyInto(out *CronJobStatus) {
	out.Active = slices.Clone(s.Active)
	out.LastScheduleTime = s.LastScheduleTime.DeepCopy()
}

// Template is a jobTemplate: what of its metadata reaches the child, and its spec as the user wrote it, so that fields
// which these types do not know reach the child too.
type Template struct {
	Metadata TemplateMeta         `json:"metadata,omitzero"`
	Spec     runtime.RawExtension `json:"spec,omitzero"`
}

// TemplateMeta is the metadata of a template.
type TemplateMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// DeepCopyInto copies t into out.
func (t *Template) DeepCopyInto(out *Template) {
	out.Metadata = TemplateMeta{Labels: maps.Clone(t.Metadata.Labels), Annotations: maps.Clone(t.Metadata.Annotations)}
	t.Spec.DeepCopyInto(&out.Spec)
}

// DeepCopyPointer copies what p points to; nil stays nil.
func DeepCopyPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// DeepCopyItems copies the items of a list; nil stays nil.
func DeepCopyItems[T any, P interface {
	*T
	DeepCopyInto(*T)
}](items []T) []T {
	if items == nil {
		return nil
	}
	out := make([]T, len(items))
	for i := range items {
		P(&items[i]).DeepCopyInto(&out[i])
	}
	return out
}
