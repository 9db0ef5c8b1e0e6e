// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// typed gives a Job its Go type. One that holds what this program has no field for, or another type for, stays as it is:
// the server may be newer, and if it is not, says so itself.
func typed(child *unstructured.Unstructured) adapter.Object {
	if child.GroupVersionKind() != jobKind {
		return child
	}
	job := &batchv1.Job{}
	if runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(child.Object, job, true) != nil {
		return child
	}
	return job
}
