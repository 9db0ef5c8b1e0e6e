// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// What a controller says of a CronJob's times is an omission if nothing was started for them.
func TestOmitted(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	owner := cron.Owner{Namespace: "ns", Name: "backup", UID: "cj"}
	info := kind.All[0].Info()
	for name, test := range map[string]struct {
		outcome cron.RunOutcome
		want    *run.Omission
	}{
		"started": {cron.RunOutcome{Result: cron.Started, Count: 1, First: noon, Last: noon}, nil},
		"forbidden": {cron.RunOutcome{Result: cron.Skipped, Reason: cron.NotStartedForbidden, Count: 1, First: noon, Last: noon},
			&run.Omission{Namespace: "ns", Owner: backup, ScheduledTime: noon, Count: 1, Reason: "Overlap", Message: "an earlier run had not ended", Seen: noon}},
		"an outage": {cron.RunOutcome{Result: cron.Missed, Reason: cron.NotStartedOutage, Count: 3, First: noon.Add(-2 * time.Hour), Last: noon},
			&run.Omission{Namespace: "ns", Owner: backup, ScheduledTime: noon.Add(-2 * time.Hour), Until: noon, Count: 3, Missed: true, Reason: "Outage",
				Message: "nobody looked when it was due: no controller ran, or the machine slept", Seen: noon}},
		"no time": {cron.RunOutcome{Result: cron.Missed, Reason: cron.NotStartedOutage}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := run.Omitted(info, owner, test.outcome, noon)
			if ok != (test.want != nil) {
				t.Fatalf("%t: %+v", ok, got)
			}
			if ok {
				if diff := cmp.Diff(*test.want, got); diff != "" {
					t.Errorf("omission (-want +got):\n%s", diff)
				}
			}
		})
	}
	for _, reason := range cron.NotStartedReasons { // each has a word and words
		o, ok := run.Omitted(info, owner, cron.RunOutcome{Result: reason.SkippedOrMissed(), Reason: reason, Count: 1, First: noon, Last: noon}, noon)
		if !ok || o.Reason == string(reason) || o.Message == "" || o.Message != run.OmissionText(o.Reason) {
			t.Errorf("%s is %q: %q", reason, o.Reason, o.Message)
		}
	}
}

// A Timetable's ledger tells its own.
func TestOmissionsOf(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	tt := &v1alpha1.Timetable{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sync", UID: "tt"}}
	tt.Status.Ledger = []v1alpha1.LedgerEntry{
		{ScheduledTime: metav1.NewTime(noon), Result: v1alpha1.ResultSucceeded, Run: "sync-1"},
		{ScheduledTime: metav1.NewTime(noon.Add(time.Hour)), Result: v1alpha1.ResultSkipped, Reason: "Overlap"},
		{ScheduledTime: metav1.NewTime(noon.Add(2 * time.Hour)), Until: new(metav1.NewTime(noon.Add(4 * time.Hour))), Count: 3, Result: v1alpha1.ResultMissed, Reason: "Newer"},
	}
	want := []run.Omission{
		{Namespace: "ns", Owner: syncOwner, ScheduledTime: noon.Add(time.Hour), Count: 1, Reason: "Overlap", Message: "an earlier run had not ended", Seen: noon},
		{Namespace: "ns", Owner: syncOwner, ScheduledTime: noon.Add(2 * time.Hour), Until: noon.Add(4 * time.Hour), Count: 3, Missed: true, Reason: "Newer", Seen: noon},
	}
	if diff := cmp.Diff(want, run.OmissionsOf(tt, noon)); diff != "" {
		t.Errorf("omissions (-want +got):\n%s", diff)
	}
}
