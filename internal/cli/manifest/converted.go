// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// convert reads a CronJob of batch/v1beta1 as one of batch/v1, which has all of its fields with the same meaning. API
// servers serve the old version no more since Kubernetes 1.25, and manifests of then are still around. It tells
// whether it did.
func convert(obj *unstructured.Unstructured) bool {
	if obj.GetAPIVersion() != "batch/v1beta1" || obj.GetKind() != "CronJob" {
		return false
	}
	obj.SetAPIVersion(batchv1.SchemeGroupVersion.String())
	return true
}

func converted(o Object) string {
	return fmt.Sprintf("%s: batch/v1beta1 is read as batch/v1; write apiVersion: batch/v1", o)
}
