// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Owner translates the metadata of a CronJob.
func Owner(obj metav1.Object, info Info) cron.Owner {
	return cron.Owner{
		Namespace:              obj.GetNamespace(),
		Name:                   obj.GetName(),
		UID:                    obj.GetUID(),
		Generation:             obj.GetGeneration(),
		Created:                obj.GetCreationTimestamp().Time,
		Deleting:               obj.GetDeletionTimestamp() != nil,
		ScheduleUnchangedSince: scheduleUnchangedSince(obj, info),
	}
}

// Child translates the metadata of a child of this kind of child.
func Child(obj metav1.Object, kind schema.GroupVersionKind, info Info) cron.Child {
	apiVersion, kindName := kind.ToAPIVersionAndKind()
	return cron.Child{
		APIVersion:      apiVersion,
		Kind:            kindName,
		Namespace:       obj.GetNamespace(),
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Controller:      metav1.GetControllerOf(obj),
		Created:         obj.GetCreationTimestamp().Time,
		Deleting:        obj.GetDeletionTimestamp() != nil,
		Stamp:           obj.GetAnnotations()[info.StampAnnotation],
	}
}

// ChildMeta is the metadata of the child that start asks for: labels and annotations are those of the template and
// the stamp, which wins; everything else in the template's metadata is dropped (cronjob.md 1.5).
func ChildMeta(owner metav1.Object, info Info, template TemplateMeta, start Start) metav1.ObjectMeta {
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[info.StampAnnotation] = start.Stamp
	ref := metav1.NewControllerRef(owner, info.Owner)
	return metav1.ObjectMeta{
		Name:            start.Name,
		Namespace:       owner.GetNamespace(),
		Labels:          maps.Clone(template.Labels),
		Annotations:     annotations,
		OwnerReferences: []metav1.OwnerReference{*ref},
	}
}

// Time gives the instant of an API time, nil for an absent one. A present zero time stays a present zero time.
func Time(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	instant := t.Time
	return &instant
}
