// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

// drawSchedule draws any schedule, "@every" and unsatisfiable ones too.
func drawSchedule(t *rapid.T) (schedule.Schedule, string) {
	loc := mustLoad(t, rapid.SampledFrom(zonesWithEdges).Draw(t, "zone"))
	text := ""
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		text = fmt.Sprintf("@every %ds", rapid.IntRange(-1, 1_000_000).Draw(t, "period"))
	case 1:
		text = rapid.SampledFrom([]string{"0 0 30 2 *", "0 , * * *", ", * * * *", "* * , * *", "* * , * ,", "* * 31 2,4,6,9,11 *"}).Draw(t, "unsatisfiable")
	case 2:
		text = rapid.SampledFrom([]string{"0 0 29 2 *", "0 0 31 12 *", "59 23 28-31 2 *", "0 0 31 */2 *"}).Draw(t, "rare")
	default:
		text = drawModel(t).text
	}
	return mustParse(t, text, loc), text
}

// drawInstant draws instants people meet, and ones nobody does.
func drawInstant(t *rapid.T, label string) time.Time {
	seconds := rapid.OneOf(
		rapid.Int64Range(946684800, 4102444800),              // 2000 to 2100
		rapid.Int64Range(-62135596800, 253402300799),         // years 1 to 9999
		rapid.Int64Range(-1<<56, 1<<56),                      // beyond what has ticks
		rapid.Int64Range(-1<<33, 1<<33),                      // 1697 to 2242
		rapid.Int64Range(19_600_000_000, 20_200_000_000),     // 2591 to 2610, where the list of changes folds
		rapid.SampledFrom([]int64{-62135596800, 0, 1 << 55}), // edges of ours
	).Draw(t, label)
	return time.Unix(seconds, rapid.SampledFrom([]int64{0, 1, 500_000_000, 999_999_999}).Draw(t, label+" ns")).UTC()
}

// Next is strictly later, Prev strictly earlier; between them and the instant asked
// about there is no other tick.
func TestNextAndPrevAreNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, text := drawSchedule(t)
		at := drawInstant(t, "at")
		next, prev := s.Next(at), s.Prev(at)
		if !s.Satisfiable() {
			if !next.IsZero() || !prev.IsZero() || s.Count(prev, at) != 0 {
				t.Fatalf("%q: Next = %v, Prev = %v of a schedule without ticks", text, next, prev)
			}
			return
		}
		if !next.IsZero() && !next.After(at) {
			t.Fatalf("%q: Next(%v) = %v", text, at, next)
		}
		if !prev.IsZero() && !prev.Before(at) {
			t.Fatalf("%q: Prev(%v) = %v", text, at, prev)
		}
		if next.IsZero() || prev.IsZero() {
			// The first tick there is may be the zero instant itself, and before the first leap day there is none.
			if y := at.Year(); y > 8 && y < 10000 {
				t.Fatalf("%q: Next(%v) = %v, Prev = %v", text, at, next, prev)
			}
			return
		}
		if _, every := s.Every(); every {
			whole := at.Truncate(time.Second)
			if !s.Prev(next).Equal(whole) || !s.Next(prev).Equal(whole) {
				t.Fatalf("%q: Prev(%v) = %v, Next(%v) = %v, want %v", text, next, s.Prev(next), prev, s.Next(prev), whole)
			}
			return
		}
		// at itself may be a tick; no other is between.
		if got := s.Next(prev); !got.Equal(at) && !got.Equal(next) {
			t.Fatalf("%q: Next(%v) = %v, beyond it %v, asked at %v", text, prev, got, next, at)
		}
		if got := s.Prev(next); !got.Equal(at) && !got.Equal(prev) {
			t.Fatalf("%q: Prev(%v) = %v, before it %v, asked at %v", text, next, got, prev, at)
		}
		onTick := btoi(s.Next(prev).Equal(at))
		if got := s.Count(prev, next); got != 1+onTick {
			t.Fatalf("%q: Count(%v, %v) = %d, want %d", text, prev, next, got, 1+onTick)
		}
		if got := s.Count(at.Add(-1), at); got != onTick {
			t.Fatalf("%q: Count(just before, %v) = %d, want %d", text, at, got, onTick)
		}
	})
}

// Count is the number of times that a loop over Next goes round, and Between gives
// what the loop gives.
func TestCountIsALoopOverNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, text := drawSchedule(t)
		after := drawInstant(t, "after")
		until := after.Add(time.Duration(rapid.OneOf(
			rapid.Int64Range(-int64(time.Hour), int64(6*time.Hour)),
			rapid.Int64Range(0, int64(40*24*time.Hour)),
			rapid.Int64Range(0, int64(20*366*24*time.Hour)),
		).Draw(t, "span")))

		var want []time.Time
		for tick := s.Next(after); !tick.IsZero() && !tick.After(until) && len(want) < 3000; tick = s.Next(tick) {
			want = append(want, tick)
		}
		if len(want) == 3000 {
			until = want[len(want)-1]
		}
		if got := s.Count(after, until); got != len(want) {
			t.Fatalf("%q: Count(%v, %v) = %d, want %d", text, after, until, got, len(want))
		}
		if got := slices.Collect(s.Between(after, until)); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%q: Between(%v, %v) = %v, want %v", text, after, until, got, want)
		}
		var last time.Time
		if len(want) > 0 {
			last = want[len(want)-1]
		}
		if got := s.LastBetween(after, until); !got.Equal(last) {
			t.Fatalf("%q: LastBetween(%v, %v) = %v, want %v", text, after, until, got, last)
		}
	})
}

// A count over a span is the sum of the counts over its parts, however long the span
// and wherever it is cut.
func TestCountAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, text := drawSchedule(t)
		cuts := []time.Time{drawInstant(t, "a"), drawInstant(t, "b"), drawInstant(t, "c")}
		slices.SortFunc(cuts, time.Time.Compare)
		a, b, c := cuts[0], cuts[1], cuts[2]
		if every, ok := s.Every(); ok {
			// Its grid starts from the first argument: cut on the grid.
			n := s.Count(a, b)
			if n > math.MaxInt64/int(every) {
				return
			}
			b = a.Truncate(time.Second).Add(time.Duration(n) * every)
		}
		if whole, parts := s.Count(a, c), s.Count(a, b)+s.Count(b, c); whole != parts {
			t.Fatalf("%q: Count(%v, %v) = %d, but %d up to %v and %d from there", text, a, c, whole, s.Count(a, b), b, s.Count(b, c))
		}
		if s.Count(a, c) < 0 || s.Count(c, a) != 0 && !c.Equal(a) {
			t.Fatalf("%q: Count(%v, %v) = %d, back %d", text, a, c, s.Count(a, c), s.Count(c, a))
		}
	})
}

// Past what a zone's file spells out, clocks follow the calendar: the same ticks come
// again after 400 years.
func TestTurnsOfTheCalendarAreAlike(t *testing.T) {
	later := func(t time.Time, turns int) time.Time {
		return time.Unix(t.Unix()+int64(turns)*146097*24*60*60, 0).UTC()
	}
	rapid.Check(t, func(t *rapid.T) {
		s, text := drawSchedule(t)
		if !s.Satisfiable() {
			return
		}
		at := time.Unix(rapid.Int64Range(7258118400, 20_000_000_000).Draw(t, "at"), 0).UTC()
		turns := rapid.IntRange(1, 3).Draw(t, "turns")
		if got, want := s.Next(later(at, turns)), later(s.Next(at), turns); !got.Equal(want) {
			t.Fatalf("%q: Next(%v) = %v, want %v", text, later(at, turns), got, want)
		}
	})
}

// The ticks of "@every" start from where the question does.
func TestEvery(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 0, 0, 700_000_000, time.UTC)
	whole := at.Truncate(time.Second)
	s := mustParse(t, "@every 90s", nil)
	if got, want := s.Next(at), whole.Add(90*time.Second); !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
	if got, want := s.Prev(at), whole.Add(-90*time.Second); !got.Equal(want) {
		t.Errorf("Prev = %v, want %v", got, want)
	}
	if got := s.Count(at, whole.Add(270*time.Second)); got != 3 {
		t.Errorf("Count = %d, want 3", got)
	}
	if got, want := s.LastBetween(at, whole.Add(300*time.Second)), whole.Add(270*time.Second); !got.Equal(want) {
		t.Errorf("LastBetween = %v, want %v", got, want)
	}
	if got := s.LastBetween(at, whole.Add(89*time.Second)); !got.IsZero() {
		t.Errorf("LastBetween = %v, want none", got)
	}
	longest := mustParse(t, "@every 2562047h47m16.854775807s", nil)
	if period, ok := longest.Every(); !ok || period != math.MaxInt64/time.Second*time.Second {
		t.Errorf("Every = %v, %v", period, ok)
	}
	if got := longest.Next(at); got.Year() != 2318 {
		t.Errorf("Next = %v", got)
	}
}

// Answers are in the location of what was asked, without a monotonic reading, and the
// zone of the schedule plays no part in how they are shown.
func TestLocationOfAnswers(t *testing.T) {
	tokyo := mustLoad(t, "Asia/Tokyo")
	s := mustParse(t, "TZ=Europe/Berlin 0 6 * * *", nil)
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, tokyo)
	first := func(seq iter.Seq[time.Time]) time.Time {
		for tick := range seq {
			return tick
		}
		return time.Time{}
	}
	for name, got := range map[string]time.Time{
		"Next":        s.Next(at),
		"Prev":        s.Prev(at),
		"Between":     first(s.Between(at, at.AddDate(0, 0, 2).UTC())),
		"LastBetween": s.LastBetween(at, at.AddDate(0, 0, 2).UTC()),
	} {
		if got.Location() != tokyo || got.IsZero() || got.In(time.UTC).Hour() != 4 {
			t.Errorf("%s = %v", name, got)
		}
	}
}

// The zero Schedule has no ticks and does no harm.
func TestZeroSchedule(t *testing.T) {
	var s schedule.Schedule
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	if s.Satisfiable() || !s.Next(now).IsZero() || !s.Prev(now).IsZero() || s.Count(time.Time{}, now) != 0 || !s.LastBetween(time.Time{}, now).IsZero() {
		t.Error("the zero Schedule has ticks")
	}
	for tick := range s.Between(time.Time{}, now) {
		t.Errorf("tick %v", tick)
	}
	if _, ok := s.Every(); ok {
		t.Error("the zero Schedule has a period")
	}
}

// Questions cost no memory: a controller asks them for each object at each turn.
func TestNoAllocations(t *testing.T) {
	loc := mustLoad(t, "Europe/Berlin")
	now := time.Date(2026, 5, 4, 12, 0, 0, 1, time.UTC)
	before := now.AddDate(-10, 0, 0)
	schedules := map[string]schedule.Schedule{}
	for name, expr := range benchSchedules {
		schedules[name] = mustParse(t, expr, loc)
	}
	for name, cron := range benchItems {
		schedules["item "+name] = mustCompile(t, cron, schedule.Options{Zone: loc})
	}
	for name, s := range schedules {
		if n := testing.AllocsPerRun(100, func() {
			sinkTime = s.Next(now)
			sinkTime = s.Prev(now)
			sinkTime = s.LastBetween(before, now)
			sinkInt = s.Count(before, now)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
