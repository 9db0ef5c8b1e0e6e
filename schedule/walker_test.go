// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

// zonesWithEdges are zones whose clocks have done what clocks can do.
var zonesWithEdges = []string{
	"UTC",
	"Europe/Berlin",       // the usual
	"America/New_York",    // the usual, the other way
	"America/Sao_Paulo",   // midnight does not exist
	"Africa/Cairo",        // midnight does not exist, and 23:xx comes twice
	"America/Havana",      // midnight comes twice
	"Australia/Lord_Howe", // half an hour
	"Antarctica/Troll",    // two hours
	"Europe/Dublin",       // winter time is the exception
	"Africa/Casablanca",   // changes listed to 2087
	"Pacific/Apia",        // a day that does not exist
	"Pacific/Kwajalein",   // the same
	"Asia/Kathmandu",      // a quarter of an hour
	"Asia/Pyongyang",      // half an hour, and back
	"America/Caracas",     // the same
	"America/Nuuk",        // changes on the eve
	"Asia/Gaza",           // changes around Ramadan
	"Africa/Monrovia",     // offset with seconds until 1972
	"Antarctica/Vostok",   // changes without a rule
	"Pacific/Kiritimati",  // UTC+14
	"Africa/Juba",         // a change of its own
	"Etc/GMT+12",          // fixed
	"America/Argentina/Ushuaia",
}

// edges lists the changes of a zone's offset in a span.
func edges(loc *time.Location, from, to time.Time) []time.Time {
	var out []time.Time
	for t := from; ; {
		_, end := t.In(loc).ZoneBounds()
		if end.IsZero() || end.After(to) {
			return out
		}
		if !end.After(t) {
			end = t.Add(24 * time.Hour) // the last day of a leap year; see zone.go
		}
		_, before := end.Add(-1).In(loc).Zone()
		if _, after := end.In(loc).Zone(); before != after {
			out = append(out, end)
		}
		t = end
	}
}

// check compares every question about a span with the list of its ticks.
func check(s schedule.Schedule, after, until time.Time, want []time.Time, inside []time.Time) error {
	got := slices.Collect(s.Between(after, until))
	if !slices.EqualFunc(want, got, time.Time.Equal) {
		return fmt.Errorf("Between(%v, %v) (-want +got):\n%s", after, until, cmp.Diff(want, got))
	}
	if n := s.Count(after, until); n != len(want) {
		return fmt.Errorf("Count(%v, %v) = %d, want %d", after, until, n, len(want))
	}
	var last time.Time
	if len(want) > 0 {
		last = want[len(want)-1]
	}
	if tick := s.LastBetween(after, until); !tick.Equal(last) {
		return fmt.Errorf("LastBetween(%v, %v) = %v, want %v", after, until, tick, last)
	}
	for _, at := range inside {
		next, found := slices.BinarySearchFunc(want, at, time.Time.Compare)
		if found {
			next++
		}
		if next < len(want) {
			if tick := s.Next(at); !tick.Equal(want[next]) {
				return fmt.Errorf("Next(%v) = %v, want %v", at, tick, want[next])
			}
		} else if tick := s.Next(at); !tick.IsZero() && !tick.After(until) {
			return fmt.Errorf("Next(%v) = %v, want none up to %v", at, tick, until)
		}
		if found {
			next--
		}
		if next > 0 {
			if tick := s.Prev(at); !tick.Equal(want[next-1]) {
				return fmt.Errorf("Prev(%v) = %v, want %v", at, tick, want[next-1])
			}
		} else if tick := s.Prev(at); tick.After(after) {
			return fmt.Errorf("Prev(%v) = %v, want none after %v", at, tick, after)
		}
		if n := s.Count(after, at); n != next+btoi(found) {
			return fmt.Errorf("Count(%v, %v) = %d, want %d", after, at, n, next+btoi(found))
		}
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Around any change of any clock, and anywhere else, the ticks are exactly the
// instants at which the clock shows a matching minute.
func TestAgainstWalker(t *testing.T) {
	spans := []struct{ from, to time.Time }{
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)},
		// Where the list of a zone's changes folds, and behind.
		{time.Date(2196, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2205, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2596, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2605, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(9990, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, zone := range zonesWithEdges {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := mustLoad(t, zone)
			var changes [4][]time.Time
			for i, span := range spans {
				changes[i] = edges(loc, span.from, span.to)
			}
			rapid.Check(t, func(t *rapid.T) {
				m := drawModel(t)
				// Most draws are about the time in which people live.
				i := max(rapid.IntRange(-6, len(spans)-1).Draw(t, "span"), 0)
				centre := spans[i].from.Add(time.Duration(rapid.Int64Range(0, int64(spans[i].to.Sub(spans[i].from))).Draw(t, "instant")))
				if len(changes[i]) > 0 && rapid.IntRange(0, 3).Draw(t, "at a change") > 0 {
					centre = rapid.SampledFrom(changes[i]).Draw(t, "change")
				}
				shift := time.Duration(rapid.Int64Range(-int64(15*time.Hour), int64(15*time.Hour)).Draw(t, "shift"))
				if rapid.Bool().Draw(t, "whole minutes") {
					shift = shift.Truncate(time.Minute)
				}
				after := centre.Add(shift - 12*time.Hour)
				until := centre.Add(shift + 12*time.Hour)
				step := time.Minute
				if zone == "Africa/Monrovia" {
					step = 30 * time.Second
				}
				ticks := m.walk(loc, after, until, step)

				var inside []time.Time
				for i := range 12 {
					inside = append(inside, after.Add(time.Duration(i)*2*time.Hour+17*time.Minute+5*time.Second))
				}
				inside = append(inside, centre, centre.Add(-1), centre.Add(time.Minute))
				if len(ticks) > 0 {
					tick := ticks[len(ticks)/2]
					inside = append(inside, tick, tick.Add(-1), tick.Add(1))
				}
				inside = slices.DeleteFunc(inside, func(at time.Time) bool { return at.Before(after) || at.After(until) })
				if err := check(mustParse(t, m.text, loc), after, until, ticks, inside); err != nil {
					t.Fatalf("%q in %s: %v", m.text, zone, err)
				}
			})
		})
	}
}

// In the years before clocks agreed on whole hours, zones have offsets with odd
// seconds. A tick is where the clock shows second 0.
func TestAgainstWalkerBeforeStandardTime(t *testing.T) {
	cases := map[string]time.Time{
		"Europe/Berlin":    time.Date(1893, 3, 31, 23, 6, 32, 0, time.UTC),
		"Europe/Amsterdam": time.Date(1937, 6, 30, 23, 40, 28, 0, time.UTC),
		"America/New_York": time.Date(1883, 11, 18, 17, 0, 0, 0, time.UTC),
		"America/Juneau":   time.Date(1867, 10, 19, 15, 33, 32, 0, time.UTC),
		"Asia/Manila":      time.Date(1844, 12, 31, 15, 56, 8, 0, time.UTC),
		"Africa/Monrovia":  time.Date(1972, 1, 7, 0, 44, 30, 0, time.UTC),
	}
	for zone, change := range cases {
		t.Run(zone, func(t *testing.T) {
			loc := mustLoad(t, zone)
			rapid.Check(t, func(t *rapid.T) {
				m := drawModel(t)
				after := change.Add(-time.Duration(rapid.Int64Range(0, int64(4*time.Hour)).Draw(t, "before")))
				until := after.Add(5 * time.Hour)
				inside := []time.Time{after, change.Add(-1), change, change.Add(1), until}
				inside = slices.DeleteFunc(inside, func(at time.Time) bool { return at.Before(after) || at.After(until) })
				err := check(mustParse(t, m.text, loc), after, until, m.walk(loc, after, until, time.Second), inside)
				if err != nil {
					t.Fatalf("%q: %v", m.text, err)
				}
			})
		})
	}
}

// Over more than a year, through many changes of the clock, nothing is lost or counted twice.
func TestAgainstWalkerOverYears(t *testing.T) {
	if testing.Short() {
		t.Skip("walks minutes by the million")
	}
	for _, zone := range []string{"Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := mustLoad(t, zone)
			after := time.Date(2007, 8, 9, 10, 11, 12, 0, time.UTC)
			until := after.AddDate(1, 3, 0)
			for seed := range 3 {
				m := rapid.Custom(drawModel).Example(seed)
				if err := check(mustParse(t, m.text, loc), after, until, m.walk(loc, after, until, time.Minute), nil); err != nil {
					t.Errorf("%q: %v", m.text, err)
				}
			}
		})
	}
}
