// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorial

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// GroupVersion is the API that this package speaks.
var GroupVersion = schema.GroupVersion{Group: "batch.tutorial.kubebuilder.io", Version: "v1"}

// CronJob starts Jobs of batch/v1 by a schedule. It is a slim type; see package adapter.
//
// +kubebuilder:object:root=true
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   adapter.CronJobSpec `json:"spec"`
	Status CronJobStatus       `json:"status,omitzero"`

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

// CronJobStatus has the conditions that the book added later.
//
// +kubebuilder:object:generate=true
type CronJobStatus struct {
	adapter.CronJobStatus `json:",inline"`
	Conditions            []metav1.Condition `json:"conditions,omitempty"`
}

// CronJobList is a list of CronJobs.
//
// +kubebuilder:object:root=true
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
