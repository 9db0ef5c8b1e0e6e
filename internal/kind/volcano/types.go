// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package volcano

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// GroupVersion is the API that this package speaks.
var GroupVersion = schema.GroupVersion{Group: "batch.volcano.sh", Version: "v1alpha1"}

// CronJob starts Volcano Jobs by a schedule. It is a slim type; see package adapter.
//
// +kubebuilder:object:root=true
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CronJobSpec   `json:"spec"`
	Status CronJobStatus `json:"status,omitzero"`

	trouble *adapter.Unreadable
}

// UnmarshalJSON reads what a CronJob is, also when its spec or status is none (see adapter.Unreadable).
func (c *CronJob) UnmarshalJSON(data []byte) (err error) {
	type plain CronJob
	c.trouble = nil
	trouble, err := adapter.Decode(data, (*plain)(c))
	c.trouble = trouble
	return err
}

// Trouble implements adapter.Reader.
func (c *CronJob) Trouble() *adapter.Unreadable { return c.trouble }

// CronJobSpec has all fields of batch/v1.
//
// +kubebuilder:object:generate=true
type CronJobSpec struct {
	adapter.CronJobSpec `json:",inline"`
	TimeZone            *string `json:"timeZone,omitempty"`
}

// CronJobStatus has all fields of batch/v1.
//
// +kubebuilder:object:generate=true
type CronJobStatus struct {
	adapter.CronJobStatus `json:",inline"`
	LastSuccessfulTime    *metav1.Time `json:"lastSuccessfulTime,omitempty"`
}

// CronJobList is a list of CronJobs.
//
// +kubebuilder:object:root=true
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []CronJob `json:"items"`
}

// Job is the child.
//
// +kubebuilder:object:root=true
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   runtime.RawExtension `json:"spec,omitzero"`
	Status JobStatus            `json:"status,omitzero"`

	trouble *adapter.Unreadable
}

// UnmarshalJSON forgets the metadata that j had. A client decodes the server's answer to a create into the object that
// it sent, and what the answer no longer says, such as an owner reference that a webhook took away, would seem to be
// there (cronjob.md V24).
func (j *Job) UnmarshalJSON(data []byte) error {
	type plain Job
	j.ObjectMeta, j.trouble = metav1.ObjectMeta{}, nil
	trouble, err := adapter.Decode(data, (*plain)(j))
	j.trouble = trouble
	return err
}

// Trouble implements adapter.Reader.
func (j *Job) Trouble() *adapter.Unreadable { return j.trouble }

// JobStatus is the part of a Job's status that says whether it has finished.
//
// +kubebuilder:object:generate=true
type JobStatus struct {
	State JobState `json:"state,omitzero"`
}

// JobState is the phase of a Job and when it began.
//
// +kubebuilder:object:generate=true
type JobState struct {
	Phase              string       `json:"phase,omitempty"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// JobList is a list of Jobs.
//
// +kubebuilder:object:root=true
type JobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Job `json:"items"`
}

// AddToScheme registers the types of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CronJob{}, &CronJobList{}, &Job{}, &JobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
