// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Owner translates the metadata of a CronJob.
func Owner(obj metav1.Object) cron.Owner {
	return cron.Owner{
		Namespace:  obj.GetNamespace(),
		Name:       obj.GetName(),
		UID:        obj.GetUID(),
		Generation: obj.GetGeneration(),
		Created:    obj.GetCreationTimestamp().Time,
		Deleting:   obj.GetDeletionTimestamp() != nil,
		Touched:    touched(obj.GetManagedFields()),
	}
}

// Child translates the metadata of a child; stamp is the annotation that holds the scheduled time.
func Child(obj metav1.Object, info Info, stamp string) cron.Child {
	apiVersion, kind := info.Child.ToAPIVersionAndKind()
	return cron.Child{
		APIVersion:      apiVersion,
		Kind:            kind,
		Namespace:       obj.GetNamespace(),
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Controller:      metav1.GetControllerOf(obj),
		Created:         obj.GetCreationTimestamp().Time,
		Deleting:        obj.GetDeletionTimestamp() != nil,
		Stamp:           obj.GetAnnotations()[stamp],
	}
}

// ChildMeta is the metadata of the child that start asks for: labels and annotations are those of the template and
// the stamp, which wins; everything else in the template's metadata is dropped (cronjob.md 1.5).
func ChildMeta(owner metav1.Object, info Info, template TemplateMeta, stamp string, start cron.Start) metav1.ObjectMeta {
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[stamp] = start.Stamp
	ref := metav1.NewControllerRef(owner, info.Owner)
	return metav1.ObjectMeta{
		Name:            start.Name,
		Namespace:       owner.GetNamespace(),
		Labels:          maps.Clone(template.Labels),
		Annotations:     annotations,
		OwnerReferences: []metav1.OwnerReference{*ref},
	}
}

// touched gives the latest time at which a manager that owns spec.schedule or spec.timeZone changed its fields, zero
// when nothing tells. Entries of subresources (status) own no spec fields, and garbage owns nothing.
func touched(entries []metav1.ManagedFieldsEntry) time.Time {
	var latest time.Time
	for _, e := range entries {
		if e.Time == nil || e.FieldsV1 == nil || !e.Time.After(latest) {
			continue
		}
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		_, schedule := fields.Spec["f:schedule"]
		_, zone := fields.Spec["f:timeZone"]
		if schedule || zone {
			latest = e.Time.Time
		}
	}
	return latest
}

// Time gives the instant of an API time, nil for an absent one. A present zero time stays a present zero time.
func Time(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	instant := t.Time
	return &instant
}
