// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/outcome"
)

// Whoever deletes an object stops it, at the time at which he asked for that; a cluster that disrupts a Pod does not.
func TestStopped(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		object string
		want   time.Time
	}{
		"nobody deletes it": {`{"apiVersion": "batch/v1", "kind": "Job"}`, time.Time{}},
		"a Job": {`{"apiVersion": "batch/v1", "kind": "Job",
			"metadata": {"deletionTimestamp": "2026-11-23T12:00:00Z", "deletionGracePeriodSeconds": 0}}`, noon},
		"a Pod that has half a minute": {`{"apiVersion": "v1", "kind": "Pod",
			"metadata": {"deletionTimestamp": "2026-11-23T12:00:30Z", "deletionGracePeriodSeconds": 30}}`, noon},
		"a Pod that is evicted": {`{"apiVersion": "v1", "kind": "Pod",
			"metadata": {"deletionTimestamp": "2026-11-23T12:00:30Z", "deletionGracePeriodSeconds": 30},
			"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}]}}`, time.Time{}},
		"a Pod that was to be evicted once": {`{"apiVersion": "v1", "kind": "Pod",
			"metadata": {"deletionTimestamp": "2026-11-23T12:00:30Z", "deletionGracePeriodSeconds": 30},
			"status": {"conditions": [{"type": "DisruptionTarget", "status": "False"}]}}`, noon},
		"of another kind, with such a condition": {`{"apiVersion": "v2", "kind": "Pod",
			"metadata": {"deletionTimestamp": "2026-11-23T12:00:00Z"},
			"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}`, noon},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := o.UnmarshalJSON([]byte(test.object)); err != nil {
				t.Fatal(err)
			}
			if got := outcome.Stopped(o); !got.Equal(test.want) {
				t.Errorf("stopped at %v, want %v", got, test.want)
			}
		})
	}
}
