// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/schedule"
	"github.com/carillon-dev/carillon/internal/timeset"
)

// walk is the oracle: it goes through a span minute by minute and judges each by the text that package time gives for
// the wall clock. Only the times of cron expressions come from package schedule, which has an oracle of its own.
type walk struct {
	spec         timeset.Spec
	loc          *time.Location
	after, until time.Time
	kept         []time.Time
	excluded     []time.Time
	names        map[int64][]string
}

func walkOver(t fataler, spec timeset.Spec, after, until time.Time) *walk {
	t.Helper()
	loc, err := time.LoadLocation(spec.TimeZone)
	if err != nil {
		t.Fatalf("%v", err)
	}
	w := &walk{spec: spec, loc: loc, after: after, until: until, names: map[int64][]string{}}
	var all []time.Time
	for _, item := range spec.Items {
		for _, at := range w.item(t, item) {
			if w.names[at.Unix()] == nil {
				all = append(all, at)
			}
			if names := w.names[at.Unix()]; !slices.Contains(names, item.Name) {
				w.names[at.Unix()] = append(names, item.Name)
			}
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	for _, at := range all {
		switch {
		case !spec.NotBefore.IsZero() && at.Before(spec.NotBefore), !spec.NotAfter.IsZero() && at.After(spec.NotAfter):
		case w.isExcluded(at):
			w.excluded = append(w.excluded, at)
		default:
			w.kept = append(w.kept, at)
		}
	}
	return w
}

// item lists the times of an item in the span.
func (w *walk) item(t fataler, item timeset.Item) (times []time.Time) {
	switch {
	case item.Cron != "":
		s, err := schedule.Compile(schedule.Item{Cron: item.Cron}, schedule.Options{Zone: w.loc, DayRule: item.DayRule, DST: w.spec.DST})
		if err != nil {
			t.Fatalf("%v", err)
		}
		for at := s.Next(w.after); !at.IsZero() && !at.After(w.until); at = s.Next(at) {
			if item.EveryWeeks == 0 || w.inWeek(at, item) {
				times = append(times, at)
			}
		}
	case item.Every != "":
		step, _ := time.ParseDuration(item.Every)
		anchor := time.Unix(0, 0)
		if item.Anchor != "" {
			anchor, _ = w.place(item.Anchor, false)
		}
		for at := w.after.Truncate(time.Second); !at.After(w.until); at = at.Add(time.Second) {
			if at.After(w.after) && (at.Unix()-anchor.Unix())%int64(step/time.Second) == 0 {
				times = append(times, at)
			}
		}
	default:
		for _, text := range item.At {
			at, inGap := w.place(text, w.spec.DST.Overlap == schedule.OverlapLast)
			if at.After(w.after) && !at.After(w.until) && (!inGap || w.spec.DST.Gap != schedule.GapSkip) {
				times = append(times, at)
			}
		}
	}
	return times
}

// inWeek counts Mondays from the anchor's.
func (w *walk) inWeek(at time.Time, item timeset.Item) bool {
	monday := func(t time.Time) time.Time {
		y, m, d := t.Date()
		return time.Date(y, m, d-(int(t.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	}
	anchor, _ := time.Parse("2006-01-02", item.Anchor)
	days := int(monday(at.In(w.loc)).Sub(monday(anchor)) / (24 * time.Hour))
	return days/7%item.EveryWeeks == 0
}

// place looks for the minute at which the clock shows a text, or at which it jumps over it.
func (w *walk) place(text string, last bool) (at time.Time, inGap bool) {
	if at, err := time.Parse("2006-01-02T15:04Z07:00", text); err == nil {
		return at, false
	}
	about, _ := time.Parse("2006-01-02T15:04", text)
	before := ""
	for t := about.Add(-50 * time.Hour); t.Before(about.Add(50 * time.Hour)); t = t.Add(time.Minute) {
		shown := t.In(w.loc).Format("2006-01-02T15:04")
		switch {
		case shown == text:
			if at, inGap = t, false; !last {
				return at, false
			}
		case at.IsZero() && before != "" && before < text && shown > text:
			at, inGap = t, true
		}
		before = shown
	}
	return at, inGap
}

// isExcluded compares texts.
func (w *walk) isExcluded(at time.Time) bool {
	local := at.In(w.loc)
	for _, e := range w.spec.Exclude {
		for _, period := range append([]string{e.Period}, e.Periods...) {
			first, last, isRange := strings.Cut(period, "/")
			if !isRange {
				last = first
			}
			switch len(first) {
			case 5:
				if day := local.Format("01-02"); first <= last && first <= day && day <= last || first > last && (first <= day || day <= last) {
					return true
				}
			case 10:
				if day := local.Format("2006-01-02"); first <= day && day <= last {
					return true
				}
			case 16:
				if minute := local.Format("2006-01-02T15:04"); first <= minute && minute < last {
					return true
				}
			}
		}
	}
	return false
}

// check compares every question about the span with the list.
func check(set *timeset.Set, want []time.Time, after, until time.Time) error {
	got := slices.Collect(set.Between(after, until))
	if !slices.EqualFunc(want, got, time.Time.Equal) {
		return fmt.Errorf("Between(%v, %v) (-want +got):\n%s", after, until, cmp.Diff(want, got))
	}
	ask := []time.Time{after, until, after.Add(until.Sub(after) / 3), after.Add(until.Sub(after) / 7 * 5)}
	for i := range min(len(want), 4) {
		at := want[i*(len(want)-1)/4]
		ask = append(ask, at.Add(-1), at, at.Add(1))
	}
	for _, at := range ask {
		next, isTime := slices.BinarySearchFunc(want, at, time.Time.Compare)
		prev := next
		if isTime {
			next++
		}
		if got := set.Next(at); next < len(want) && !got.Equal(want[next]) || next == len(want) && !got.IsZero() && !got.After(until) {
			return fmt.Errorf("Next(%v) = %v", at, got)
		}
		if got := set.Prev(at); prev > 0 && !got.Equal(want[prev-1]) || prev == 0 && got.After(after) {
			return fmt.Errorf("Prev(%v) = %v", at, got)
		}
		if got := set.Count(after, at); got != next {
			return fmt.Errorf("Count(%v, %v) = %d, want %d", after, at, got, next)
		}
		if got := set.Count(at, until); got != len(want)-next {
			return fmt.Errorf("Count(%v, %v) = %d, want %d", at, until, got, len(want)-next)
		}
		last := time.Time{}
		if next > 0 {
			last = want[next-1]
		}
		if got := set.LastBetween(after, at); !got.Equal(last) {
			return fmt.Errorf("LastBetween(%v, %v) = %v, want %v", after, at, got, last)
		}
		if got := set.Has(at); got != (isTime && at.After(after)) && at != after {
			return fmt.Errorf("Has(%v) = %v", at, got)
		}
	}
	return nil
}

var (
	crons    = []string{"*/7 * * * *", "30 */3 * * *", "0 2 * * *", "30 2 * * *", "0,30 1-3 * * 1-5", "15 0 * * SUN", "0 9 29 2 *", "59 23 * * 0,1"}
	periods  = []string{"03-08", "10-25", "10-31/11-02", "12-24/01-02", "02-29", "02-28/03-01", "2026-10-25", "2026-03-28/2026-03-30", "2011-12-30/2011-12-31", "2026-03-29T02:00/2026-03-29T03:00", "2026-10-25T02:15/2026-10-25T02:45", "2026-11-01T01:00/2026-11-01T01:30", "2026-10-24T23:30/2026-10-25T02:30", "2028-02-29", "01-01", "12-31"}
	localAt  = []string{"2026-03-29T02:30", "2026-10-25T02:30", "2026-03-08T02:30", "2026-11-01T01:30", "2026-11-01T00:30", "2011-12-30T12:00", "2028-02-29T12:00", "2026-12-31T23:59", "2027-01-01T00:00Z", "2026-10-25T02:30+02:00"}
	zones    = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Africa/Cairo"}
	changeAt = []time.Time{
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 5, 0, 0, 0, time.UTC),
		time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC), time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC),
		time.Date(2024, 12, 31, 23, 0, 0, 0, time.UTC), time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC),
	}
)

func drawItem(t *rapid.T, name string) timeset.Item {
	item := timeset.Item{Name: name}
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		item.Every = rapid.SampledFrom([]string{"1h", "37m", "6h", "24h", "97s", "168h"}).Draw(t, "every")
		item.Anchor = rapid.SampledFrom(append([]string{""}, localAt...)).Draw(t, "anchor")
	case 1:
		item.At = rapid.SliceOfNDistinct(rapid.SampledFrom(localAt), 1, 5, rapid.ID[string]).Draw(t, "at")
	default:
		item.Cron = rapid.SampledFrom(crons).Draw(t, "cron")
		if rapid.Bool().Draw(t, "weeks") {
			item.EveryWeeks = rapid.IntRange(2, 5).Draw(t, "everyWeeks")
			item.Anchor = rapid.SampledFrom([]string{"2026-01-05", "2026-10-25", "2026-10-26", "2011-12-30", "2030-03-03"}).Draw(t, "anchor")
		}
	}
	return item
}

func drawSpec(t *rapid.T, centre time.Time) timeset.Spec {
	spec := timeset.Spec{
		Hash:     schedule.Hash{Namespace: "ops", Name: "nightly"},
		TimeZone: rapid.SampledFrom(zones).Draw(t, "zone"),
		DST: schedule.DST{
			Gap:     rapid.SampledFrom([]schedule.Gap{"", schedule.GapShift, schedule.GapSkip}).Draw(t, "gap"),
			Overlap: rapid.SampledFrom([]schedule.Overlap{"", schedule.OverlapFirst, schedule.OverlapLast, schedule.OverlapBoth}).Draw(t, "overlap"),
		},
		Jitter: time.Duration(rapid.IntRange(0, 7200).Draw(t, "jitter")) * time.Second,
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "items") {
		spec.Items = append(spec.Items, drawItem(t, fmt.Sprintf("item-%d", i)))
	}
	for range rapid.IntRange(0, 3).Draw(t, "exclusions") {
		period := rapid.SampledFrom(periods).Draw(t, "period")
		if rapid.Bool().Draw(t, "calendar") {
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Calendar: "c", Periods: []string{period, rapid.SampledFrom(periods).Draw(t, "period")}})
		} else {
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Period: period})
		}
	}
	if rapid.Bool().Draw(t, "notBefore") {
		spec.NotBefore = centre.Add(-time.Duration(rapid.IntRange(0, 48).Draw(t, "hours before")) * time.Hour)
	}
	if rapid.Bool().Draw(t, "notAfter") {
		spec.NotAfter = centre.Add(time.Duration(rapid.IntRange(0, 48).Draw(t, "hours after")) * time.Hour)
	}
	return spec
}

// Around any change of any clock, the turn of a year and a leap day, a set answers every question as if somebody had
// walked through all minutes with the wall clock in his hand.
func TestAgainstWalker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		centre := rapid.SampledFrom(changeAt).Draw(t, "centre")
		spec := drawSpec(t, centre)
		set, err := timeset.Compile(spec)
		if obstacle, ok := err.(*timeset.Obstacle); ok && obstacle.Reason == timeset.NeverFires {
			t.Skip("names no instant")
		} else if err != nil {
			t.Fatal(err)
		}
		after := centre.Add(-time.Duration(rapid.IntRange(1, 40*3600).Draw(t, "seconds before")) * time.Second)
		until := centre.Add(time.Duration(rapid.IntRange(1, 40*3600).Draw(t, "seconds after")) * time.Second)
		w := walkOver(t, spec, after, until)
		if err := check(set, w.kept, after, until); err != nil {
			t.Fatalf("%+v: %v", spec, err)
		}
		if err := check(set.Excluded(), w.excluded, after, until); err != nil {
			t.Fatalf("excluded of %+v: %v", spec, err)
		}
		for i, at := range w.kept {
			if i%7 != 0 {
				continue
			}
			if names := set.Names(at); !slices.Equal(names, w.names[at.Unix()]) {
				t.Fatalf("%+v: names of %v: %v, want %v", spec, at, names, w.names[at.Unix()])
			}
			start := set.PlannedStart(at)
			if start.Before(at) || start.After(at.Add(spec.Jitter)) || i+1 < len(w.kept) && !start.Before(w.kept[i+1]) {
				t.Fatalf("%+v: planned start of %v: %v", spec, at, start)
			}
		}
	})
}
