// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
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
//
// +kubebuilder:object:generate=true
type CronJobSpec struct {
	Schedule                   string                    `json:"schedule"`
	StartingDeadlineSeconds    *int64                    `json:"startingDeadlineSeconds,omitempty"`
	ConcurrencyPolicy          batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	Suspend                    *bool                     `json:"suspend,omitempty"`
	JobTemplate                Template                  `json:"jobTemplate"`
	SuccessfulJobsHistoryLimit *int32                    `json:"successfulJobsHistoryLimit,omitempty"`
	FailedJobsHistoryLimit     *int32                    `json:"failedJobsHistoryLimit,omitempty"`
}

// Cron translates the spec of a CronJob with that time zone, nil for none.
func (s *CronJobSpec) Cron(timeZone *string, info Info, options ReadOptions) cron.Policy {
	return cron.Policy{
		Timing:    CronTiming(s.Schedule, timeZone, info, options),
		Deadline:  s.StartingDeadlineSeconds,
		Room:      Room(s.ConcurrencyPolicy),
		Suspend:   s.Suspend != nil && *s.Suspend,
		Succeeded: cron.Retention{Limit: s.SuccessfulJobsHistoryLimit},
		Failed:    cron.Retention{Limit: s.FailedJobsHistoryLimit},
	}
}

// CronJobStatus has the fields of batch/v1 except for lastSuccessfulTime.
//
// +kubebuilder:object:generate=true
type CronJobStatus struct {
	Active           []corev1.ObjectReference `json:"active,omitempty"`
	LastScheduleTime *metav1.Time             `json:"lastScheduleTime,omitempty"`
}

// Cron translates the status.
func (s *CronJobStatus) Cron() cron.Memory {
	return cron.Memory{Active: Runs(s.Active), LastSchedule: Time(s.LastScheduleTime)}
}

// Template is a jobTemplate: what of its metadata reaches the child, and its spec as the user wrote it, so that fields
// which these types do not know reach the child too.
//
// +kubebuilder:object:generate=true
type Template struct {
	Metadata TemplateMeta         `json:"metadata,omitzero"`
	Spec     runtime.RawExtension `json:"spec,omitzero"`
}

// TemplateMeta is the metadata of a template.
//
// +kubebuilder:object:generate=true
type TemplateMeta struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}
