// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// times is the set of a spec.
func times(t failer, spec string) *timeset.Set {
	t.Helper()
	tt := tick()
	tt.Spec = specOf(t, spec)
	timing, obstacle := timetable.Timing(tt, &tt.Spec, nil, 0)
	if obstacle != nil {
		t.Fatal(obstacle)
	}
	set, obstacle := timetable.Times(timing)
	if obstacle != nil {
		t.Fatal(obstacle)
	}
	return set
}

// The next times are those that will start if nothing else happens (timetable.md 4.2).
func TestNextTimes(t *testing.T) {
	const (
		plain    = `schedules: [{cron: "*/10 * * * *"}]`
		jittered = `{schedules: [{cron: "*/10 * * * *"}], jitter: 5m}` // 40 s for ops/tick
	)
	clockTime := func(text string) time.Time { return at("2026-05-04T" + text + "Z") }
	for sentence, c := range map[string]struct {
		spec     string
		upcoming timetable.Upcoming
		want     string // times of the day; =12:10:40 is when one starts, ,names its schedules
	}{
		"five of them":          {plain, timetable.Upcoming{Now: clockTime("12:07:00"), Cursor: clockTime("12:06:00")}, "12:10:00 12:20:00 12:30:00 12:40:00 12:50:00"},
		"one that is due":       {plain, timetable.Upcoming{Now: clockTime("12:10:00")}, "12:20:00 12:30:00 12:40:00 12:50:00 13:00:00"},
		"no cursor":             {plain, timetable.Upcoming{Now: clockTime("12:09:59")}, "12:10:00 12:20:00 12:30:00 12:40:00 12:50:00"},
		"with jitter":           {jittered, timetable.Upcoming{Now: clockTime("12:07:00")}, "12:10:00=12:10:40 12:20:00=12:20:40 12:30:00=12:30:40 12:40:00=12:40:40 12:50:00=12:50:40"},
		"to start in a moment":  {jittered, timetable.Upcoming{Now: clockTime("12:10:39"), Cursor: clockTime("12:00:00")}, "12:10:00=12:10:40 12:20:00=12:20:40 12:30:00=12:30:40 12:40:00=12:40:40 12:50:00=12:50:40"},
		"that has just started": {jittered, timetable.Upcoming{Now: clockTime("12:10:40")}, "12:20:00=12:20:40 12:30:00=12:30:40 12:40:00=12:40:40 12:50:00=12:50:40 13:00:00=13:00:40"},
		"decided already":       {jittered, timetable.Upcoming{Now: clockTime("12:10:39"), Cursor: clockTime("12:10:00")}, "12:20:00=12:20:40 12:30:00=12:30:40 12:40:00=12:40:40 12:50:00=12:50:40 13:00:00=13:00:40"},
		"decided, but for one before": {plain, timetable.Upcoming{Now: clockTime("12:07:00"), Decided: func(t time.Time) bool { return t.Equal(clockTime("12:20:00")) }},
			"12:10:00 12:30:00 12:40:00 12:50:00 13:00:00"},
		"the clock went back":       {plain, timetable.Upcoming{Now: clockTime("12:07:00"), Cursor: clockTime("13:00:00")}, "13:10:00 13:20:00 13:30:00 13:40:00 13:50:00"},
		"suspended until":           {plain, timetable.Upcoming{Now: clockTime("12:07:00"), SuspendedUntil: clockTime("12:30:00")}, "12:30:00 12:40:00 12:50:00 13:00:00 13:10:00"},
		"suspended until, jittered": {jittered, timetable.Upcoming{Now: clockTime("12:07:00"), SuspendedUntil: clockTime("12:30:30")}, "12:30:00=12:30:40 12:40:00=12:40:40 12:50:00=12:50:40 13:00:00=13:00:40 13:10:00=13:10:40"},
		"suspended until the past":  {plain, timetable.Upcoming{Now: clockTime("12:47:00"), SuspendedUntil: clockTime("12:30:00")}, "12:50:00 13:00:00 13:10:00 13:20:00 13:30:00"},
		"several schedules": {`schedules: [{name: a, cron: "*/10 * * * *"}, {name: b, cron: "*/15 * * * *"}]`, timetable.Upcoming{Now: clockTime("12:07:00"), Several: true},
			"12:10:00,a 12:15:00,b 12:20:00,a 12:30:00,a,b 12:40:00,a"},
		"of which one ends":   {`schedules: [{name: a, at: ["2026-05-04T12:10", "2026-05-04T12:20"]}]`, timetable.Upcoming{Now: clockTime("12:07:00")}, "12:10:00 12:20:00"},
		"none any more":       {`schedules: [{name: a, at: ["2026-05-04T12:10"]}]`, timetable.Upcoming{Now: clockTime("12:10:00")}, ""},
		"before the first":    {`schedules: [{name: a, at: ["2027-05-04T12:10"]}]`, timetable.Upcoming{Now: clockTime("12:10:00")}, "12:10:00"},
		"all excluded":        {`{schedules: [{cron: "*/10 * * * *"}], exclude: [{period: 01-01/12-31}]}`, timetable.Upcoming{Now: clockTime("12:10:00")}, ""},
		"excluded in between": {`{schedules: [{cron: "*/10 * * * *"}], exclude: [{period: 2026-05-04T12:20/2026-05-04T12:50}]}`, timetable.Upcoming{Now: clockTime("12:07:00")}, "12:10:00 12:50:00 13:00:00 13:10:00 13:20:00"},
		"the window ends":     {`{schedules: [{cron: "*/10 * * * *"}], window: {notAfter: "2026-05-04T12:20:00Z"}}`, timetable.Upcoming{Now: clockTime("12:07:00")}, "12:10:00 12:20:00"},
	} {
		var got []string
		for _, next := range timetable.NextTimes(times(t, c.spec), c.upcoming) {
			text := next.Time.UTC().Format(time.TimeOnly)
			if next.StartsAt != nil {
				text += "=" + next.StartsAt.UTC().Format(time.TimeOnly)
			}
			got = append(got, strings.Join(append([]string{text}, next.Schedules...), ","))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", sentence, text, c.want)
		}
	}
}

// The next times are what a walk over all times of the day finds.
func TestNextTimesAgainstWalk(t *testing.T) {
	midnight := at("2026-05-04T00:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		minute := func(name string) time.Time {
			return midnight.Add(time.Duration(rapid.IntRange(0, 1200).Draw(t, name))*time.Minute + time.Duration(rapid.IntRange(0, 1).Draw(t, name+" half"))*30*time.Second)
		}
		spec := rapid.SampledFrom([]string{
			`schedules: [{cron: "*/7 * * * *"}]`,
			`{schedules: [{cron: "*/7 * * * *"}], jitter: 7m}`,
			`{schedules: [{cron: "3 * * * *"}, {name: b, cron: "*/20 * * * *"}], jitter: 3h, exclude: [{period: 2026-05-04T06:00/2026-05-04T08:00}]}`,
			`{schedules: [{cron: "*/50 * * * *"}], window: {notBefore: "2026-05-04T10:00:00Z", notAfter: "2026-05-04T15:00:00Z"}}`,
		}).Draw(t, "spec")
		set := times(t, spec)
		u := timetable.Upcoming{Now: minute("now")}
		if rapid.Bool().Draw(t, "has cursor") {
			u.Cursor = minute("cursor")
		}
		if rapid.Bool().Draw(t, "suspended") {
			u.SuspendedUntil = minute("until")
		}
		decided := map[time.Time]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "decided") {
			decided[set.Next(minute("decided"))] = true
		}
		u.Decided = func(t time.Time) bool { return decided[t] }
		var want []time.Time
		for sec := 0; sec < 3*86400 && len(want) < 5; sec++ {
			one := midnight.Add(time.Duration(sec) * time.Second)
			if !set.Has(one) || !one.After(u.Cursor) || decided[one] {
				continue
			}
			if start := set.PlannedStart(one); start.After(u.Now) && !start.Before(u.SuspendedUntil) {
				want = append(want, one)
			}
		}
		var got []time.Time
		for _, next := range timetable.NextTimes(set, u) {
			got = append(got, next.Time.UTC())
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s, %+v:\n%s", spec, u, cmp.Diff(want, got))
		}
	})
}
