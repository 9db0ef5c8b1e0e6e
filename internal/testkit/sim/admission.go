// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// admit fills in what the server does when an object is created. Defaults of
// the spec are the business of whoever makes the object (package make does).
func admit(obj client.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending}
	case *batchv1.CronJob:
		o.Status = batchv1.CronJobStatus{}
	case *batchv1.Job:
		o.Status = batchv1.JobStatus{}
		if o.Spec.ManualSelector != nil && *o.Spec.ManualSelector {
			return
		}
		uid := string(o.UID)
		labels := map[string]string{
			batchv1.ControllerUidLabel: uid, "controller-uid": uid,
			batchv1.JobNameLabel: o.Name, "job-name": o.Name,
		}
		if o.Spec.Template.Labels == nil {
			o.Spec.Template.Labels = map[string]string{}
		}
		for k, v := range labels {
			o.Spec.Template.Labels[k] = v
		}
		if o.Spec.Selector == nil {
			o.Spec.Selector = &metav1.LabelSelector{}
		}
		if o.Spec.Selector.MatchLabels == nil {
			o.Spec.Selector.MatchLabels = map[string]string{}
		}
		o.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = uid
	}
}
