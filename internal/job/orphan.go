// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HasLeftoverFinalizer reports whether the tracking finalizer of the pod serves nobody, so that it has to be removed
// (job.md 2.4): the pod has it, and no unfinished Job controls the pod. Its Job is finished or gone, or it has no
// controller: Jobs deleted with orphan propagation leave such pods. controller is the Job that the pod's controller
// reference names, as found by namespace and name, nil when there is none; a Job with another UID counts as none. Pods
// of Jobs that are not ours ([IsOurs]) and pods of other kinds of controllers keep what they have. A reference that
// is not a controller reference protects nothing.
func HasLeftoverFinalizer(pod *corev1.Pod, controller *batchv1.Job, options Options) bool {
	if pod == nil || !HasFinalizer(pod) {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return true
	}
	if owner.Kind != "Job" || owner.APIVersion != batchv1.SchemeGroupVersion.String() {
		return false
	}
	if controller == nil || controller.UID != owner.UID {
		return true
	}
	return IsOurs(controller, options) && Finished(controller)
}
