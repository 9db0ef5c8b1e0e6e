// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorial

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// GroupVersion is the API that this package speaks.
var GroupVersion = schema.GroupVersion{Group: "batch.tutorial.kubebuilder.io", Version: "v1"}

// The types are slim: they hold what a CronJob controller reads. Decoding drops the rest (status.conditions of the
// present book project, for one), so they must never be sent back whole; status is written by patch.

// CronJob starts Jobs of batch/v1 by a schedule.
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CronJobSpec   `json:"spec"`
	Status CronJobStatus `json:"status,omitzero"`
}

// CronJobSpec has the fields of batch/v1 except timeZone.
type CronJobSpec struct {
	Schedule                   string                    `json:"schedule"`
	StartingDeadlineSeconds    *int64                    `json:"startingDeadlineSeconds,omitempty"`
	ConcurrencyPolicy          batchv1.ConcurrencyPolicy `json:"concurrencyPolicy,omitempty"`
	Suspend                    *bool                     `json:"suspend,omitempty"`
	JobTemplate                adapter.Template          `json:"jobTemplate"`
	SuccessfulJobsHistoryLimit *int32                    `json:"successfulJobsHistoryLimit,omitempty"`
	FailedJobsHistoryLimit     *int32                    `json:"failedJobsHistoryLimit,omitempty"`
}

// CronJobStatus has the fields of batch/v1 except lastSuccessfulTime.
type CronJobStatus struct {
	Active           []corev1.ObjectReference `json:"active,omitempty"`
	LastScheduleTime *metav1.Time             `json:"lastScheduleTime,omitempty"`
}

// CronJobList is a list of CronJobs.
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CronJob `json:"items"`
}

// AddToScheme registers the types of this package and those of batch/v1.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CronJob{}, &CronJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return batchv1.AddToScheme(scheme)
}

// DeepCopyObject implements runtime.Object.
func (c *CronJob) DeepCopyObject() runtime.Object { return c.DeepCopy() }

// DeepCopy returns a copy that shares nothing with c.
func (c *CronJob) DeepCopy() *CronJob {
	if c == nil {
		return nil
	}
	out := new(CronJob)
	c.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies c into out.
func (c *CronJob) DeepCopyInto(out *CronJob) {
	*out = *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.StartingDeadlineSeconds = adapter.DeepCopyPointer(c.Spec.StartingDeadlineSeconds)
	out.Spec.Suspend = adapter.DeepCopyPointer(c.Spec.Suspend)
	c.Spec.JobTemplate.DeepCopyInto(&out.Spec.JobTemplate)
	out.Spec.SuccessfulJobsHistoryLimit = adapter.DeepCopyPointer(c.Spec.SuccessfulJobsHistoryLimit)
	out.Spec.FailedJobsHistoryLimit = adapter.DeepCopyPointer(c.Spec.FailedJobsHistoryLimit)
	out.Status.Active = slices.Clone(c.Status.Active)
	out.Status.LastScheduleTime = c.Status.LastScheduleTime.DeepCopy()
}

// DeepCopyObject implements runtime.Object.
func (l *CronJobList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]CronJob, len(l.Items))
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return &out
}
