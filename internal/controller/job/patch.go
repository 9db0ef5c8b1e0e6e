// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"encoding/json"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/job"
)

// Patches of pods are strategic merge patches that name the pod's UID: they touch only our own entries in the lists,
// never what others added at the same time, and never another pod that took over the name.

const dropFinalizer = "$deleteFromPrimitiveList/finalizers"

// untrack takes the tracking finalizer off the pod. With a resource version it does so only if the pod is still as it
// was read.
func untrack(uid types.UID, resourceVersion string) client.Patch {
	meta := map[string]any{"uid": uid, dropFinalizer: []string{job.Finalizer}}
	if resourceVersion != "" {
		meta["resourceVersion"] = resourceVersion
	}
	return metadataPatch(meta)
}

// adopt gives the pod the Job's controller reference and the tracking finalizer, if it is still as it was read.
func adopt(j *batchv1.Job, uid types.UID, resourceVersion string) client.Patch {
	return metadataPatch(map[string]any{
		"uid":             uid,
		"resourceVersion": resourceVersion,
		"ownerReferences": []metav1.OwnerReference{job.OwnerReference(j)},
		"finalizers":      []string{job.Finalizer},
	})
}

// release takes both away.
func release(owner, uid types.UID) client.Patch {
	return metadataPatch(map[string]any{
		"uid":             uid,
		"ownerReferences": []map[string]any{{"$patch": "delete", "uid": owner}},
		dropFinalizer:     []string{job.Finalizer},
	})
}

func metadataPatch(metadata map[string]any) client.Patch {
	// Strings, lists and references always marshal.
	body, _ := json.Marshal(map[string]any{"metadata": metadata})
	return client.RawPatch(types.StrategicMergePatchType, body)
}

// target is the pod as the object of a patch. Only its metadata is asked back.
func target(ref job.PodRef) *metav1.PartialObjectMetadata {
	pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return pod
}

func refTo(pod *corev1.Pod) job.PodRef {
	return job.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// gone reports whether err says that this very pod is no more: its name is free, or belongs to a pod with another UID.
// The server tells the latter of a delete by a conflict, and of a patch by refusing to change metadata.uid.
func gone(err error) bool {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	return apierrors.IsInvalid(err) && blames(err, "metadata.uid")
}

// blames reports whether err names the field as a cause.
func blames(err error, field string) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == field {
			return true
		}
	}
	return false
}
