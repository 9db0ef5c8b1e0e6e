// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OwnedFields gives those fields of names in a part of the object ("spec", "status") that a manager owns, in the form
// of managed fields; nil when it owns none of them. Garbage owns nothing.
func OwnedFields(all *metav1.FieldsV1, part string, names []string) map[string]struct{} {
	if all == nil {
		return nil
	}
	var owned map[string]struct{}
	readable := members(all.GetRawBytes(), func(key, fields []byte) bool {
		if !isKey(key, "f:"+part) {
			return true
		}
		inside := members(fields, func(key, _ []byte) bool {
			for _, name := range names {
				if !isKey(key, "f:"+name) {
					continue
				}
				if owned == nil {
					owned = map[string]struct{}{}
				}
				owned["f:"+name] = struct{}{}
			}
			return len(owned) < len(names)
		})
		if !inside {
			owned = nil
		}
		return false
	})
	if !readable {
		return nil
	}
	return owned
}

// touched gives the latest time at which a manager that owns a field of the schedule changed its fields, zero when
// nothing tells. Entries of subresources (status) own no fields of the spec.
func touched(entries []metav1.ManagedFieldsEntry, schedule []string) time.Time {
	var latest time.Time
	for _, e := range entries {
		if e.Time != nil && e.Time.After(latest) && OwnedFields(e.FieldsV1, "spec", schedule) != nil {
			latest = e.Time.Time
		}
	}
	return latest
}
