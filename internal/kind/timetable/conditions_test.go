// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// facts are those of the scenarios after a run has succeeded, but for what change says.
func facts(change func(*timetable.Facts, *v1alpha1.TimetableStatus)) *timetable.Facts {
	status := &v1alpha1.TimetableStatus{LastSuccessfulTime: new(clock("12:12")), LastSuccessScheduledTime: new(clock("12:10")), Cursor: new(clock("12:20"))}
	f := &timetable.Facts{Now: at("2026-05-04T12:30:00.7Z"), Generation: 3, LateAfter: 10 * time.Minute, Status: status}
	change(f, status)
	return f
}

// waits is a time that waits since a time of the day, "" for one that was caught up.
func waits(reason, since string) v1alpha1.WaitingTime {
	w := v1alpha1.WaitingTime{ScheduledTime: clock("12:20"), Reason: reason}
	if since != "" {
		w.Since = new(clock(since))
	}
	return w
}

// Each condition tells the first of its reasons that applies (timetable.md 4.1).
func TestConditions(t *testing.T) {
	type status = v1alpha1.TimetableStatus
	for sentence, c := range map[string]struct {
		change func(*timetable.Facts, *status)
		want   string // the conditions that differ from those of a Timetable whose runs succeed
		says   string // a part of the message of the last of them
	}{
		"all is well": {func(*timetable.Facts, *status) {}, "", ""},
		"new": {func(f *timetable.Facts, s *status) { s.LastSuccessfulTime, s.LastSuccessScheduledTime = nil, nil },
			"Healthy=Unknown/NoRunYet", ""},
		"a zone that there is not": {func(f *timetable.Facts, s *status) {
			f.Obstacle = &timetable.Obstacle{Reason: timetable.UnknownTimeZone, Message: "Mars/Olympus is not in the time zone database"}
		}, "Healthy=False/NotReady Ready=False/UnknownTimeZone", "Mars/Olympus"},
		"new and not ready": {func(f *timetable.Facts, s *status) {
			s.LastSuccessfulTime = nil
			f.Obstacle = &timetable.Obstacle{Reason: timetable.KindNotAllowed, Message: "x"}
		}, "Healthy=False/NotReady Ready=False/KindNotAllowed", ""},
		"a failure": {func(f *timetable.Facts, s *status) { s.ConsecutiveFailures = 1 }, "Healthy=False/RunFailed", "the last scheduled run failed"},
		"failures":  {func(f *timetable.Facts, s *status) { s.ConsecutiveFailures = 3 }, "Healthy=False/RunFailed", "3 scheduled runs in a row have failed"},
		"a missed time": {func(f *timetable.Facts, s *status) {
			s.LastMissedTime, s.MissRecordedTime = new(clock("12:20")), new(clock("12:21"))
		}, "Healthy=False/TimesMissed", "2026-05-04T12:20:00Z"},
		"a missed time, cleared by a manual run": {func(f *timetable.Facts, s *status) { s.LastMissedTime = new(clock("12:20")) }, "", ""},
		"an earlier missed time": {func(f *timetable.Facts, s *status) {
			s.LastMissedTime, s.MissRecordedTime = new(clock("12:00")), new(clock("12:21"))
		}, "", ""},
		"that time missed, and made up": {func(f *timetable.Facts, s *status) {
			s.LastMissedTime, s.MissRecordedTime = new(clock("12:10")), new(clock("12:21"))
		}, "", ""},
		"a missed time, and no success": {func(f *timetable.Facts, s *status) {
			s.LastMissedTime, s.MissRecordedTime, s.LastSuccessfulTime, s.LastSuccessScheduledTime = new(clock("12:00")), new(clock("12:21")), nil, nil
		}, "Healthy=False/TimesMissed", ""},
		"failed, and missed": {func(f *timetable.Facts, s *status) {
			s.ConsecutiveFailures, s.LastMissedTime, s.MissRecordedTime = 1, new(clock("12:20")), new(clock("12:21"))
		}, "Healthy=False/RunFailed", ""},
		"late": {func(f *timetable.Facts, s *status) { s.Waiting = []v1alpha1.WaitingTime{waits("Overlap", "12:20")} },
			"Healthy=False/Late Late=True/Overlap", "a scheduled time has been waiting since 2026-05-04T12:20:00Z for an earlier run to end"},
		"not yet late":           {func(f *timetable.Facts, s *status) { s.Waiting = []v1alpha1.WaitingTime{waits("Overlap", "12:21")} }, "", ""},
		"waiting, but caught up": {func(f *timetable.Facts, s *status) { s.Waiting = []v1alpha1.WaitingTime{waits("Overlap", "")} }, "", ""},
		"late, and suspended": {func(f *timetable.Facts, s *status) {
			f.Suspended = true
			s.Waiting = []v1alpha1.WaitingTime{waits("Suspended", "12:00")}
		}, "Paused=True/Suspended", ""},
		"late, by the one that is first": {func(f *timetable.Facts, s *status) {
			s.Waiting = []v1alpha1.WaitingTime{waits("Overlap", "12:29"), waits("CreateFailed", "12:05")}
		}, "Healthy=False/Late Late=True/CreateFailed", "status.waiting and the event CreateFailed have the answer"},
		"stopped again and again":      {func(f *timetable.Facts, s *status) { s.ConsecutiveReplaced = 3 }, "Healthy=False/NeverFinishes", "Replace"},
		"stopped twice":                {func(f *timetable.Facts, s *status) { s.ConsecutiveReplaced = 2 }, "", ""},
		"the clock went back":          {func(f *timetable.Facts, s *status) { s.Cursor = new(clock("12:32")) }, "Healthy=Unknown/ClockWentBack", "2026-05-04T12:32:00Z"},
		"the clock went back a little": {func(f *timetable.Facts, s *status) { s.Cursor = new(clock("12:31")) }, "", ""},
		"suspended":                    {func(f *timetable.Facts, s *status) { f.Suspended, f.Failures = true, true }, "Paused=True/Suspended", "set it to false"},
		"suspended until":              {func(f *timetable.Facts, s *status) { f.SuspendedUntil, f.Failures = at("2026-05-04T12:40:00Z"), true }, "Paused=True/SuspendedUntil", "2026-05-04T12:40:00Z"},
		"paused": {func(f *timetable.Facts, s *status) {
			f.Failures, f.PauseAfterFailures, s.ConsecutiveFailures = true, 3, 3
		},
			"Healthy=False/RunFailed Paused=True/Failures", "3 scheduled runs in a row failed (spec.pauseAfterFailures): mend the cause, then set the annotation carillon.dev/resume"},
		"completed":          {func(f *timetable.Facts, s *status) { f.NoMoreTimes = true }, "Completed=True/NoMoreTimes", "can be deleted"},
		"the last one runs":  {func(f *timetable.Facts, s *status) { f.NoMoreTimes, s.ActiveCount = true, 1 }, "", ""},
		"the last one waits": {func(f *timetable.Facts, s *status) { f.NoMoreTimes, s.WaitingCount = true, 1 }, "", ""},
	} {
		usual := map[string]string{"Ready": "True/Accepted", "Healthy": "True/RunSucceeded", "Late": "False/OnTime", "Paused": "False/Active", "Completed": "False/TimesAhead"}
		for _, other := range strings.Fields(c.want) {
			kind, is, _ := strings.Cut(other, "=")
			usual[kind] = is
		}
		got, message := map[string]string{}, ""
		for _, condition := range timetable.Conditions(nil, facts(c.change)) {
			got[condition.Type] = string(condition.Status) + "/" + condition.Reason
			if fields := strings.Fields(c.want); len(fields) > 0 && strings.HasPrefix(fields[len(fields)-1], condition.Type+"=") {
				message = condition.Message
			}
			if condition.ObservedGeneration != 3 || condition.Message == "" || !condition.LastTransitionTime.Time.Equal(at("2026-05-04T12:30:00Z")) {
				t.Errorf("%s: %+v", sentence, condition)
			}
		}
		if diff := cmp.Diff(usual, got); diff != "" || !strings.Contains(message, c.says) {
			t.Errorf("%s: %s (-want +got):\n%s", sentence, message, diff)
		}
	}
}

// A transition time moves only with the status, what others wrote stays, and nothing that is given is changed.
func TestTransitionTimes(t *testing.T) {
	first := timetable.Conditions([]metav1.Condition{{Type: "Other", Status: "True", Reason: "X"}}, facts(func(f *timetable.Facts, s *v1alpha1.TimetableStatus) { f.Now = at("2026-05-04T12:25:00Z") }))
	kept := append([]metav1.Condition{}, first...)
	later := timetable.Conditions(first, facts(func(f *timetable.Facts, s *v1alpha1.TimetableStatus) {
		f.Generation = 4
		f.Suspended = true
		s.ConsecutiveFailures = 1
	}))
	if diff := cmp.Diff(kept, first); diff != "" {
		t.Errorf("changed:\n%s", diff)
	}
	if len(later) != 6 || !meta.IsStatusConditionTrue(later, "Other") {
		t.Errorf("%+v", later)
	}
	for _, c := range later {
		want := "2026-05-04T12:25:00Z"
		switch c.Type {
		case "Other":
			continue
		case "Healthy", "Paused":
			want = "2026-05-04T12:30:00Z"
		}
		if !c.LastTransitionTime.Time.Equal(at(want)) || c.ObservedGeneration != 4 {
			t.Errorf("%+v, want %s", c, want)
		}
	}
	again := timetable.Conditions(later, facts(func(f *timetable.Facts, s *v1alpha1.TimetableStatus) {
		f.Now = at("2026-05-04T13:00:00Z")
		f.Generation = 4
		f.Suspended = true
		s.ConsecutiveFailures = 1
	}))
	if diff := cmp.Diff(later, again); diff != "" {
		t.Errorf("nothing has changed, but:\n%s", diff)
	}
}

// Conditions are fit for the API, whatever the facts are: there is a message, and it is not too long.
func TestConditionsAreValid(t *testing.T) {
	crd := timetableCRD(t)
	reasons := []timetable.Reason{timetable.InvalidSchedule, timetable.CalendarNotFound, timetable.InvalidTemplate, timetable.OwnerRemoved, timetable.TemplateRejected}
	rapid.Check(t, func(rt *rapid.T) {
		f := &timetable.Facts{
			Now: at("2026-05-04T12:10:00Z"), Generation: 1, LateAfter: time.Duration(rapid.IntRange(0, 20).Draw(rt, "lateAfter")) * time.Minute,
			Suspended: rapid.Bool().Draw(rt, "suspended"), Failures: rapid.Bool().Draw(rt, "failures"), NoMoreTimes: rapid.Bool().Draw(rt, "noMoreTimes"),
			Status: drawStatus().Draw(rt, "status"),
		}
		if rapid.Bool().Draw(rt, "obstacle") {
			f.Obstacle = &timetable.Obstacle{Reason: rapid.SampledFrom(reasons).Draw(rt, "reason"), Message: rapid.String().Draw(rt, "message")}
		}
		for i := range f.Status.Waiting {
			f.Status.Waiting[i].Reason = "Overlap"
		}
		got := timetable.Conditions(nil, f)
		admitStatus(t, crd, &v1alpha1.TimetableStatus{Conditions: got})
		if t.Failed() || len(got) != 5 {
			rt.Fatalf("%+v", got)
		}
	})
}

// The first obstacle is told, and reasons stop what the contract says.
func TestObstacleOrder(t *testing.T) {
	obstacle := func(reason timetable.Reason) *timetable.Obstacle { return &timetable.Obstacle{Reason: reason} }
	if got := timetable.FirstObstacle(nil, obstacle(timetable.TemplateRejected), obstacle(timetable.KindNotFound), nil, obstacle(timetable.InvalidOutcome), obstacle(timetable.KindNotFound)); got.Reason != timetable.InvalidOutcome {
		t.Errorf("%v", got.Reason)
	}
	if got := timetable.FirstObstacle(nil, nil); got != nil {
		t.Errorf("%v", got)
	}
	for reason, want := range map[timetable.Reason]timetable.Stops{
		timetable.InvalidSchedule: timetable.StopsScheduled, timetable.UnknownTimeZone: timetable.StopsScheduled, timetable.CalendarNotFound: timetable.StopsScheduled,
		timetable.InvalidExclusion: timetable.StopsScheduled, timetable.NeverFires: timetable.StopsScheduled, timetable.AllExcluded: timetable.StopsScheduled,
		timetable.TooFrequent: timetable.StopsScheduled, timetable.InvalidParameter: timetable.StopsAll, timetable.InvalidTemplate: timetable.StopsAll,
		timetable.InvalidOutcome: timetable.StopsAll, timetable.KindNotFound: timetable.StopsAll, timetable.KindNotAllowed: timetable.StopsAll,
		timetable.OwnerRemoved: timetable.StopsAll, timetable.TemplateRejected: timetable.StopsNothing,
	} {
		if got := reason.Stops(); got != want {
			t.Errorf("%s stops %v, want %v", reason, got, want)
		}
	}
}
