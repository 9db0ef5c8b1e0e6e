// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/kind"
)

// cronJobDefaults are what the API server fills into the spec of a CronJob, the same for all kinds of it. What it fills
// into a Timetable the adapter of that kind knows by itself.
var cronJobDefaults = map[string]any{
	"concurrencyPolicy":          "Allow",
	"suspend":                    false,
	"successfulJobsHistoryLimit": int64(3),
	"failedJobsHistoryLimit":     int64(1),
}

// withDefaults is a copy of an object with what the API server would fill in.
func withDefaults(k kind.Kind, object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	if _, timetable := k.(kind.Timetable); timetable {
		return object
	}
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		return object // which the adapter tells
	}
	for field, value := range cronJobDefaults {
		if spec[field] == nil {
			spec[field] = value
		}
	}
	return object
}
