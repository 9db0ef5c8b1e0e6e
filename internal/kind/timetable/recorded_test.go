// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// How a child has ended whose kind the template names no more, and which no expression is about, the status tells: what
// was decided is final. What the status does not tell the end of is unfinished (timetable.md 3.9).
func TestEndsOfAFormerKind(t *testing.T) {
	former := schema.GroupVersionKind{Group: "tekton.dev", Version: "v1", Kind: "PipelineRun"}
	tenPast, ended := clock("12:10"), clock("12:17")
	active := func(attempt int32, retryAt *metav1.Time) []v1alpha1.ActiveRun {
		return []v1alpha1.ActiveRun{{Name: "x", ScheduledTime: tenPast, Attempt: attempt, RetryAt: retryAt, APIVersion: "tekton.dev/v1", Kind: "PipelineRun"}}
	}
	result := func(result v1alpha1.Result, run string, from, until metav1.Time) []v1alpha1.LedgerEntry {
		e := v1alpha1.LedgerEntry{ScheduledTime: from, Result: result, Run: run}
		if run != "" {
			e.EndTime = &ended
		}
		if !until.IsZero() {
			e.Until, e.Count = &until, 3
		}
		return []v1alpha1.LedgerEntry{{ScheduledTime: clock("12:40"), Result: v1alpha1.ResultFailed, Run: "another"}, e}
	}
	none := metav1.Time{}
	for name, c := range map[string]struct {
		cursor *metav1.Time
		active []v1alpha1.ActiveRun
		wait   []v1alpha1.WaitingTime
		ledger []v1alpha1.LedgerEntry
		want   cron.ChildPhase
		told   bool // when it ended
	}{
		"nothing is decided":                          {nil, nil, nil, result(v1alpha1.ResultSucceeded, "x", tenPast, none), cron.Unfinished, false},
		"it is later than the cursor":                 {new(clock("12:00")), nil, nil, nil, cron.Unfinished, false},
		"it is active":                                {new(clock("12:20")), active(2, nil), nil, nil, cron.Unfinished, false},
		"the attempt before it was active":            {new(clock("12:20")), active(1, nil), nil, nil, cron.Unfinished, false},
		"a later attempt is active":                   {new(clock("12:20")), active(3, nil), nil, nil, cron.Failed, false},
		"it is to be followed by another attempt":     {new(clock("12:20")), active(2, new(clock("12:25"))), nil, nil, cron.Failed, false},
		"its time waits":                              {new(clock("12:20")), nil, []v1alpha1.WaitingTime{{ScheduledTime: tenPast}}, nil, cron.Unfinished, false},
		"succeeded":                                   {new(clock("12:20")), nil, nil, result(v1alpha1.ResultSucceeded, "x", tenPast, none), cron.Complete, true},
		"failed":                                      {new(clock("12:20")), nil, nil, result(v1alpha1.ResultFailed, "x", tenPast, none), cron.Failed, true},
		"cancelled":                                   {new(clock("12:20")), nil, nil, result(v1alpha1.ResultCancelled, "x", tenPast, none), cron.Failed, true},
		"it did not start, as far as the ledger says": {new(clock("12:20")), nil, nil, result(v1alpha1.ResultMissed, "", tenPast, none), cron.Unfinished, false},
		"among some that did not start":               {new(clock("12:20")), nil, nil, result(v1alpha1.ResultMissed, "", clock("12:00"), clock("12:20")), cron.Unfinished, false},
		"a run among the times of another timing, which did not start": {new(clock("12:20")), nil, nil, append(
			result(v1alpha1.ResultSkipped, "", clock("12:05"), clock("12:15")), result(v1alpha1.ResultSucceeded, "x", tenPast, none)...), cron.Complete, true},
		"after some that did not start, which is not all": {new(clock("12:20")), nil, nil, result(v1alpha1.ResultMissed, "", clock("11:50"), clock("12:00")), cron.Failed, false},
		"older than the ledger, which is not all":         {new(clock("12:20")), nil, nil, nil, cron.Failed, false},
		"before everything that was counted":              {new(clock("12:20")), nil, nil, result(v1alpha1.ResultMissed, "", clock("12:11"), none), cron.Unfinished, false},
	} {
		t.Run(name, func(t *testing.T) {
			tt := &timetable.Object{Timetable: *tick()}
			child := built(t, &tt.Timetable, noon)
			child.SetGroupVersionKind(former)
			child.Object["status"] = map[string]any{"state": "whatever"}
			tt.Spec.Template.APIVersion, tt.Spec.Template.Kind = "example.com/v1", "Widget"
			tt.Spec.Outcome = &v1alpha1.Outcome{Succeeded: "true", Failed: "true"}
			tt.Status = v1alpha1.TimetableStatus{Cursor: c.cursor, Active: c.active, Waiting: c.wait, Ledger: c.ledger}
			if strings.HasSuffix(name, "which is not all") {
				tt.Status.Counts.Succeeded = 9
			}
			for form, owner := range map[string]adapter.Object{"as it was read": tt, "as a cache has it": worldKind.Compact(tt)} {
				got, err := worldKind.ReadChild(child, former, owner)
				if err != nil {
					t.Fatal(err)
				}
				if got.Phase != c.want || got.Succeeded != (c.want == cron.Complete) || (got.Finished != nil) != c.told || c.told && !got.Finished.Equal(ended.Time) {
					t.Errorf("%s: %s, succeeded %v, ended %v", form, got.Phase, got.Succeeded, got.Finished)
				}
			}
			nobodys, err := worldKind.ReadChild(child, former, nil)
			if err != nil || nobodys.Phase != cron.Unfinished {
				t.Errorf("nobody's: %s, %v", nobodys.Phase, err)
			}
		})
	}
}
