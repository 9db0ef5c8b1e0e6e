// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package description

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/schedule"
)

var at = time.Date(2026, 10, 19, 8, 20, 0, 0, time.UTC)

// letters draw a timeline.
var letters = map[Mark]string{
	Nothing: " ", Running: "-", NotKnown: ".", ToCome: "*", Succeeded: "+", Skipped: "o", Cancelled: "#", Unseen: "?", Active: ">", Missed: "!", Failed: "x",
}

func drawn(t *Timeline) string {
	var text strings.Builder
	for _, mark := range t.Places {
		text.WriteString(letters[mark])
	}
	return text.String()
}

func ended(ago, took time.Duration, outcome run.Outcome) run.Run {
	due := at.Add(-ago)
	return run.Run{ScheduledTime: due, Created: due, Started: due, Ended: due.Add(took), Outcome: outcome}
}

func scheduleOfText(t testing.TB, text string) *schedule.Schedule {
	t.Helper()
	times, err := schedule.Parse(text, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return &times
}

func TestTimeline(t *testing.T) {
	hourly := scheduleOfText(t, "0 * * * *")
	for name, test := range map[string]struct {
		history history
		length  time.Duration
		want    string
	}{
		// 14 places, 12 of them past: a place is half an hour.
		"nothing":      {history{}, 6 * time.Hour, "              "},
		"one run":      {history{runs: []run.Run{ended(time.Hour, time.Minute, run.Succeeded)}}, 6 * time.Hour, "          +   "},
		"the worst":    {history{runs: []run.Run{ended(61*time.Minute, time.Minute, run.Failed), ended(65*time.Minute, time.Minute, run.Succeeded)}}, 6 * time.Hour, "         x    "},
		"a long run":   {history{runs: []run.Run{ended(3*time.Hour, 90*time.Minute, run.Succeeded)}}, 6 * time.Hour, "      +--     "},
		"still active": {history{runs: []run.Run{{ScheduledTime: at.Add(-2 * time.Hour), Created: at.Add(-2 * time.Hour), Outcome: run.Active}}}, 6 * time.Hour, "        >---  "},
		"active since before": {
			history{runs: []run.Run{{ScheduledTime: at.Add(-9 * time.Hour), Created: at.Add(-9 * time.Hour), Outcome: run.Active}}},
			6 * time.Hour, ">-----------  ",
		},
		"ended before":     {history{runs: []run.Run{ended(9*time.Hour, time.Hour, run.Failed)}}, 6 * time.Hour, "              "},
		"ended within":     {history{runs: []run.Run{ended(7*time.Hour, 2*time.Hour, run.Failed)}}, 6 * time.Hour, "--            "},
		"a clock is ahead": {history{runs: []run.Run{ended(-time.Hour, time.Minute, run.Succeeded)}}, 6 * time.Hour, "           +  "},
		"cancelled, unseen": {
			history{runs: []run.Run{ended(time.Hour, 0, run.Cancelled), ended(2*time.Hour, 0, run.Unknown)}},
			6 * time.Hour, "        ? #   ",
		},
		"suspended for long": {
			history{runs: []run.Run{{ScheduledTime: at.Add(-2 * time.Hour), Created: at.Add(-2 * time.Hour), Outcome: run.Active, Suspended: true}}},
			6 * time.Hour, "        >     ",
		},
		"missed": {history{omissions: []run.Omission{{ScheduledTime: at.Add(-time.Hour), Missed: true}}}, 6 * time.Hour, "          !   "},
		"several skipped": {
			history{omissions: []run.Omission{{ScheduledTime: at.Add(-9 * time.Hour), Until: at.Add(-4*time.Hour - 20*time.Minute), Count: 6}}, times: hourly, since: at},
			6 * time.Hour, " o o          ",
		},
		"not known":    {history{times: hourly}, 6 * time.Hour, " . . . . . .  "},
		"not before":   {history{times: hourly, since: at.Add(-2 * time.Hour)}, 6 * time.Hour, "         . .  "},
		"what comes":   {history{times: hourly, next: hourly.Next, since: at}, 6 * time.Hour, "             *"},
		"comes often":  {history{next: scheduleOfText(t, "* * * * *").Next}, 6 * time.Hour, "            **"},
		"nothing left": {history{next: func(time.Time) time.Time { return time.Time{} }}, 6 * time.Hour, "              "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(timeline(test.history, at, test.length, 14)); got != test.want {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestLengthOf(t *testing.T) {
	for name, test := range map[string]struct {
		schedule string
		want     time.Duration
	}{
		"each minute":         {"* * * * *", time.Hour},
		"every ten minutes":   {"*/10 * * * *", 6 * time.Hour},
		"each hour":           {"0 * * * *", day},
		"every three hours":   {"0 */3 * * *", day},
		"each day":            {"30 3 * * *", week},
		"each week":           {"0 6 * * 1", 366 * day},
		"each month":          {"0 6 1 * *", 366 * day},
		"once in four years":  {"0 6 29 2 *", week},
		"a day that is never": {"0 6 31 2 *", week},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lengthOf(history{times: scheduleOfText(t, test.schedule)}, 0, at); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	if got := lengthOf(history{}, 3*time.Hour, at); got != day {
		t.Errorf("every 3 hours: %s", got)
	}
	yearly := history{runs: []run.Run{ended(100*day, time.Minute, run.Succeeded)}, times: scheduleOfText(t, "0 6 1 1 *")}
	if got := lengthOf(yearly, 0, at); got != 366*day {
		t.Errorf("a run each year: %s", got)
	}
}

func drawHistory(t *rapid.T, length time.Duration) history {
	instant := rapid.Custom(func(t *rapid.T) time.Time {
		return at.Add(-time.Duration(rapid.Int64Range(-int64(length)/4, int64(length)+int64(length)/4).Draw(t, "ago")))
	})
	h := history{}
	outcomes := rapid.SampledFrom([]run.Outcome{run.Active, run.Succeeded, run.Failed, run.Cancelled, run.Unknown})
	for range rapid.IntRange(0, 12).Draw(t, "runs") {
		due := instant.Draw(t, "due")
		r := run.Run{ScheduledTime: due, Created: due.Add(time.Duration(rapid.IntRange(-5, 500).Draw(t, "late")) * time.Second), Outcome: outcomes.Draw(t, "outcome")}
		if r.Outcome.Ended() {
			r.Ended = r.Created.Add(time.Duration(rapid.Int64Range(0, int64(length)).Draw(t, "took")))
		}
		h.runs = append(h.runs, r)
	}
	for range rapid.IntRange(0, 5).Draw(t, "omissions") {
		o := run.Omission{ScheduledTime: instant.Draw(t, "omitted"), Count: int64(rapid.IntRange(0, 9).Draw(t, "count")), Missed: rapid.Bool().Draw(t, "missed")}
		if rapid.Bool().Draw(t, "several") {
			o.Until = o.ScheduledTime.Add(time.Duration(rapid.Int64Range(0, int64(length)).Draw(t, "until")))
		}
		h.omissions = append(h.omissions, o)
	}
	if text := rapid.SampledFrom([]string{"", "* * * * *", "7 * * * *", "30 3 * * *", "0 6 1 * *", "0 6 31 2 *"}).Draw(t, "schedule"); text != "" {
		times, err := schedule.Parse(text, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		h.times, h.since = &times, instant.Draw(t, "since")
		if rapid.Bool().Draw(t, "goes on") {
			h.next = times.Next
		}
	}
	return h
}

// The place of each run and omission of the range shows it, or something that weighs more; what is to come is after
// now; and however it is, there are as many places as were asked for.
func TestTimelineShowsEachRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom(lengths).Draw(t, "length")
		places := rapid.IntRange(0, 200).Draw(t, "places")
		h := drawHistory(t, length)
		line := timeline(h, at, length, places)
		if len(line.Places) != max(places, 14) || line.Past <= 0 || line.Past >= len(line.Places) {
			t.Fatalf("%d places, %d of them past, for %d", len(line.Places), line.Past, places)
		}
		for i := range h.runs {
			r := &h.runs[i]
			if r.Time().Before(line.From) {
				continue
			}
			index, ok := line.index(r.Time())
			if !ok || weights[line.Places[index]] < weights[MarkOf(r.Outcome)] {
				t.Fatalf("the run of %s (%s) is not on %q", r.Time(), r.Outcome, drawn(line))
			}
		}
		for i := range h.omissions {
			o := &h.omissions[i]
			if index, ok := line.index(o.ScheduledTime); ok && weights[line.Places[index]] < weights[Skipped] {
				t.Fatalf("the omission of %s is not on %q", o.ScheduledTime, drawn(line))
			}
		}
		for i, mark := range line.Places {
			if (i < line.Past) == (mark == ToCome) && (mark == ToCome || i >= line.Past && mark != Nothing) {
				t.Fatalf("%s at place %d of %d past ones", mark, i, line.Past)
			}
		}
		counts := 0
		for _, n := range line.Counts {
			counts += n
		}
		if shown := slices.IndexFunc(line.Places, func(m Mark) bool { return m != Nothing && m != Running }); (shown >= 0) != (counts > 0) {
			t.Fatalf("counts are %v of %q", line.Counts, drawn(line))
		}
	})
}

// Labels are on the line, apart from each other, in order, and in any zone.
func TestTicksFit(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		now := at.Add(time.Duration(rapid.Int64Range(0, int64(366*day)).Draw(t, "later")))
		line := timeline(history{}, now, rapid.SampledFrom(lengths).Draw(t, "length"), rapid.IntRange(14, 200).Draw(t, "places"))
		last := -2
		for _, tick := range line.Ticks(zone) {
			if tick.Place < 0 || tick.Place < last || tick.Place+utf8.RuneCountInString(tick.Label) > len(line.Places) {
				t.Fatalf("%+v on %d places, the one before ends at %d", tick, len(line.Places), last)
			}
			last = tick.Place + utf8.RuneCountInString(tick.Label) + 2
		}
	})
}

func TestTicks(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		length time.Duration
		want   string
	}{
		"an hour": {time.Hour, "09:30 09:40 09:50 10:00 10:10 10:20"},
		"6 hours": {6 * time.Hour, "05:00 06:00 07:00 08:00 09:00 10:00"},
		"a day":   {day, "12:00 15:00 18:00 21:00 Mon 19 03:00 06:00 09:00 12:00"},
		"a week":  {week, "Tue 13 Wed 14 Thu 15 Fri 16 Sat 17 Sun 18 Mon 19 Tue 20"},
		"5 weeks": {5 * week, "Sep 21 Sep 28 Oct 5 Oct 12 Oct 19"},
		"a year":  {366 * day, "Nov Dec Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"},
	} {
		t.Run(name, func(t *testing.T) {
			var labels []string
			for _, tick := range timeline(history{}, at, test.length, 78).Ticks(zone) {
				labels = append(labels, tick.Label)
			}
			if got := strings.Join(labels, " "); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A scheduled time that was tried again is one run on the line, and its last try says how it went.
func TestTimelineTries(t *testing.T) {
	try := func(ago time.Duration, n int, outcome run.Outcome) run.Run {
		r := ended(ago, time.Second, outcome)
		r.Owner, r.Retry = run.Owner{Kind: "Timetable", Name: "flaky", UID: "1"}, n
		return r
	}
	waits := try(10*time.Minute, 1, run.Failed)
	waits.Retrying = true
	line := timeline(history{runs: []run.Run{
		waits, try(30*time.Minute, 3, run.Succeeded), try(30*time.Minute, 2, run.Failed), try(30*time.Minute, 1, run.Failed),
		try(50*time.Minute, 2, run.Failed), try(50*time.Minute, 1, run.Failed),
	}}, at, time.Hour, 70)
	counts := map[Mark]int{}
	for _, mark := range line.Places {
		if mark != Nothing {
			counts[mark]++
		}
	}
	want := map[Mark]int{Active: 1, Succeeded: 1, Failed: 1}
	if !maps.Equal(counts, want) || !maps.Equal(line.Counts, want) {
		t.Errorf("marks %v, counts %v", counts, line.Counts)
	}
}
