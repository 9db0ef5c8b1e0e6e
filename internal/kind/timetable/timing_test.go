// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The schedule vectors of timetable-vectors.json, asked as a Timetable: the fields of the API say what they should.
func TestScheduleVectors(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contract/timetable-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Schedule []struct {
			ID, Namespace, Timetable string
			TimeZone                 string
			DST                      v1alpha1.DST
			Schedules                []v1alpha1.Schedule
			Exclude                  []v1alpha1.Period
			Window                   *v1alpha1.Window
			JitterSeconds            int
			From                     time.Time
			Next, StartsAt           []time.Time
			Names                    [][]string
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Schedule) < 125 {
		t.Fatalf("only %d vectors", len(all.Schedule))
	}
	for _, v := range all.Schedule {
		tt := &v1alpha1.Timetable{}
		tt.Namespace, tt.Name = v.Namespace, v.Timetable
		tt.Spec = v1alpha1.TimetableSpec{TimeZone: v.TimeZone, DST: v.DST, Schedules: v.Schedules, Window: v.Window}
		for _, period := range v.Exclude {
			tt.Spec.Exclude = append(tt.Spec.Exclude, v1alpha1.Exclusion{Period: &period})
		}
		if v.JitterSeconds > 0 {
			tt.Spec.Jitter = new(v1alpha1.Duration((time.Duration(v.JitterSeconds) * time.Second).String()))
		}
		timing, obstacle := timetable.Timing(tt, &tt.Spec, nil, 0)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		set, obstacle := timetable.Times(timing)
		if obstacle != nil {
			if obstacle.Reason != timetable.NeverFires || len(v.Next) > 0 {
				t.Errorf("%s: %+v", v.ID, obstacle)
			}
			continue
		}
		from := v.From
		for i, want := range v.Next {
			next := set.Next(from)
			if !next.Equal(want) {
				t.Errorf("%s: after %v comes %v, want %v", v.ID, from, next, want)
			}
			if v.Names != nil && !slices.Equal(set.Names(next), v.Names[i]) {
				t.Errorf("%s: names %v", v.ID, set.Names(next))
			}
			if v.StartsAt != nil && !set.PlannedStart(next).Equal(v.StartsAt[i]) {
				t.Errorf("%s: starts %v", v.ID, set.PlannedStart(next))
			}
			from = next
		}
	}
}

// What the schema takes and the controller does not gives the reason and the words of the contract: the vectors of
// section 10 that are judged by a condition.
func TestConditionVectors(t *testing.T) {
	tried := 0
	for _, v := range vectors.ReadValidation(t, "../../../docs/contract/timetable-vectors.json") {
		if v.By != "condition" || strings.Contains(v.Message, "TemplateRejected") {
			continue
		}
		tried++
		obj := v.Object(t)
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		var tt timetable.Object
		if err := json.Unmarshal(data, &tt); err != nil || tt.Trouble() != nil {
			t.Fatal(err, tt.Trouble())
		}
		timing, first := timetable.Timing(&tt, &tt.Spec, nil, 10*time.Second)
		_, second := timetable.Times(timing)
		_, third := timetable.ReadTemplate(&tt.Spec)
		_, fourth := timetable.OutcomeRule(&tt.Spec)
		got := timetable.FirstObstacle(first, second, third, fourth)
		reason, says, _ := strings.Cut(strings.TrimPrefix(v.Message, "Ready/"), ": ")
		if got == nil || string(got.Reason) != reason || !strings.Contains(got.Message, says) {
			t.Errorf("%s: %+v, want %s: %s", v.ID, got, reason, says)
		}
	}
	if tried < 14 {
		t.Errorf("only %d vectors", tried)
	}
}

// A Calendar takes out the times of its periods; one that does not exist, or cannot be read, stops all.
func TestCalendars(t *testing.T) {
	spec := specOf(t, `{schedules: [{cron: "0 9 * * *"}], exclude: [{calendar: holidays}, {period: 2026-05-06}, {calendar: freezes}, {calendar: holidays}], template: {spec: {}}}`)
	if got := timetable.Calendars(&spec); !slices.Equal(got, []string{"holidays", "freezes"}) {
		t.Errorf("%v", got)
	}
	calendar := func(name string, periods ...v1alpha1.Period) *timeset.Calendar {
		c := &v1alpha1.Calendar{}
		c.Name = name
		for _, p := range periods {
			c.Spec.Periods = append(c.Spec.Periods, v1alpha1.CalendarPeriod{Period: p})
		}
		return timetable.ReadCalendar(c)
	}
	holidays, freezes := calendar("holidays", "05-04"), calendar("freezes", "2026-12-24", "2026-05-05T00:00/2026-05-05T12:00")
	for sentence, c := range map[string]struct {
		calendars map[string]*timeset.Calendar
		want      string // the next time, or the obstacle
	}{
		"both":               {map[string]*timeset.Calendar{"holidays": holidays, "freezes": freezes}, "2026-05-07T09:00:00Z"},
		"others beside them": {map[string]*timeset.Calendar{"holidays": holidays, "freezes": freezes, "x": calendar("x", "01-01/12-31")}, "2026-05-07T09:00:00Z"},
		"one is missing":     {map[string]*timeset.Calendar{"holidays": holidays}, "CalendarNotFound: calendar freezes does not exist in this namespace; create it, or take it out of exclude"},
		"one cannot be read": {map[string]*timeset.Calendar{"holidays": holidays, "freezes": calendar("freezes", "05-04", "2027-02-29")},
			"InvalidExclusion: calendar freezes: periods[1]: "},
	} {
		timing, obstacle := timetable.Timing(tick(), &spec, c.calendars, 0)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		set, obstacle := timetable.Times(timing)
		got := ""
		if obstacle != nil {
			got = string(obstacle.Reason) + ": " + obstacle.Message
		} else {
			got = set.Next(at("2026-05-04T00:00:00Z")).Format(time.RFC3339)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", sentence, got)
		}
	}
}

// Whatever a spec holds, nothing panics, and what it is made of is not changed.
func TestUnfitTimings(t *testing.T) {
	for sentence, text := range map[string]string{
		"nothing":                 `{}`,
		"a schedule of nothing":   `{schedules: [{}]}`,
		"an exclusion of nothing": `{schedules: [{cron: "0 9 * * *"}], exclude: [{}]}`,
		"a window of nothing":     `{schedules: [{cron: "0 9 * * *"}], window: {}, exclude: [{period: x}]}`,
		"a jitter of days":        `{schedules: [{cron: "0 9 * * *"}], jitter: 1d}`,
		"all at once":             `{schedules: [{cron: "0 9 * * *", every: 1h, at: [x], anchor: y, everyWeeks: 2}]}`,
	} {
		spec := specOf(t, text)
		before := spec.DeepCopy()
		timing, first := timetable.Timing(tick(), &spec, nil, 0)
		_, second := timetable.Times(timing)
		if first == nil && second == nil {
			t.Errorf("%s was taken", sentence)
		}
		if len(timing.Fingerprint()) != 16 {
			t.Errorf("%s has the fingerprint %s", sentence, timing.Fingerprint())
		}
		if diff := cmp.Diff(before, &spec); diff != "" {
			t.Errorf("%s was changed:\n%s", sentence, diff)
		}
	}
}
