// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/othercontroller"
)

// Trim is the transform for a cache of CronJobs of these kinds: it drops managed fields, which are often the greater
// part of an object and which no controller here reads, except for two facts in them: when the manager that owns a
// field of the schedule last wrote (cronjob.md B2), and when another controller last wrote the status of a CronJob
// (othercontroller.go). A CronJob of a kind that has a smaller form (adapter.Compacter) gets that.
// Cached objects are never written back whole, so nothing is lost by it. What is trimmed already stays as it is: caches
// trim some objects twice.
func Trim(kinds ...kind.Kind) toolscache.TransformFunc {
	var schedule, starts []string
	var compacters []adapter.Compacter
	for _, k := range kinds {
		info := k.Info()
		schedule = append(schedule, info.ScheduleFields...)
		starts = append(starts, info.LastScheduleField, info.LastSuccessField)
		if c, ok := k.(adapter.Compacter); ok {
			compacters = append(compacters, c)
		}
	}
	trim := func(obj any) any {
		if o, ok := obj.(metav1.Object); ok {
			o.SetManagedFields(trimManagedFields(o.GetManagedFields(), schedule, starts))
		}
		if o, ok := obj.(adapter.Object); ok {
			for _, c := range compacters {
				o = c.Compact(o)
			}
			return o
		}
		return obj
	}
	return func(obj any) (any, error) {
		if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			tombstone.Obj = trim(tombstone.Obj)
			return tombstone, nil
		}
		return trim(obj), nil
	}
}

func trimManagedFields(entries []metav1.ManagedFieldsEntry, schedule, starts []string) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	for _, e := range entries {
		part, names := "spec", schedule
		if e.Subresource == "status" && othercontroller.Is(e.Manager) {
			part, names = "status", starts
		} else if e.Subresource != "" {
			continue
		}
		owned := adapter.OwnedFields(e.FieldsV1, part, names)
		if e.Time == nil || owned == nil {
			continue
		}
		raw, err := json.Marshal(map[string]any{"f:" + part: owned})
		if err != nil {
			continue
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(raw))
		kept = append(kept, e)
	}
	return kept
}
