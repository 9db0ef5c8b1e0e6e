// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

// Trim is the transform for the manager's cache: it drops managed fields, which are often the greater part of an
// object and which no controller here reads, except for one fact in them: when the manager that owns a schedule or a
// time zone last wrote (cronjob.md B2). Cached objects are never written back whole, so nothing is lost by it.
func Trim(obj any) (any, error) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		trimmed, err := Trim(tombstone.Obj)
		tombstone.Obj = trimmed
		return tombstone, err
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(trimManagedFields(o.GetManagedFields()))
	}
	return obj, nil
}

func trimManagedFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	for _, e := range entries {
		if e.Time == nil || e.FieldsV1 == nil || e.Subresource != "" {
			continue
		}
		var fields struct {
			Spec struct {
				Schedule json.RawMessage `json:"f:schedule,omitempty"`
				TimeZone json.RawMessage `json:"f:timeZone,omitempty"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil || fields.Spec.Schedule == nil && fields.Spec.TimeZone == nil {
			continue
		}
		raw, err := json.Marshal(fields)
		if err != nil {
			continue
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(raw))
		kept = append(kept, e)
	}
	return kept
}
