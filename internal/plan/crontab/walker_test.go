// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/crontab"
)

// walk is the times that cron runs an entry at from one instant until another: it looks at each minute, at what the
// clock shows then, and at nothing else. It knows numbers, "*", ranges, steps and lists.
func walk(fields []string, zone *time.Location, from, until time.Time) []string {
	star := func(n int) bool { return fields[n][0] == '*' }
	var times []string
	for t := from; t.Before(until); t = t.Add(time.Minute) {
		t := t.In(zone)
		weekday := matches(fields[4], int(t.Weekday()), 0, 7) || t.Weekday() == time.Sunday && matches(fields[4], 7, 0, 7)
		day := matches(fields[2], t.Day(), 1, 31)
		either := day || weekday
		if star(2) || star(4) {
			either = day && weekday
		}
		if either && matches(fields[0], t.Minute(), 0, 59) && matches(fields[1], t.Hour(), 0, 23) && matches(fields[3], int(t.Month()), 1, 12) {
			times = append(times, t.Format("2006-01-02T15:04"))
		}
	}
	return times
}

func matches(field string, value, low, high int) bool {
	for item := range strings.SplitSeq(field, ",") {
		span, step, _ := strings.Cut(item, "/")
		from, to := low, high
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			from, _ = strconv.Atoi(first)
			if to = from; ranged {
				to, _ = strconv.Atoi(last)
			}
		}
		by := 1
		if step != "" {
			by, _ = strconv.Atoi(step)
		}
		if value >= from && value <= to && (value-from)%by == 0 {
			return true
		}
	}
	return false
}

// fieldText draws the text of a field.
func fieldText(low, high int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var items []string
		for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "items") {
			item := "*"
			switch rapid.IntRange(0, 3).Draw(t, "form") {
			case 0:
				item = strconv.Itoa(rapid.IntRange(low, high).Draw(t, "value"))
			case 1:
				from := rapid.IntRange(low, high).Draw(t, "from")
				item = fmt.Sprintf("%d-%d", from, rapid.IntRange(from, high).Draw(t, "to"))
			}
			if (item == "*" || strings.Contains(item, "-")) && rapid.Bool().Draw(t, "stepped") {
				item += "/" + strconv.Itoa(rapid.IntRange(1, high).Draw(t, "step"))
			}
			items = append(items, item)
		}
		return strings.Join(items, ",")
	})
}

// The object of an entry runs at the times at which cron runs the entry, on all days on which the clock does not
// change.
func TestTimesAreCrons(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	generators := []*rapid.Generator[string]{fieldText(0, 59), fieldText(0, 23), fieldText(1, 31), fieldText(1, 12), fieldText(0, 7)}
	rapid.Check(t, func(t *rapid.T) {
		var fields []string
		for n, name := range []string{"minute", "hour", "day", "month", "weekday"} {
			fields = append(fields, generators[n].Draw(t, name))
		}
		if rapid.Bool().Draw(t, "any month") {
			fields[3] = "*"
		}
		from := time.Date(2026, time.Month(rapid.SampledFrom([]int{1, 2, 5, 7, 12}).Draw(t, "from")), rapid.IntRange(1, 28).Draw(t, "on"), 0, 0, 0, 0, zone)
		until := from.AddDate(0, 0, 9)
		want := walk(fields, zone, from, until)
		o := options("crontab")
		o.Kind = rapid.SampledFrom([]crontab.Kind{crontab.CronJob, crontab.Timetable}).Draw(t, "kind")
		got := crontab.Convert(strings.Join(fields, " ")+" work\n", o)
		if len(got.Faults) > 0 {
			t.Fatal(got.Faults)
		}
		if len(got.Documents) == 0 {
			if len(want) > 0 {
				t.Fatalf("there is no object, and cron runs it at %v", want)
			}
			return
		}
		all := load(t, write(t, got))
		var times []string
		for at := all.Scheduled[0].Policy.Timing.Times.Next(from.Add(-time.Second)); !at.IsZero() && at.Before(until); at = all.Scheduled[0].Policy.Timing.Times.Next(at) {
			times = append(times, at.In(zone).Format("2006-01-02T15:04"))
		}
		if !slices.Equal(want, times) {
			t.Fatalf("%q: cron runs it at %v, the object at %v", fields, want, times)
		}
	})
}
