// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
)

// asObject returns the Job as something to apply, with the source of what it was made from, so that a
// refusal names the file.
func asObject(job *batchv1.Job, from *manifest.Object) (manifest.Object, error) {
	job.APIVersion, job.Kind = batchv1.SchemeGroupVersion.String(), "Job"
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return manifest.Object{}, err
	}
	unstructured.RemoveNestedField(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	o := manifest.Object{Unstructured: &unstructured.Unstructured{Object: fields}}
	if from != nil {
		o.Source = from.Source
	}
	return o, nil
}
