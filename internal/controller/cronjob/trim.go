// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/serving"
)

// Trim is the transform for the manager's cache: it drops managed fields, which are often the greater part of an
// object and which no controller here reads, except for two facts in them: when the manager that owns a schedule or a
// time zone last wrote (cronjob.md B2), and when another controller last wrote the status of a CronJob. Cached objects are
// never written back whole, so nothing is lost by it. What is trimmed already stays as it is: caches trim some objects twice.
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
		if e.Time == nil || e.FieldsV1 == nil {
			continue
		}
		switch e.Subresource {
		case "":
			if raw := scheduleFields(e.FieldsV1); raw != "" {
				e.FieldsV1 = metav1.NewFieldsV1(raw)
				kept = append(kept, e)
			}
		case "status":
			if serving.Controller(e.Manager) && hasStarts(e.FieldsV1) {
				kept = append(kept, metav1.ManagedFieldsEntry{Manager: e.Manager, Subresource: e.Subresource, Time: e.Time,
					FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:lastScheduleTime":{}}}`)})
			}
		}
	}
	return kept
}

// scheduleFields is what of the fields belongs to the schedule, "" if nothing does.
func scheduleFields(all *metav1.FieldsV1) string {
	var fields struct {
		Spec struct {
			Schedule json.RawMessage `json:"f:schedule,omitempty"`
			TimeZone json.RawMessage `json:"f:timeZone,omitempty"`
		} `json:"f:spec"`
	}
	if json.Unmarshal(all.GetRawBytes(), &fields) != nil || fields.Spec.Schedule == nil && fields.Spec.TimeZone == nil {
		return ""
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return ""
	}
	return string(raw)
}

// hasStarts reports whether the fields hold what only a controller of CronJobs writes.
func hasStarts(all *metav1.FieldsV1) bool {
	var fields struct {
		Status struct {
			LastSchedule   json.RawMessage `json:"f:lastScheduleTime"`
			LastSuccessful json.RawMessage `json:"f:lastSuccessfulTime"`
		} `json:"f:status"`
	}
	return json.Unmarshal(all.GetRawBytes(), &fields) == nil && (fields.Status.LastSchedule != nil || fields.Status.LastSuccessful != nil)
}
