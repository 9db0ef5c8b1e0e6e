// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// What is told of a day on which the clocks change is what the engine does on it.
func TestClockChangesAreThoseOfTheEngine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"*", "0", "30", "*/15", "7,37"}).Draw(t, "minute") + " " +
			rapid.SampledFrom([]string{"*", "0", "1", "2", "3", "1-3", "*/2", "23"}).Draw(t, "hour") + " * * " +
			rapid.SampledFrom([]string{"*", "0", "5", "1-6"}).Draw(t, "weekday")
		zone, err := schedule.LoadZone(rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "America/Santiago"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := explanation.OfExpression(text, zone, now)
		if err != nil {
			t.Fatal(err)
		}
		ticks, err := schedule.Parse(text, zone)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.ClockChanges) < 3 {
			t.Fatalf("%d changes in two years", len(e.ClockChanges))
		}
		for _, c := range e.ClockChanges {
			day, err := time.Parse(time.DateOnly, c.Date)
			if err != nil {
				t.Fatal(err)
			}
			runs, seen, twice := 0, map[string]bool{}, false
			for at := ticks.Next(c.At.Add(-48 * time.Hour)); at.Before(c.At.Add(48 * time.Hour)); at = ticks.Next(at) {
				if local := at.In(zone); local.Format(time.DateOnly) == c.Date {
					runs++
					twice = twice || seen[local.Format(time.TimeOnly)]
					seen[local.Format(time.TimeOnly)] = true
				}
			}
			utc, err := schedule.Parse(text, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			usual := utc.Count(day.Add(-time.Second), day.Add(24*time.Hour-time.Second))
			if c.Runs != runs || c.UsualRuns != usual {
				t.Errorf("%q, %s: told are %d and %d runs, want %d and %d", text, c.Date, c.Runs, c.UsualRuns, runs, usual)
			}
			changed := c.Effect != "none"
			if changed != (runs != usual) || (c.Effect == "doubled" || c.Effect == "more") != twice {
				t.Errorf("%q, %s: the effect is %s; %d runs instead of %d, twice %t", text, c.Date, c.Effect, runs, usual, twice)
			}
		}
	})
}

// The same for Timetables, whose times are placed by dst.
func TestClockChangesOfTimetables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "0 " + rapid.SampledFrom([]string{"0", "30", "*/15", "7,37"}).Draw(t, "minute") + " " +
			rapid.SampledFrom([]string{"*", "0", "1", "2", "3", "1-3", "2,3", "*/2", "23-2"}).Draw(t, "hour") + " * * " +
			rapid.SampledFrom([]string{"*", "7", "FRI-MON"}).Draw(t, "weekday")
		zone, err := schedule.LoadZone(rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"}).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		e, err := explanation.OfExpression(text, zone, now)
		if err != nil {
			t.Fatal(err)
		}
		ticks, err := schedule.Compile(schedule.Item{Cron: text}, schedule.Options{Zone: zone})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range e.ClockChanges {
			runs, atChange := 0, false
			for at := ticks.Next(c.At.Add(-48 * time.Hour)); at.Before(c.At.Add(48 * time.Hour)); at = ticks.Next(at) {
				atChange = atChange || at.Equal(c.At)
				if at.In(zone).Format(time.DateOnly) == c.Date {
					runs++
				}
			}
			if c.Runs != runs || c.Effect == "none" && c.Runs != c.UsualRuns || c.Effect == "shifted" && !atChange || c.Effect == "doubled" && c.Runs <= c.UsualRuns {
				t.Errorf("%q, %s: told are %s and %d runs instead of %d, want %d", text, c.Date, c.Effect, c.Runs, c.UsualRuns, runs)
			}
		}
	})
}

// The same for Timetables with several schedules and exclusions: what is told of each is what the set of its times
// does.
func TestClockChangesOfSeveralSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := timeset.Spec{Hash: schedule.Hash{Namespace: "default", Name: "a"}, TimeZone: rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")}
		text := "apiVersion: batch.carillon.dev/v1alpha1\nkind: Timetable\nmetadata: {name: a, namespace: default}\nspec:\n  timeZone: " + spec.TimeZone + "\n  template: {spec: {}}\n  schedules:\n"
		for n := range rapid.IntRange(1, 3).Draw(t, "schedules") {
			cron := rapid.SampledFrom([]string{"0", "30", "7,37"}).Draw(t, "minute") + " " +
				rapid.SampledFrom([]string{"2", "3", "1-3", "2,*/12", "*", "12"}).Draw(t, "hour") + " * * *"
			spec.Items = append(spec.Items, timeset.Item{Name: string(rune('a' + n)), Cron: cron})
			text += "  - {name: " + string(rune('a'+n)) + ", cron: '" + cron + "'}\n"
		}
		for n, period := range rapid.SampledFrom([][]string{nil, {"2027-03-28"}, {"2027-03-28T03:00/2027-03-28T04:00"}, {"2027-03-28T02:00/2027-03-28T03:00", "2027-10-31T02:00/2027-10-31T03:00"}}).Draw(t, "exclude") {
			if n == 0 {
				text += "  exclude:\n"
			}
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Period: period})
			text += "  - {period: " + period + "}\n"
		}
		set, err := timeset.Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		e := explainText(t, text)
		for _, c := range e.ClockChanges {
			runs, atChange, twice, showings := 0, false, false, map[string]bool{}
			for at := set.Next(c.At.Add(-48 * time.Hour)); !at.IsZero() && at.Before(c.At.Add(48*time.Hour)); at = set.Next(at) {
				atChange = atChange || at.Equal(c.At)
				if local := at.In(c.At.Location()); local.Format(time.DateOnly) == c.Date {
					runs++
					twice = twice || showings[local.Format(time.TimeOnly)]
					showings[local.Format(time.TimeOnly)] = true
				}
			}
			doubled := strings.Contains(c.Words, "runs twice") || strings.Contains(c.Words, "and each runs twice")
			if c.Runs != runs || c.Effect == "none" && c.Runs != c.UsualRuns || c.Effect == "shifted" && !atChange ||
				strings.Contains(c.Words, "instead, at") && !atChange || doubled && !twice || twice && !doubled && c.Effect != "more" {
				t.Errorf("%s\n%s: told are %s and %d runs instead of %d, want %d; at the change %t, twice %t: %s", text, c.Date, c.Effect, c.Runs, c.UsualRuns, runs, atChange, twice, c.Words)
			}
		}
	})
}

// The distances and the counts are those of the engine's times.
func TestFrequency(t *testing.T) {
	for text, want := range map[string]explanation.Frequency{
		"0 0 * * 1-5":    {SmallestDistanceSeconds: 86400, LargestDistanceSeconds: 3 * 86400, Runs: 523, LeastInMonth: explanation.MonthCount{Month: "2027-02", Runs: 20}, MostInMonth: explanation.MonthCount{Month: "2026-12", Runs: 23}},
		"* 9-17 * 5 *":   {SmallestDistanceSeconds: 60, LargestDistanceSeconds: (335*24+15)*3600 + 60, Runs: 2 * 31 * 540, LeastInMonth: explanation.MonthCount{Month: "2026-12"}, MostInMonth: explanation.MonthCount{Month: "2027-05", Runs: 31 * 540}},
		"* 9-17 * * *":   {SmallestDistanceSeconds: 60, LargestDistanceSeconds: 15*3600 + 60, Runs: 731 * 540, LeastInMonth: explanation.MonthCount{Month: "2027-02", Runs: 28 * 540}, MostInMonth: explanation.MonthCount{Month: "2026-12", Runs: 31 * 540}},
		"@every 50h":     {SmallestDistanceSeconds: 180000, LargestDistanceSeconds: 180000, Runs: 350, LeastInMonth: explanation.MonthCount{Month: "2027-02", Runs: 13}, MostInMonth: explanation.MonthCount{Month: "2026-12", Runs: 14}},
		"*/20 0 1 1 * *": {SmallestDistanceSeconds: 20, LargestDistanceSeconds: 31*86400 - 40, Runs: 72, LeastInMonth: explanation.MonthCount{Month: "2026-12", Runs: 3}, MostInMonth: explanation.MonthCount{Month: "2026-12", Runs: 3}},
	} {
		e, err := explanation.OfExpression(text, nil, now)
		if err != nil {
			t.Fatal(err)
		}
		got := *e.Frequency
		got.PerDay, got.PerMonth = 0, 0
		if got != want {
			t.Errorf("%q:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// There is no distance to tell of one run.
func TestDistanceOfOneRun(t *testing.T) {
	berlin, err := schedule.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	e, err := explanation.OfExpression("30 2 28 3 *", berlin, now)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(e.Lines(80), "\n"); e.Frequency.Runs != 1 || strings.Contains(text, "after the one before") || strings.Contains(text, "at most.") {
		t.Error(text)
	}
}

// A sentence of what never runs, and of steps that name one value.
func TestSentences(t *testing.T) {
	for text, want := range map[string]string{
		", * * * *":    "It never runs: the field for the minute names no value",
		"59/2 * * * *": "names one value alone (59): the next one would be beyond the end of the hour.",
		"0 20/6 * * *": "names one value alone (20): the next one would be beyond the end of the day.",
		"0 */24 * * *": "names one value alone (0): the next one would be beyond the end of the day.",
	} {
		e, err := explanation.OfExpression(text, time.UTC, now)
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Join(strings.Fields(strings.Join(e.Lines(80), " ")), " "); !strings.Contains(told, want) {
			t.Errorf("%q: %q is not said: %s", text, want, told)
		}
	}
}

// Each surprise is found where it is, and not beside it.
func TestSurprises(t *testing.T) {
	for text, want := range map[string]string{
		"17 3 * * *":           "",
		"17 */6 * * *":         "",
		"*/15 * * * *":         "",
		"17 9-17/3 * * *":      "",
		"17 3 1-28 * *":        "",
		"17 3 * * 1-5":         "",
		"17 3 13 * FRI":        "day-of-month-and-week",
		"17 3 */2 * FRI":       "day-of-month-and-week uneven-step",
		"17 3 13 * 0-6":        "day-field-without-effect",
		"*/7 * * * *":          "uneven-step",
		"5/20 * * * *":         "",
		"5/25 * * * *":         "uneven-step",
		"17 3 */2 * *":         "uneven-step",
		"17 3 1 */5 *":         "uneven-step",
		"17 3 * * */2":         "uneven-step",
		"*/90 3 * * *":         "step-beyond-field herd",
		"17 3 30 * *":          "day-missing-in-months",
		"17 3 29 * *":          "day-missing-in-months",
		"17 3 31 1,3 *":        "",
		"17 3 30 2 *":          "never-fires",
		"17 3 29 2 *":          "leap-day",
		"* 3 * * *":            "every-minute-of-an-hour",
		"* 9-17 * * *":         "",
		"@every 1h":            "every-drifts",
		"@every 5s":            "every-drifts below-a-minute",
		"@daily":               "herd",
		"0 3 * * *":            "herd",
		"17 3 * * 0":           "day-of-week-number",
		"17 3 * * 1-5/2":       "", // a range has its own ends
		"17 3 ,5 * *":          "accidental-form",
		"TZ=UTC 17 3 * * *":    "time-zone-in-schedule",
		"0 17 3 * * *":         "seconds-field",
		"0 17 3 * * * 2099":    "long-gap seconds-field",
		"0 17 3 * * * 2001":    "nothing-left seconds-field",
		"17 3 L * *":           "",
		"17 3 * * 7":           "day-of-week-number",
		"H 3 * * *":            "",
		"0 0 0 29-30 2 * 2027": "never-fires seconds-field",
	} {
		e, err := explanation.OfExpression(text, time.UTC, now)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range e.Surprises {
			ids = append(ids, s.ID)
			if !strings.HasSuffix(s.Message, ".") && !strings.HasSuffix(s.Message, ")") || s.Cure != "" && !strings.HasSuffix(s.Cure, ".") {
				t.Errorf("%s is no sentence: %+v", s.ID, s)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// No text does harm: it is an error or an explanation that can be written.
func FuzzExplanation(f *testing.F) {
	f.Add("*/5 * * * *", "Europe/Berlin", int64(1767225600))
	f.Add("@every 1ms", "", int64(0))
	f.Add("30 2 29 2 0", "Australia/Lord_Howe", int64(253402300799))
	f.Add("H/7 22-3 L-3,15W * FRI#2 2030", "Africa/Cairo", int64(-1))
	f.Fuzz(func(t *testing.T, text, zoneName string, at int64) {
		zone, err := schedule.LoadZone(zoneName)
		if err != nil || zoneName == "" || zoneName == "Local" {
			zone = nil
		}
		e, err := explanation.OfExpression(text, zone, time.Unix(at%(1<<37), 0))
		if err != nil {
			return
		}
		if len(e.Lines(80)) < 5 {
			t.Errorf("%q: %q", text, e.Lines(80))
		}
		if year := e.Now.Year(); year > 0 && year < 9000 {
			if _, err := json.Marshal(e); err != nil {
				t.Error(err)
			}
		}
	})
}
