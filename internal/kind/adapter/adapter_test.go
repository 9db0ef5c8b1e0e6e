// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// Managed fields tell when the schedule or the time zone may have changed last; whatever else they hold tells nothing.
func TestTouched(t *testing.T) {
	early := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	late := early.Add(time.Hour)
	entry := func(at time.Time, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m", Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	info := adapter.Info{ScheduleFields: []string{"schedule", "timeZone"}}
	for sentence, c := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    time.Time
	}{
		"nothing":            {},
		"a schedule":         {[]metav1.ManagedFieldsEntry{entry(early, `{"f:spec":{"f:schedule":{}}}`)}, early},
		"a time zone":        {[]metav1.ManagedFieldsEntry{entry(early, `{"f:spec":{"f:timeZone":{}}}`)}, early},
		"the later of two":   {[]metav1.ManagedFieldsEntry{entry(late, `{"f:spec":{"f:schedule":{}}}`), entry(early, `{"f:spec":{"f:timeZone":{}}}`)}, late},
		"another spec field": {[]metav1.ManagedFieldsEntry{entry(late, `{"f:spec":{"f:suspend":{}}}`)}, time.Time{}},
		"a status":           {[]metav1.ManagedFieldsEntry{entry(late, `{"f:status":{"f:schedule":{}}}`)}, time.Time{}},
		"a deeper field of that name": {[]metav1.ManagedFieldsEntry{entry(late,
			`{"f:spec":{"f:jobTemplate":{"f:metadata":{"f:labels":{"f:schedule":{}}}}}}`)}, time.Time{}},
		"garbage":                    {[]metav1.ManagedFieldsEntry{entry(late, `{"f:spec":[`), entry(early, `null`)}, time.Time{}},
		"an entry without a time":    {[]metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedule":{}}}`)}}, time.Time{}},
		"an entry without any field": {[]metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: late}}}, time.Time{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := adapter.Owner(&metav1.ObjectMeta{ManagedFields: c.entries}, info).ScheduleUnchangedSince; !got.Equal(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
