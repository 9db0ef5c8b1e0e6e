// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
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
	calendars    calendars
}

// calendars remembers what Calendars are made of.
type calendars map[*timeset.Calendar][]string

func walkOver(t fataler, spec timeset.Spec, calendars calendars, after, until time.Time) *walk {
	t.Helper()
	loc, err := time.LoadLocation(spec.TimeZone)
	if err != nil {
		t.Fatalf("%v", err)
	}
	w := &walk{spec: spec, loc: loc, after: after, until: until, names: map[int64][]string{}, calendars: calendars}
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
	if len(text) > 16 {
		panic(text)
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
		for _, period := range append([]string{e.Period}, w.calendars[e.Calendar]...) {
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
func check(set *timeset.Set, want []time.Time, after, until, change time.Time) error {
	got := slices.Collect(set.Between(after, until))
	if !slices.EqualFunc(want, got, time.Time.Equal) {
		return fmt.Errorf("Between(%v, %v) (-want +got):\n%s", after, until, cmp.Diff(want, got))
	}
	ask := []time.Time{change.Add(-25 * time.Minute), change.Add(-1), change, change.Add(5 * time.Minute), change.Add(35 * time.Minute), change.Add(25 * time.Hour)}
	ask = slices.DeleteFunc(ask, func(at time.Time) bool { return at.Before(after) || at.After(until) })
	ask = append(ask, after, until, after.Add(until.Sub(after)/3), after.Add(until.Sub(after)/7*5))
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

// Around any change of any clock, the turn of a year and a leap day, a set answers every question as if somebody had
// walked through all minutes with the wall clock in his hand.
func TestAgainstWalker(t *testing.T) {
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawPlace(t, zone)
				spec, calendars := drawSpec(t, p)
				set, err := timeset.Compile(spec)
				if obstacle := (*timeset.Obstacle)(nil); errors.As(err, &obstacle) && obstacle.Reason == timeset.NeverFires {
					t.Skip("names no instant")
				} else if err != nil {
					t.Fatal(err)
				}
				after := p.at.Add(-time.Duration(rapid.IntRange(1, 40*3600).Draw(t, "seconds before")) * time.Second)
				until := p.at.Add(time.Duration(rapid.IntRange(1, 40*3600).Draw(t, "seconds after")) * time.Second)
				w := walkOver(t, spec, calendars, after, until)
				if err := check(set, w.kept, after, until, p.at); err != nil {
					t.Fatalf("%+v: %v", spec, err)
				}
				if err := check(set.Excluded(), w.excluded, after, until, p.at); err != nil {
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
		})
	}
}

// Over months, the number of times that several schedules name together is that of the times.
func TestCountOfSeveralSchedules(t *testing.T) {
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawPlace(t, zone)
				spec, _ := drawSpec(t, p)
				spec.NotBefore, spec.NotAfter = time.Time{}, time.Time{}
				for i := range rapid.IntRange(1, 2).Draw(t, "dense") {
					cron := rapid.SampledFrom([]string{"*/11 * * * *", "3/20 * * * 1-5", "*/9 1-5 * * *", "*/3 0 * * *", "7,49 */12 20-4 * * *", "7,17,27 * 1-20 * *"}).Draw(t, "cron")
					spec.Items = append(spec.Items, timeset.Item{Name: fmt.Sprintf("dense-%d", i), Cron: cron})
				}
				set, err := timeset.Compile(spec)
				if err != nil {
					t.Skip("names no instant")
				}
				after := p.at.Add(-time.Duration(rapid.IntRange(1, 60*24*3600).Draw(t, "seconds before")) * time.Second)
				until := p.at.Add(time.Duration(rapid.IntRange(1, 60*24*3600).Draw(t, "seconds after")) * time.Second)
				for name, set := range map[string]*timeset.Set{"kept": set, "excluded": set.Excluded()} {
					want := 0
					for range set.Between(after, until) {
						want++
					}
					if got := set.Count(after, until); got != want {
						t.Fatalf("%s of %+v: Count(%v, %v) = %d, want %d", name, spec, after, until, got, want)
					}
				}
			})
		})
	}
}

// A day that was skipped moves its times to the next one, and one that came twice has its times once, so the days
// beside them are not like others.
func TestCountBesideMissingDays(t *testing.T) {
	for zone, change := range map[string]time.Time{
		"Pacific/Apia":      time.Date(2011, 12, 30, 10, 0, 0, 0, time.UTC),
		"Pacific/Kwajalein": time.Date(1993, 8, 21, 12, 0, 0, 0, time.UTC),
		"Asia/Manila":       time.Date(1844, 12, 30, 16, 0, 0, 0, time.UTC),
		"America/Juneau":    time.Date(1867, 10, 18, 15, 0, 0, 0, time.UTC),
	} {
		for _, overlap := range []schedule.Overlap{schedule.OverlapFirst, schedule.OverlapLast, schedule.OverlapBoth} {
			spec := timeset.Spec{TimeZone: zone, DST: schedule.DST{Overlap: overlap}, Items: []timeset.Item{
				{Name: "a", Cron: "*/7 1-5 * * *"}, {Name: "b", Cron: "*/9 1-5 * * *"}, {Name: "c", Cron: "*/11 6-22 * * *"}}}
			set := mustCompile(t, spec)
			after, until := change.AddDate(0, 0, -20), change.AddDate(0, 0, 20)
			want := 0
			for range set.Between(after, until) {
				want++
			}
			if got := set.Count(after, until); got != want {
				t.Errorf("%s, %s: Count = %d, want %d", zone, overlap, got, want)
			}
		}
	}
}
