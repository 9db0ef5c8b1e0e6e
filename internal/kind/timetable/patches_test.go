// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// The ledger is written again only if it says something else: what was read has its times in the zone of the process.
func TestSameEntry(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	in := func(zone *time.Location, after time.Duration) *metav1.Time {
		return new(metav1.NewTime(at.Add(after).In(zone)))
	}
	entry := func(zone *time.Location) v1alpha1.LedgerEntry {
		return v1alpha1.LedgerEntry{ScheduledTime: *in(zone, 0), Result: v1alpha1.ResultSucceeded, Run: "tick-1", StartTime: in(zone, time.Second), EndTime: in(zone, time.Minute)}
	}
	for name, c := range map[string]struct {
		change func(*v1alpha1.LedgerEntry)
		same   bool
	}{
		"other zones":             {func(*v1alpha1.LedgerEntry) {}, true},
		"another time":            {func(e *v1alpha1.LedgerEntry) { e.ScheduledTime = *in(time.UTC, 1) }, false},
		"another end":             {func(e *v1alpha1.LedgerEntry) { e.EndTime = in(time.UTC, time.Hour) }, false},
		"no end":                  {func(e *v1alpha1.LedgerEntry) { e.EndTime = nil }, false},
		"several times":           {func(e *v1alpha1.LedgerEntry) { e.Until, e.Count = in(time.UTC, time.Hour), 2 }, false},
		"another result":          {func(e *v1alpha1.LedgerEntry) { e.Result = v1alpha1.ResultFailed }, false},
		"another schedule":        {func(e *v1alpha1.LedgerEntry) { e.Schedule = "night" }, false},
		"another number of tries": {func(e *v1alpha1.LedgerEntry) { e.Attempts = 2 }, false},
	} {
		e := entry(time.FixedZone("there", 3600))
		c.change(&e)
		if same := sameEntry(entry(time.UTC), e); same != c.same || sameEntry(e, entry(time.UTC)) != same {
			t.Errorf("%s: %v", name, same)
		}
	}
}
