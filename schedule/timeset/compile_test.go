// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"errors"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// A timing that cannot be served says why, by the first reason that applies, names the part at fault and what to
// write instead.
func TestObstacles(t *testing.T) {
	daily := []timeset.Item{{Cron: "0 9 * * *"}}
	cases := map[string]struct {
		spec    timeset.Spec
		reason  timeset.Reason
		message string
	}{
		"no schedule":             {timeset.Spec{}, timeset.InvalidSchedule, "schedules is empty; write at least one"},
		"nothing set (VV-08)":     {items(timeset.Item{}), timeset.InvalidSchedule, "schedule main: exactly one of cron, every and at must be set"},
		"two set (VV-09)":         {items(timeset.Item{Cron: "0 2 * * *", Every: "1h"}), timeset.InvalidSchedule, "schedule main: exactly one of cron, every and at must be set"},
		"a minute 60 (VV-19)":     {items(timeset.Item{Cron: "60 * * * *"}), timeset.InvalidSchedule, "schedule main: minute 60 is out of range 0-59"},
		"no duration (VV-32)":     {items(timeset.Item{Name: "x", Every: "1d"}), timeset.InvalidSchedule, `schedule x: every: "1d" is no duration; write hours, minutes and seconds, such as 1h30m`},
		"every 0s (VV-33)":        {items(timeset.Item{Every: "0s"}), timeset.InvalidSchedule, "schedule main: every must be at least 1s"},
		"a date for every":        {items(timeset.Item{Every: "24h", Anchor: "2026-01-05"}), timeset.InvalidSchedule, "schedule main: the anchor of every needs a time of day"},
		"dayRule of every":        {items(timeset.Item{Every: "1h", DayRule: schedule.DayRuleBoth}), timeset.InvalidSchedule, "schedule main: dayRule and everyWeeks belong to cron"},
		"weeks without anchor":    {items(timeset.Item{Cron: "0 9 * * 1", EveryWeeks: 2}), timeset.InvalidSchedule, "schedule main: everyWeeks needs an anchor that is a date, such as 2026-01-05"},
		"weeks from an instant":   {items(timeset.Item{Cron: "0 9 * * 1", EveryWeeks: 2, Anchor: "2026-01-05T00:00"}), timeset.InvalidSchedule, "schedule main: everyWeeks needs an anchor that is a date, such as 2026-01-05"},
		"weeks from 30 February":  {items(timeset.Item{Cron: "0 9 * * 1", EveryWeeks: 2, Anchor: "2026-02-30"}), timeset.InvalidSchedule, `schedule main: anchor: "2026-02-30" is no moment: there is no such date or time of day`},
		"each week":               {items(timeset.Item{Cron: "0 9 * * 1", EveryWeeks: 1, Anchor: "2026-01-05"}), timeset.InvalidSchedule, "schedule main: everyWeeks must be at least 2"},
		"anchor of cron (VV-39)":  {items(timeset.Item{Cron: "0 9 * * 1", Anchor: "2026-01-05"}), timeset.InvalidSchedule, "schedule main: anchor belongs to every or everyWeeks"},
		"a moment without time":   {items(timeset.Item{At: []string{"2026-01-05"}}), timeset.InvalidSchedule, "schedule main: at[0]: 2026-01-05 needs a time of day"},
		"a moment on 30 February": {items(timeset.Item{At: []string{"2026-01-05T12:00", "2026-02-30T12:00"}}), timeset.InvalidSchedule, `schedule main: at[1]: "2026-02-30T12:00" is no moment: there is no such date or time of day`},
		"an unknown zone (VV-46)": {timeset.Spec{Items: daily, TimeZone: "Mars/Olympus"}, timeset.UnknownTimeZone, "timeZone: Mars/Olympus is not in the time zone database; use a name such as Europe/Berlin or Etc/UTC"},
		"the zone Local":          {timeset.Spec{Items: daily, TimeZone: "Local"}, timeset.UnknownTimeZone, "timeZone must be a name of the tz database, such as Europe/Rome; Local would be another one on each machine"},
		"an item before the zone": {timeset.Spec{Items: []timeset.Item{{Cron: "x"}}, TimeZone: "Local"}, timeset.InvalidSchedule, ""},
		"no Calendar (VV-54)":     {excluding(timeset.Exclusion{Period: "2027-02-29"}, timeset.Exclusion{Calendar: timeset.MissingCalendar("nope")}), timeset.CalendarNotFound, "calendar nope does not exist in this namespace; create it, or take it out of exclude"},
		"no date (VV-91)":         {excluding(timeset.Exclusion{Period: "01-01"}, timeset.Exclusion{Period: "2027-02-29"}), timeset.InvalidExclusion, "exclude[1]: 2027-02-29 is no date: there is no such day or time of day"},
		"no date in a Calendar":   {excluding(timeset.Exclusion{Calendar: timeset.NewCalendar("de", []string{"01-01", "05-01", "10-03", "2027-02-29"})}), timeset.InvalidExclusion, "calendar de: periods[3]: 2027-02-29 is no date: there is no such day or time of day"},
		"period and Calendar":     {excluding(timeset.Exclusion{Period: "12-25", Calendar: timeset.NewCalendar("de", []string{"01-01"})}), timeset.InvalidExclusion, "exclude[0]: exactly one of period and calendar must be set"},
		"30 February (VV-29)":     {items(timeset.Item{Cron: "0 9 * * *"}, timeset.Item{Name: "b", Cron: "0 0 30 2 *"}), timeset.NeverFires, "schedule b names no date that exists"},
		"a moment in a gap":       {timeset.Spec{TimeZone: "Europe/Berlin", DST: schedule.DST{Gap: schedule.GapSkip}, Items: []timeset.Item{{At: []string{"2027-03-28T02:30"}}}}, timeset.NeverFires, "schedule main names no date that exists"},
		"every 5s": {timeset.Spec{Items: []timeset.Item{{Every: "5s"}}, MinInterval: 10 * time.Second}, timeset.TooFrequent,
			"schedule main: two times are 5s apart; this controller takes 10s at least"},
		"each second (VV-30)": {timeset.Spec{Items: []timeset.Item{{Cron: "* * * * * *"}}, MinInterval: 10 * time.Second}, timeset.TooFrequent,
			"schedule main: two times are 1s apart; this controller takes 10s at least"},
		"each minute": {timeset.Spec{Items: []timeset.Item{{Cron: "0 0 * * *"}, {Name: "b", Cron: "* * 1 1 *"}}, MinInterval: 61 * time.Second}, timeset.TooFrequent,
			"schedule b: two times are 1m0s apart; this controller takes 1m1s at least"},
		"two moments": {timeset.Spec{Items: []timeset.Item{{At: []string{"2026-05-04T12:00", "2026-05-04T11:59:51Z"}}}, MinInterval: 10 * time.Second}, timeset.TooFrequent,
			"schedule main: two times are 9s apart; this controller takes 10s at least"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			set, err := timeset.Compile(c.spec)
			obstacle, ok := errors.AsType[*timeset.Obstacle](err)
			if !ok || set != nil {
				t.Fatalf("%v, %v", set, err)
			}
			if obstacle.Reason != c.reason || c.message != "" && obstacle.Message != c.message {
				t.Errorf("%s: %s\nwant %s: %s", obstacle.Reason, obstacle.Message, c.reason, c.message)
			}
		})
	}
}

func items(list ...timeset.Item) timeset.Spec { return timeset.Spec{Items: list} }

func excluding(list ...timeset.Exclusion) timeset.Spec {
	return timeset.Spec{Items: []timeset.Item{{Cron: "0 9 * * *"}}, Exclude: list}
}

// The floor is per item: two items may name neighbouring instants.
func TestFloorIsPerItem(t *testing.T) {
	spec := items(timeset.Item{Cron: "0 0 * * *"}, timeset.Item{Name: "b", At: []string{"2027-03-01T00:00:05"}})
	spec.MinInterval = 10 * time.Second
	mustCompile(t, spec)
}

// A search that meets nothing but exclusions tells whether the set has ended or goes on behind them for ever.
func TestSearchEnds(t *testing.T) {
	from := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	allYear := []timeset.Exclusion{{Period: "01-01/12-31"}}
	cases := map[string]struct {
		spec timeset.Spec
		want timeset.End
	}{
		"all days of all years":  {excluding(allYear...), timeset.GaveUp},
		"all days, in two parts": {excluding(timeset.Exclusion{Period: "03-01/02-28"}, timeset.Exclusion{Period: "02-29"}), timeset.GaveUp},
		"until the window ends": {timeset.Spec{Items: []timeset.Item{{Cron: "0 9 * * *"}}, Exclude: allYear,
			NotAfter: from.AddDate(9, 0, 0)}, timeset.NoMoreTimes},
		"until the moments end": {timeset.Spec{Items: []timeset.Item{{At: []string{"2027-01-01T00:00"}}}, Exclude: allYear}, timeset.NoMoreTimes},
		"the only leap day":     {timeset.Spec{Items: []timeset.Item{{Cron: "0 9 29 2 *"}}, Exclude: []timeset.Exclusion{{Period: "02-29"}}}, timeset.GaveUp},
		"all but the leap day":  {excluding(timeset.Exclusion{Period: "03-01/02-28"}), timeset.Found},
		"the window is behind":  {timeset.Spec{Items: []timeset.Item{{Every: "1h"}}, NotAfter: from}, timeset.NoMoreTimes},
		"years of freeze":       {excluding(timeset.Exclusion{Period: "2026-01-01/9000-12-31"}), timeset.Found},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			next, end := mustCompile(t, c.spec).Search(from)
			if end != c.want || next.IsZero() != (end != timeset.Found) {
				t.Errorf("%v, %v, want %v", next, end, c.want)
			}
		})
	}
}

// The excluded times end with the last period, and no search for them goes on behind it.
func TestExcludedEnds(t *testing.T) {
	excluded := mustCompile(t, timeset.Spec{
		TimeZone: "Europe/Berlin",
		Items:    []timeset.Item{{Cron: "0 9 * * *"}},
		Exclude:  []timeset.Exclusion{{Period: "2026-05-04/2026-05-05"}},
	}).Excluded()
	first, last := time.Date(2026, 5, 4, 7, 0, 0, 0, time.UTC), time.Date(2026, 5, 5, 7, 0, 0, 0, time.UTC)
	if next := excluded.Next(first.AddDate(-30, 0, 0)); !next.Equal(first) {
		t.Errorf("first: %v", next)
	}
	if prev := excluded.Prev(last.AddDate(30, 0, 0)); !prev.Equal(last) {
		t.Errorf("last: %v", prev)
	}
	if next, end := excluded.Search(last); end != timeset.NoMoreTimes {
		t.Errorf("after the last: %v, %v", next, end)
	}
	if prev := excluded.Prev(first); !prev.IsZero() {
		t.Errorf("before the first: %v", prev)
	}
}

// While the clock shows an hour for the second time, a period of that hour lies behind as well as ahead.
func TestExcludedInTheHourThatComesTwice(t *testing.T) {
	excluded := mustCompile(t, timeset.Spec{
		TimeZone: "Europe/Berlin",
		Items:    []timeset.Item{{Every: "1m"}},
		Exclude:  []timeset.Exclusion{{Period: "2026-10-25T02:45/2026-10-25T02:50"}},
	}).Excluded()
	second := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC) // 02:30 again
	if prev, want := excluded.Prev(second), second.Add(-41*time.Minute); !prev.Equal(want) {
		t.Errorf("before: %v, want %v", prev, want)
	}
	if next, want := excluded.Next(second), second.Add(15*time.Minute); !next.Equal(want) {
		t.Errorf("after: %v, want %v", next, want)
	}
}

// Another timing has another fingerprint; defaults that are written out have the same one.
func TestFingerprint(t *testing.T) {
	base := excluding(timeset.Exclusion{Calendar: timeset.NewCalendar("de", []string{"01-01"})})
	same := base
	same.TimeZone, same.DST = "UTC", schedule.DST{Gap: schedule.GapShift, Overlap: schedule.OverlapFirst}
	same.Items = []timeset.Item{{Name: "main", Cron: "0 9 * * *", DayRule: schedule.DayRuleEither}}
	same.Jitter, same.MinInterval, same.Hash.Name = time.Minute, time.Second, "x"
	if base.Fingerprint() != same.Fingerprint() {
		t.Error("defaults change the fingerprint")
	}
	// What stands in objects must be read by later versions.
	if got, want := base.Fingerprint(), "ed208459cc20252c"; got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
	at := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	seen := map[string]string{base.Fingerprint(): "the base"}
	for name, change := range map[string]func(*timeset.Spec){
		"cron":       func(s *timeset.Spec) { s.Items[0].Cron = "1 9 * * *" },
		"name":       func(s *timeset.Spec) { s.Items[0].Name = "x" },
		"dayRule":    func(s *timeset.Spec) { s.Items[0].DayRule = schedule.DayRuleBoth },
		"everyWeeks": func(s *timeset.Spec) { s.Items[0].EveryWeeks = 2 },
		"anchor":     func(s *timeset.Spec) { s.Items[0].Anchor = "2026-01-05" },
		"every":      func(s *timeset.Spec) { s.Items[0].Every = "1h" },
		"at":         func(s *timeset.Spec) { s.Items[0].At = []string{"x"} },
		"item":       func(s *timeset.Spec) { s.Items = append(s.Items, timeset.Item{}) },
		"zone":       func(s *timeset.Spec) { s.TimeZone = "Europe/Rome" },
		"gap":        func(s *timeset.Spec) { s.DST.Gap = schedule.GapSkip },
		"overlap":    func(s *timeset.Spec) { s.DST.Overlap = schedule.OverlapLast },
		"notBefore":  func(s *timeset.Spec) { s.NotBefore = at },
		"notAfter":   func(s *timeset.Spec) { s.NotAfter = at },
		"period":     func(s *timeset.Spec) { s.Exclude = append(s.Exclude, timeset.Exclusion{Period: "12-25"}) },
		"calendar":   func(s *timeset.Spec) { s.Exclude[0].Calendar = timeset.NewCalendar("de", []string{"01-02"}) },
		"missing":    func(s *timeset.Spec) { s.Exclude[0].Calendar = timeset.MissingCalendar("de") },
	} {
		spec := excluding(timeset.Exclusion{Calendar: timeset.NewCalendar("de", []string{"01-01"})})
		change(&spec)
		got := spec.Fingerprint()
		if seen[got] != "" || len(got) != 16 {
			t.Errorf("%s: fingerprint %s, that of %s", name, got, seen[got])
		}
		seen[got] = name
	}
}
