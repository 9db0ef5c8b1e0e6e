// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
)

// What counts and what does not.
func TestObjects(t *testing.T) {
	const status = ", status: {pause: {since: \"2026-11-22T00:00:00Z\"}, conditions: [{type: Paused, status: \"True\", reason: Failures, message: m, lastTransitionTime: \"2026-11-22T00:00:00Z\"}]}}"
	tests := map[string]struct {
		text    string
		want    forecast.Objects
		starts  int64
		leftOut string // a part of why
	}{
		"one":             {cronJob("a", "0 * * * *", ", timeZone: Europe/Berlin"), forecast.Objects{Counted: 1}, 24, ""},
		"no zone":         {cronJob("a", "0 * * * *", ""), forecast.Objects{Counted: 1, WithoutZone: 1}, 24, ""},
		"a zone inside":   {cronJob("a", "TZ=Asia/Tokyo 0 * * * *", ""), forecast.Objects{Counted: 1}, 24, ""},
		"another day":     {cronJob("a", "0 0 1 1 *", ", timeZone: Etc/UTC"), forecast.Objects{Counted: 1, Idle: 1}, 0, ""},
		"suspended":       {cronJob("a", "0 * * * *", ", suspend: true"), forecast.Objects{Suspended: 1}, 0, ""},
		"until noon":      {simpleTimetable("a", "0 * * * *", ", suspendUntil: \"2026-11-23T12:00:00Z\""), forecast.Objects{Counted: 1, SuspendedUntil: 1}, 12, ""},
		"until last year": {simpleTimetable("a", "0 * * * *", ", suspendUntil: \"2025-11-23T12:00:00Z\""), forecast.Objects{Counted: 1}, 24, ""},
		"after failures":  {strings.TrimSuffix(simpleTimetable("a", "0 * * * *", ", pauseAfterFailures: 3"), "}") + status, forecast.Objects{Suspended: 1}, 0, ""},
		"every":           {cronJob("a", "@every 1h", ""), forecast.Objects{Counted: 1, Unanchored: 1}, 23, ""},
		"every, created":  {strings.Replace(cronJob("a", "@every 1h", ""), "name: a,", "name: a, creationTimestamp: \"2026-11-22T00:10:00Z\",", 1), forecast.Objects{Counted: 1}, 24, ""},
		"a mistake":       {cronJob("a", "0 24 * * *", ""), forecast.Objects{}, 0, "hour 24"},
		"never":           {cronJob("a", "0 0 30 2 *", ""), forecast.Objects{}, 0, "30 2"},
		"no such zone":    {cronJob("a", "0 0 * * *", ", timeZone: Mars/Olympus"), forecast.Objects{}, 0, "Mars/Olympus"},
		"no calendar":     {simpleTimetable("a", "0 0 * * *", ", exclude: [{calendar: feast}]"), forecast.Objects{}, 0, "feast"},
		"deleted":         {strings.Replace(cronJob("a", "0 0 * * *", ""), "name: a,", "name: a, deletionTimestamp: \"2026-11-22T00:00:00Z\",", 1), forecast.Objects{}, 0, "deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made := forecast.Of(read(t, test.text), day(from))
			got := made.Objects
			got.LeftOut = nil
			if fmt.Sprint(got) != fmt.Sprint(test.want) || made.Summary().Total != test.starts {
				t.Errorf("got %+v and %d starts, want %+v and %d", got, made.Summary().Total, test.want, test.starts)
			}
			if left := made.Objects.LeftOut; test.leftOut != "" && (len(left) != 1 || !strings.Contains(left[0].Why, test.leftOut)) || test.leftOut == "" && len(left) > 0 {
				t.Errorf("left out: %v", left)
			}
		})
	}
}

// On a day of 23 or 25 hours what follows the clock starts less or more often, and what names the hour as its kind
// says.
func TestClockChanges(t *testing.T) {
	berlin := ", timeZone: Europe/Berlin"
	spring, autumn := time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		text   string
		from   time.Time
		length time.Duration
		want   string // the hours of the starts in UTC
	}{
		"hourly in spring":       {cronJob("a", "0 0-4 * * *", berlin), spring, 23 * time.Hour, "23:00 00:00 01:00 02:00"},
		"half past two is not":   {cronJob("a", "30 2 * * *", berlin), spring, 23 * time.Hour, ""},
		"a Timetable moves it":   {simpleTimetable("a", "30 2 * * *", berlin), spring, 23 * time.Hour, "01:00"},
		"half past two is twice": {cronJob("a", "30 2 * * *", berlin), autumn, 25 * time.Hour, "00:30 01:30"},
		"a Timetable has one":    {simpleTimetable("a", "30 2 * * *", berlin), autumn, 25 * time.Hour, "00:30"},
		"jitter":                 {simpleTimetable("a", "0 0 * * *", berlin+", jitter: 5m"), autumn, time.Hour, "22:03"}, // 213 s
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := day(test.from)
			o.Length = test.length
			made := forecast.Of(read(t, test.text), o)
			var got []string
			for n, starts := range made.Starts {
				for range starts {
					got = append(got, made.From.Add(time.Duration(n)*time.Minute).Format("15:04"))
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %v, want %s", got, test.want)
			}
			if made.Until() != test.from.Add(test.length) || len(made.Running) != len(made.Starts) {
				t.Errorf("it ends at %v with %d and %d minutes", made.Until(), len(made.Starts), len(made.Running))
			}
		})
	}
}

// Two objects of one name, as in files for two clusters, count both, each as it is.
func TestSameName(t *testing.T) {
	objects := read(t, simpleTimetable("a", "0 0 * * *", ""), simpleTimetable("a", "0 0 * * *", ", jitter: 5m"), simpleTimetable("a", "0 0 * * *", ", jitter: 24h"))
	o := day(from)
	if got, want := forecast.Of(objects, o).Starts, countStarts(objects, o); !slices.Equal(got, want) || got[0] != 1 {
		t.Errorf("got %d starts in the first minute, want %d", got[0], want[0])
	}
}

// Equally full minutes come in their order, and those who make one by their number.
func TestWorst(t *testing.T) {
	made := forecast.Of(read(t,
		cronJob("c", "0 5 * * *", ""), cronJob("b", "0 5 * * *", ""), cronJob("a", "0,30 5 * * *", ""), cronJob("d", "30 5 * * *", ""),
		simpleTimetable("e", "*/20 45 5 * * *", ""),
	), day(from))
	var got []string
	for _, w := range made.Worst {
		for _, m := range w.By {
			got = append(got, fmt.Sprintf("%s %d: %s %d %d %v", w.At.Format("15:04"), w.Starts, m.Schedule, m.Objects, m.Starts, m.Names))
		}
	}
	want := []string{
		"05:00 3: 0 5 * * * (UTC) 2 2 [ops/b ops/c]",
		"05:00 3: 0,30 5 * * * (UTC) 1 1 [ops/a]",
		"05:45 3: */20 45 5 * * * (UTC) 1 3 [ops/e]",
		"05:30 2: 0,30 5 * * * (UTC) 1 1 [ops/a]",
		"05:30 2: 30 5 * * * (UTC) 1 1 [ops/d]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// fleet gives n objects with the schedules that fleets have: most are alike, some have a minute of their own, some run
// each minute.
func fleet(tb testing.TB, n int) ([]string, forecast.Options) {
	tb.Helper()
	texts, o := make([]string, n), day(from)
	for i := range n {
		name := fmt.Sprintf("job-%d", i)
		switch kind := i % 20; {
		case kind < 6:
			texts[i] = cronJob(name, fmt.Sprintf("%d %d * * *", i%59, i/59%24), "")
		case kind < 10:
			texts[i] = cronJob(name, "0 0 * * *", "")
		case kind < 12:
			texts[i] = cronJob(name, "*/5 * * * *", ", concurrencyPolicy: Forbid")
		case kind < 14:
			texts[i] = cronJob(name, "0 * * * *", ", timeZone: Europe/Berlin")
		case kind < 17:
			texts[i] = cronJob(name, "* * * * *", ", concurrencyPolicy: Replace")
		case kind < 19:
			texts[i] = simpleTimetable(name, "H * * * *", ", jitter: 5m")
		default:
			texts[i] = cronJob(name, fmt.Sprintf("@every %dm", 5+i%90), "")
		}
		if i%2 == 0 {
			o.Runs = append(o.Runs, forecast.Run{Kind: "CronJob", Namespace: "ops", Name: name, Took: time.Duration(i%1000) * time.Second})
		}
	}
	return texts, o
}

// BenchmarkOf is a cluster without the reading of its objects: ten times as many are to take about ten times as long.
func BenchmarkOf(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			texts, o := fleet(b, n)
			objects := read(b, texts...)
			b.ReportAllocs()
			for b.Loop() {
				forecast.Of(objects, o)
			}
		})
	}
}
