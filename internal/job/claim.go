// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// OwnerReference is the reference by which a pod belongs to the Job.
func OwnerReference(job *batchv1.Job) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         batchv1.SchemeGroupVersion.String(),
		Kind:               "Job",
		Name:               job.Name,
		UID:                job.UID,
		Controller:         ptr.To(true),
		BlockOwnerDeletion: ptr.To(true),
	}
}

// claimedPod is a pod that the Job has, and whether it comes to the Job with this very plan.
type claimedPod struct {
	pod     *corev1.Pod
	adopted bool
}

// claim finds the pods that the Job owns, or will own when the Claim is carried out (job.md 1.8). Pods to be released
// are not the Job's any more. A selector that cannot be read matches nothing to adopt and gives no reason to release.
//
// A Job that is being deleted releases nothing. Its pods that the selector does not match, in unmatched, only lose the
// finalizer: with it they could not go, nor could a Job that waits for them.
func claim(job *batchv1.Job, pods []*corev1.Pod, e Expectations) (owned []claimedPod, c Claim, unmatched []PodRef) {
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	usable := err == nil && job.Spec.Selector != nil
	matches := func(pod *corev1.Pod) bool { return usable && selector.Matches(labels.Set(pod.Labels)) }
	for _, pod := range pods {
		if pod == nil || pod.UID == "" || pod.Namespace != job.Namespace {
			continue // without a UID it is from no server, and could not be recorded
		}
		owner := metav1.GetControllerOfNoCopy(pod)
		switch {
		case owner != nil && owner.UID != job.UID:
		case owner != nil && (!usable || matches(pod)):
			owned = append(owned, claimedPod{pod: pod})
		case owner != nil && job.DeletionTimestamp == nil:
			c.Release = append(c.Release, refOf(pod))
		case owner != nil:
			if HasFinalizer(pod) && !e.Unfinalizing.Has(pod.UID) {
				unmatched = append(unmatched, refOf(pod))
			}
		case e.Unfinalizing.Has(pod.UID):
			// It was the Job's and is accounted for, and somebody took its owner away meanwhile: adopted again it would
			// count again.
		case matches(pod) && job.DeletionTimestamp == nil && pod.DeletionTimestamp == nil:
			c.Adopt = append(c.Adopt, refAtVersion(pod))
			owned = append(owned, claimedPod{pod: pod, adopted: true})
		}
	}
	return owned, c, unmatched
}

func refOf(pod *corev1.Pod) PodRef {
	return PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// refAtVersion is the reference for a call that must meet the pod as the snapshot shows it.
func refAtVersion(pod *corev1.Pod) PodRef {
	ref := refOf(pod)
	ref.ResourceVersion = pod.ResourceVersion
	return ref
}
