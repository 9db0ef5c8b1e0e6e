// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

// place lists the ticks in (after, until] of what an item names by the words of timetable.md 3.2: each local time that
// matches is looked up among the instants that show it. Steps are as fine as in walk; jump is more than the clock is
// put forward or back.
func place(m *itemModel, loc *time.Location, dst schedule.DST, after, until time.Time, step, jump time.Duration) []time.Time {
	var clock []time.Time // the wall clock at each step
	shown := map[int64][]time.Time{}
	start := after.Add(-jump).Truncate(step).In(loc)
	for t := start; !t.After(until.Add(jump)); t = t.Add(step) {
		_, offset := t.Zone()
		wall := t.UTC().Add(time.Duration(offset) * time.Second)
		clock = append(clock, wall)
		if m.matches(wall) {
			shown[wall.Unix()] = append(shown[wall.Unix()], t)
		}
	}
	var ticks []time.Time
	for wall := clock[0]; !wall.After(clock[len(clock)-1]); wall = wall.Add(step) {
		if !m.matches(wall) {
			continue
		}
		switch at := shown[wall.Unix()]; {
		case !m.namesHours:
			ticks = append(ticks, at...)
		case len(at) == 0 && dst.Gap != schedule.GapSkip:
			steps := slices.IndexFunc(clock, wall.Before)
			ticks = append(ticks, start.Add(time.Duration(steps)*step))
		case len(at) == 0:
		case dst.Overlap == schedule.OverlapBoth:
			ticks = append(ticks, at...)
		case dst.Overlap == schedule.OverlapLast:
			ticks = append(ticks, at[len(at)-1])
		default:
			ticks = append(ticks, at[0])
		}
	}
	slices.SortFunc(ticks, time.Time.Compare)
	ticks = slices.CompactFunc(ticks, time.Time.Equal)
	return slices.DeleteFunc(ticks, func(t time.Time) bool { return !t.After(after) || t.After(until) })
}

// longestJump returns more than the longest of the jumps at changes of the clock.
func longestJump(loc *time.Location, changes []time.Time) time.Duration {
	longest := time.Hour
	for _, change := range changes {
		_, before := change.Add(-1).In(loc).Zone()
		_, after := change.In(loc).Zone()
		longest = max(longest, time.Duration(max(after-before, before-after))*time.Second)
	}
	return longest + time.Hour
}

func drawDST(t *rapid.T) schedule.DST {
	return schedule.DST{
		Gap:     rapid.SampledFrom([]schedule.Gap{"", schedule.GapShift, schedule.GapSkip}).Draw(t, "gap"),
		Overlap: rapid.SampledFrom([]schedule.Overlap{"", schedule.OverlapFirst, schedule.OverlapLast, schedule.OverlapBoth}).Draw(t, "overlap"),
	}
}

func mustCompile(t fataler, cron string, o schedule.Options) schedule.Schedule {
	t.Helper()
	s, err := schedule.Compile(schedule.Item{Name: "main", Cron: cron}, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// placedInside are instants to ask about around a change and around some of the ticks.
func placedInside(after, until, centre time.Time, ticks []time.Time) []time.Time {
	var inside []time.Time
	for i := range 12 {
		inside = append(inside, after.Add(time.Duration(i)*time.Hour+17*time.Minute+5*time.Second))
	}
	inside = append(inside, centre, centre.Add(-1), centre.Add(-time.Second), centre.Add(time.Minute))
	for _, i := range []int{0, len(ticks) / 3, len(ticks) / 2, len(ticks) - 1} {
		if i >= 0 && i < len(ticks) {
			inside = append(inside, ticks[i], ticks[i].Add(-1), ticks[i].Add(1))
		}
	}
	return slices.DeleteFunc(inside, func(at time.Time) bool { return at.Before(after) || at.After(until) })
}

// Around any change of any clock, with any of the rules for gaps and overlaps, the ticks are those that one finds by
// looking each local time up.
func TestPlacementAgainstWalker(t *testing.T) {
	spans := []struct{ from, to time.Time }{
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
		// Where the list of a zone's changes folds, and behind.
		{time.Date(2196, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2205, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2596, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2605, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, zone := range zonesWithEdges {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := mustLoad(t, zone)
			var changes []time.Time
			for _, span := range spans {
				changes = append(changes, edges(loc, span.from, span.to)...)
			}
			jump := longestJump(loc, changes)
			rapid.Check(t, func(t *rapid.T) {
				m, dst := drawItemModel(t, false), drawDST(t)
				centre := time.Unix(rapid.Int64Range(0, 8_000_000_000).Draw(t, "instant"), 0)
				if len(changes) > 0 && rapid.IntRange(0, 9).Draw(t, "at a change") > 0 {
					centre = rapid.SampledFrom(changes).Draw(t, "change")
				}
				shift := time.Duration(rapid.Int64Range(-int64(8*time.Hour), int64(8*time.Hour)).Draw(t, "shift"))
				if rapid.Bool().Draw(t, "whole minutes") {
					shift = shift.Truncate(time.Minute)
				}
				after, until := centre.Add(shift-6*time.Hour), centre.Add(shift+6*time.Hour)
				if rapid.IntRange(0, 4).Draw(t, "ends at the change") == 0 {
					after, until = centre.Add(-time.Hour), centre
				}
				step := time.Minute
				if zone == "Africa/Monrovia" {
					step = 30 * time.Second
				}
				ticks := place(m, loc, dst, after, until, step, jump)
				s := mustCompile(t, m.text, m.options(loc, dst))
				if err := check(s, after, until, ticks, placedInside(after, until, centre, ticks)); err != nil {
					t.Fatalf("%q in %s, %+v: %v", m.text, zone, dst, err)
				}
			})
		})
	}
}

// The same for items that name seconds.
func TestPlacementOfSeconds(t *testing.T) {
	for _, zone := range []string{"Etc/GMT+12", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := mustLoad(t, zone)
			changes := append(edges(loc, time.Unix(0, 0), time.Unix(4_000_000_000, 0)), time.Unix(1767225600, 0))
			rapid.Check(t, func(t *rapid.T) {
				m, dst := drawItemModel(t, true), drawDST(t)
				centre := rapid.SampledFrom(changes).Draw(t, "change").Add(time.Duration(rapid.IntRange(-3700, 3700).Draw(t, "shift")) * time.Second)
				after, until := centre.Add(-10*time.Minute), centre.Add(10*time.Minute)
				ticks := place(m, loc, dst, after, until, time.Second, longestJump(loc, changes))
				s := mustCompile(t, m.text, m.options(loc, dst))
				if err := check(s, after, until, ticks, placedInside(after, until, centre, ticks)); err != nil {
					t.Fatalf("%q in %s, %+v: %v", m.text, zone, dst, err)
				}
			})
		})
	}
}

// Rules of any form are placed for any year, also for changes at new year and where the list of changes folds.
func TestPlacementByRule(t *testing.T) {
	for _, rule := range []string{
		"STD0DST,M3.5.0,M10.5.0", "STD-10:30DST-11,M10.1.0,M4.1.0", "STD0DST,59/0,300/0", "STD3DST,M1.1.0/0,M12.5.0/24",
		"STD0DST,100/0,0/1", "STD0DST-2,M2.5.4/23,M2.5.6/26", "STD12DST,0/0,364/0", "STD0:30:15DST,M5.1.1/1:15,M6.3.3/-3",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			loc := zoneByRule(t, rule)
			changes := edges(loc, time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2210, 1, 1, 0, 0, 0, 0, time.UTC))
			changes = append(changes, edges(loc, time.Date(2590, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(3010, 1, 1, 0, 0, 0, 0, time.UTC))...)
			rapid.Check(t, func(t *rapid.T) {
				m, dst := drawItemModel(t, false), drawDST(t)
				centre := rapid.SampledFrom(changes).Draw(t, "change")
				after := centre.Add(-time.Duration(rapid.Int64Range(0, int64(4*time.Hour)).Draw(t, "before")))
				until := after.Add(6 * time.Hour)
				ticks := place(m, loc, dst, after, until, 15*time.Second, longestJump(loc, changes))
				s := mustCompile(t, m.text, m.options(loc, dst))
				if err := check(s, after, until, ticks, placedInside(after, until, centre, ticks)); err != nil {
					t.Fatalf("%q, %+v: %v", m.text, dst, err)
				}
			})
		})
	}
}

// With the defaults a daily time comes once on every day, in every zone and over centuries.
func TestDailyMeansDaily(t *testing.T) {
	for _, zone := range zonesWithEdges {
		loc := mustLoad(t, zone)
		for _, cron := range []string{"30 2 * * *", "0 0 * * *", "59 23 * * *", "30 0 * * *"} {
			s := mustCompile(t, cron, schedule.Options{Zone: loc})
			from, to := time.Date(2012, 1, 1, 0, 0, 0, 0, loc), time.Date(2212, 1, 1, 0, 0, 0, 0, loc)
			days := int(time.Date(2212, 1, 1, 0, 0, 0, 0, time.UTC).Sub(time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC)) / (24 * time.Hour))
			if got := s.Count(from.Add(-1), to.Add(-1)); got != days {
				t.Errorf("%q in %s: %d times on %d days", cron, zone, got, days)
			}
		}
	}
}

// A date that the clock always skips is shifted each year: the search for it and the count of it end where it lands.
func TestDateThatIsAlwaysShifted(t *testing.T) {
	loc := zoneByRule(t, "STD0DST,J81/0,J264/0") // 22 March 00:00 to 01:00, back on 21 September
	s := mustCompile(t, "30 0 22 3 *", schedule.Options{Zone: loc})
	for _, year := range []int{2026, 2199, 2200, 2599, 2600, 7000} {
		at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		want := time.Date(year, 3, 22, 0, 0, 0, 0, time.UTC)
		if got := s.Next(at); !got.Equal(want) {
			t.Errorf("Next(%v) = %v", at, got)
		}
		if got := s.Prev(at.AddDate(1, 0, 0)); !got.Equal(want) {
			t.Errorf("Prev(%v) = %v", at.AddDate(1, 0, 0), got)
		}
		if got := s.Count(at, at.AddDate(1000, 0, 0)); got != 1000 {
			t.Errorf("Count from %v = %d", at, got)
		}
	}
}
