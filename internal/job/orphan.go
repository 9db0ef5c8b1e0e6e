// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Orphaned reports whether the tracking finalizer of the pod serves nobody, so
// that it has to be removed (job.md 2.4): the pod has it, and no unfinished Job
// controls the pod. controller is the Job that the pod's controller reference
// names, as found by namespace and name, nil when there is none; a Job with
// another UID counts as none. Pods of Jobs that are not ours ([Mine]) and pods
// of other kinds of controllers keep what they have. A reference that is not a
// controller reference protects nothing.
func Orphaned(pod *corev1.Pod, controller *batchv1.Job, options Options) bool {
	if pod == nil || !hasFinalizer(pod) {
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
	return Mine(controller, options) && Finished(controller)
}

// Finished reports whether the Job has ended: Complete or Failed is True.
// Nothing else counts as an end.
func Finished(job *batchv1.Job) bool {
	return hasTrue(job.Status.Conditions, batchv1.JobComplete) || hasTrue(job.Status.Conditions, batchv1.JobFailed)
}

func hasFinalizer(pod *corev1.Pod) bool {
	for _, f := range pod.Finalizers {
		if f == Finalizer {
			return true
		}
	}
	return false
}

func hasTrue(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) bool {
	_, ok := findTrue(conditions, kind)
	return ok
}

func findTrue(conditions []batchv1.JobCondition, kind batchv1.JobConditionType) (batchv1.JobCondition, bool) {
	for _, c := range conditions {
		if c.Type == kind && c.Status == corev1.ConditionTrue {
			return c, true
		}
	}
	return batchv1.JobCondition{}, false
}
