// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// clock is a time of the day of the scenarios.
func clock(text string) metav1.Time { return metav1.NewTime(at("2026-05-04T" + text + ":00Z")) }

// entry is a result of the time text; several times until the last one, if there is one.
func entry(text string, result v1alpha1.Result, reason string, last ...any) v1alpha1.LedgerEntry {
	e := v1alpha1.LedgerEntry{ScheduledTime: clock(text), Result: result, Reason: reason}
	if len(last) > 0 {
		e.Until, e.Count = new(clock(last[0].(string))), int32(last[1].(int))
	}
	return e
}

// The newest result comes first; skipped and missed times that follow each other with the same reason share an entry
// (timetable.md 4.4).
func TestAddToLedger(t *testing.T) {
	const (
		succeeded = v1alpha1.ResultSucceeded
		skipped   = v1alpha1.ResultSkipped
		missed    = v1alpha1.ResultMissed
	)
	type entries = []v1alpha1.LedgerEntry
	of := func(e v1alpha1.LedgerEntry, trigger v1alpha1.Trigger, schedule, message string) v1alpha1.LedgerEntry {
		e.Trigger, e.Schedule, e.Message = trigger, schedule, message
		return e
	}
	for sentence, c := range map[string]struct {
		ledger, results entries
		limit           int
		want            entries
	}{
		"the first":      {nil, entries{entry("12:10", succeeded, "")}, 20, entries{entry("12:10", succeeded, "")}},
		"nothing":        {entries{entry("12:10", succeeded, "")}, nil, 20, entries{entry("12:10", succeeded, "")}},
		"the newest":     {entries{entry("12:10", succeeded, "")}, entries{entry("12:20", succeeded, "")}, 20, entries{entry("12:20", succeeded, ""), entry("12:10", succeeded, "")}},
		"cut":            {entries{entry("12:10", succeeded, "")}, entries{entry("12:20", succeeded, "")}, 1, entries{entry("12:20", succeeded, "")}},
		"none is listed": {entries{entry("12:10", succeeded, "")}, entries{entry("12:20", succeeded, "")}, 0, entries{}},
		"a smaller limit": {entries{entry("12:30", succeeded, ""), entry("12:20", succeeded, ""), entry("12:10", succeeded, "")}, nil, 2,
			entries{entry("12:30", succeeded, ""), entry("12:20", succeeded, "")}},
		"an outage":               {nil, entries{entry("12:10", missed, "Outage", "12:50", 5)}, 20, entries{entry("12:10", missed, "Outage", "12:50", 5)}},
		"one after another":       {entries{entry("12:10", skipped, "Superseded")}, entries{entry("12:20", skipped, "Superseded")}, 20, entries{entry("12:10", skipped, "Superseded", "12:20", 2)}},
		"several after several":   {entries{entry("12:10", skipped, "Excluded", "12:30", 3)}, entries{entry("12:40", skipped, "Excluded", "12:50", 2)}, 20, entries{entry("12:10", skipped, "Excluded", "12:50", 5)}},
		"three at once":           {nil, entries{entry("12:10", missed, "Deadline"), entry("12:20", missed, "Deadline"), entry("12:30", missed, "Deadline")}, 20, entries{entry("12:10", missed, "Deadline", "12:30", 3)}},
		"shared beyond the limit": {entries{entry("12:10", skipped, "Excluded")}, entries{entry("12:20", skipped, "Excluded")}, 1, entries{entry("12:10", skipped, "Excluded", "12:20", 2)}},
		"of another reason":       {entries{entry("12:10", skipped, "Excluded")}, entries{entry("12:20", skipped, "Suspended")}, 20, entries{entry("12:20", skipped, "Suspended"), entry("12:10", skipped, "Excluded")}},
		"of another result":       {entries{entry("12:10", skipped, "Edited")}, entries{entry("12:20", missed, "Outage")}, 20, entries{entry("12:20", missed, "Outage"), entry("12:10", skipped, "Edited")}},
		"with a run between": {entries{entry("12:20", succeeded, ""), entry("12:10", skipped, "Superseded")}, entries{entry("12:30", skipped, "Superseded")}, 20,
			entries{entry("12:30", skipped, "Superseded"), entry("12:20", succeeded, ""), entry("12:10", skipped, "Superseded")}},
		"runs share nothing": {entries{entry("12:10", v1alpha1.ResultFailed, "RunFailed")}, entries{entry("12:20", v1alpha1.ResultFailed, "RunFailed")}, 20,
			entries{entry("12:20", v1alpha1.ResultFailed, "RunFailed"), entry("12:10", v1alpha1.ResultFailed, "RunFailed")}},
		"an earlier time, decided later": {entries{entry("12:20", skipped, "QueueFull")}, entries{entry("12:10", skipped, "QueueFull")}, 20,
			entries{entry("12:10", skipped, "QueueFull"), entry("12:20", skipped, "QueueFull")}},
		"what only some have": {entries{of(entry("12:10", missed, "Deadline"), "Schedule", "daily", "waited for Overlap")}, entries{of(entry("12:20", missed, "Deadline"), "CatchUp", "weekly", "waited for CreateFailed")}, 20,
			entries{of(entry("12:10", missed, "Deadline", "12:20", 2), "", "", "waited for CreateFailed")}},
		"what all have": {entries{of(entry("12:10", missed, "Deadline"), "Schedule", "daily", "")}, entries{of(entry("12:20", missed, "Deadline"), "Schedule", "daily", "")}, 20,
			entries{of(entry("12:10", missed, "Deadline", "12:20", 2), "Schedule", "daily", "")}},
		"more than can be counted": {entries{entry("12:10", skipped, "Excluded", "12:20", 1<<31-1)}, entries{entry("12:30", skipped, "Excluded")}, 20, entries{entry("12:10", skipped, "Excluded", "12:30", 1<<31-1)}},
	} {
		before := slices.Clone(c.ledger)
		got := timetable.AddToLedger(c.ledger, c.results, c.limit)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
		if diff := cmp.Diff(before, c.ledger); diff != "" {
			t.Errorf("%s: the ledger given was changed:\n%s", sentence, diff)
		}
	}
}

// A week's freeze of a minutely schedule is one entry.
func TestFreezeIsOneEntry(t *testing.T) {
	var ledger []v1alpha1.LedgerEntry
	first := at("2026-05-04T00:00:00Z")
	for i := range 10_080 {
		ledger = timetable.AddToLedger(ledger, []v1alpha1.LedgerEntry{{
			ScheduledTime: metav1.NewTime(first.Add(time.Duration(i) * time.Minute)), Result: v1alpha1.ResultSkipped, Reason: "Excluded",
		}}, 20)
	}
	if len(ledger) != 1 || ledger[0].Count != 10_080 || !ledger[0].ScheduledTime.Time.Equal(first) || !ledger[0].Until.Time.Equal(at("2026-05-10T23:59:00Z")) {
		t.Errorf("%+v", ledger)
	}
}

// However results come, in one pass or in many, the ledger is the same, counts each of them once, and has as many
// entries as it may.
func TestLedgerProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 8).Draw(t, "limit")
		var atOnce, oneByOne, all []v1alpha1.LedgerEntry
		minute := 0
		for range rapid.IntRange(0, 12).Draw(t, "passes") {
			var results []v1alpha1.LedgerEntry
			for range rapid.IntRange(0, 4).Draw(t, "results") {
				minute += rapid.SampledFrom([]int{1, 1, 1, -3}).Draw(t, "minutes")
				kind := rapid.SampledFrom([][2]string{{"Succeeded", ""}, {"Skipped", "Excluded"}, {"Skipped", "Excluded"}, {"Missed", "Outage"}}).Draw(t, "result")
				results = append(results, v1alpha1.LedgerEntry{
					ScheduledTime: metav1.NewTime(at("2026-05-04T12:00:00Z").Add(time.Duration(minute) * time.Minute)), Result: v1alpha1.Result(kind[0]), Reason: kind[1],
				})
			}
			atOnce = timetable.AddToLedger(atOnce, results, limit)
			all = timetable.AddToLedger(all, results, 100)
			for _, r := range results {
				oneByOne = timetable.AddToLedger(oneByOne, []v1alpha1.LedgerEntry{r}, limit)
			}
		}
		if diff := cmp.Diff(oneByOne, atOnce, cmpopts.EquateEmpty()); diff != "" && limit > 0 {
			t.Fatalf("one by one and at once differ:\n%s", diff)
		}
		if want := all[:min(len(all), limit)]; len(atOnce) != len(want) || limit > 0 && !cmp.Equal(atOnce, want, cmpopts.EquateEmpty()) {
			t.Fatalf("cut to %d:\n%s", limit, cmp.Diff(want, atOnce))
		}
	})
}
