// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"testing"
	"time"

	robfig "github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

// The oracle is the library behind the Kubernetes CronJob controller.

// oracle parses with the oracle. Its known panic, on a zone prefix without a blank, is
// an error here.
func oracle(expr string) (s robfig.Schedule, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return robfig.ParseStandard(expr)
}

// judge tells whether got is right as the first tick after from where the oracle says
// theirs. They may differ only where the oracle is wrong: whichever of the two is
// earlier must be a tick by definition if and only if it is ours.
func judge(spec *robfig.SpecSchedule, loc *time.Location, from, got, theirs time.Time) error {
	if !got.IsZero() && !isTick(spec, got.In(loc)) {
		return fmt.Errorf("Next(%v) = %v, where the clock shows no match", from, got.In(loc))
	}
	if !got.IsZero() && !got.After(from) {
		return fmt.Errorf("Next(%v) = %v, which is not later", from, got)
	}
	if !theirs.IsZero() && (got.IsZero() || theirs.Before(got)) && isTick(spec, theirs.In(loc)) {
		return fmt.Errorf("Next(%v) = %v misses %v", from, got.In(loc), theirs.In(loc))
	}
	return nil
}

// isTick is the definition, on the oracle's bit sets.
func isTick(s *robfig.SpecSchedule, t time.Time) bool {
	const star = 1 << 63
	has := func(bits uint64, v int) bool { return bits>>v&1 != 0 }
	if t.Second() != 0 || t.Nanosecond() != 0 || !has(s.Minute, t.Minute()) || !has(s.Hour, t.Hour()) || !has(s.Month, int(t.Month())) {
		return false
	}
	dom, dow := has(s.Dom, t.Day()), has(s.Dow, int(t.Weekday()))
	if s.Dom&star != 0 || s.Dow&star != 0 {
		return dom && dow
	}
	return dom || dow
}

// In zones that move by whole hours and never at midnight, both say the same instant
// for any expression and any time, up to the oracle's five years.
func TestSameAsRobfig(t *testing.T) {
	zones := []string{
		"UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles", "Asia/Tokyo",
		"Asia/Kolkata", "Asia/Kathmandu", "Australia/Sydney", "Pacific/Auckland", "Pacific/Kiritimati",
	}
	for _, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := mustLoad(t, zone)
			changes := edges(loc, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
			rapid.Check(t, func(t *rapid.T) {
				m := drawModel(t)
				from := time.Unix(rapid.Int64Range(946684800, 4102444800).Draw(t, "from"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
				if len(changes) > 0 && rapid.Bool().Draw(t, "at a change") {
					from = rapid.SampledFrom(changes).Draw(t, "change").Add(time.Duration(rapid.Int64Range(-int64(30*time.Hour), int64(3*time.Hour)).Draw(t, "shift")))
				}
				s := mustParse(t, m.text, loc)
				theirs, err := oracle("TZ=" + zone + " " + m.text)
				if err != nil {
					t.Fatal(err)
				}
				if !s.Satisfiable() {
					return // the oracle takes long to find nothing
				}
				for range 8 {
					got, want := s.Next(from), theirs.Next(from)
					if !got.Equal(want) && (!want.IsZero() || got.In(loc).Year() <= from.In(loc).Year()+5) {
						t.Fatalf("%q: Next(%v) = %v, the oracle says %v", m.text, from, got, want)
					}
					if from = got; from.IsZero() {
						return
					}
				}
			})
		})
	}
}

// In all other zones the two differ only where the oracle is wrong: it names an
// instant at which the clock shows something else, or passes over one at which it
// shows a match.
func TestDiffersFromRobfigOnlyWhereItIsWrong(t *testing.T) {
	for _, zone := range zonesWithEdges {
		switch zone {
		case "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati":
			continue // the oracle never comes back from the day that these skipped
		}
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc := mustLoad(t, zone)
			changes := edges(loc, time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
			rapid.Check(t, func(t *rapid.T) {
				m := drawModel(t)
				from := time.Unix(rapid.Int64Range(0, 4102444800).Draw(t, "from"), 0)
				if len(changes) > 0 && rapid.Bool().Draw(t, "at a change") {
					from = rapid.SampledFrom(changes).Draw(t, "change").Add(time.Duration(rapid.Int64Range(-int64(30*time.Hour), int64(3*time.Hour)).Draw(t, "shift")))
				}
				s := mustParse(t, m.text, loc)
				theirs, err := oracle("TZ=" + zone + " " + m.text)
				if err != nil {
					t.Fatal(err)
				}
				if !s.Satisfiable() {
					return
				}
				for range 4 {
					got := s.Next(from)
					if err := judge(theirs.(*robfig.SpecSchedule), loc, from, got, theirs.Next(from)); err != nil {
						t.Fatalf("%q: %v", m.text, err)
					}
					if from = got; from.IsZero() {
						return
					}
				}
			})
		})
	}
}

// The oracle's known faults are not ours.
func TestKnownFaults(t *testing.T) {
	cases := map[string]struct {
		expr, zone string
		from, want time.Time
	}{
		"29 February across 2100": {
			"0 0 29 2 *", "UTC",
			time.Date(2096, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2104, 2, 29, 0, 0, 0, 0, time.UTC),
		},
		"29 February across 2100, from between": {
			"0 0 29 2 *", "UTC",
			time.Date(2098, 7, 1, 0, 0, 0, 0, time.UTC), time.Date(2104, 2, 29, 0, 0, 0, 0, time.UTC),
		},
		"half an hour forward: 01:45 does exist there": {
			"45 1 * * *", "Australia/Lord_Howe",
			time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 15, 0, 0, time.UTC),
		},
		"half an hour forward: and once only": {
			"45 1 * * *", "Australia/Lord_Howe",
			time.Date(2026, 10, 3, 15, 15, 0, 0, time.UTC), time.Date(2026, 10, 4, 14, 45, 0, 0, time.UTC),
		},
		"a day that is skipped": {
			"0 12 * * *", "Pacific/Kwajalein",
			time.Date(1993, 8, 21, 0, 0, 0, 0, time.UTC), time.Date(1993, 8, 22, 0, 0, 0, 0, time.UTC),
		},
		"half an hour forward: 02:15 does not exist": {
			"15 2 * * *", "Australia/Lord_Howe",
			time.Date(2026, 10, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 4, 15, 15, 0, 0, time.UTC),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := mustParse(t, tc.expr, mustLoad(t, tc.zone))
			if got := s.Next(tc.from); !got.Equal(tc.want) {
				t.Errorf("Next = %v, want %v", got, tc.want)
			}
			if got := s.Prev(tc.want.Add(1)); !got.Equal(tc.want) {
				t.Errorf("Prev = %v, want %v", got, tc.want)
			}
		})
	}
}

// Both accept the same texts: whole expressions and mangled ones.
func TestAcceptsWhatRobfigAccepts(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		"*", "?", "/", "-", ",", "0", "1", "5", "7", "23", "24", "31", "32", "59", "60", "+3", "-0", "00012", " ", "  ", "\t", "\u2003",
		"jan", "Dec", "SUN", "sat", "mond", "fr\u0130", "L", "#", "@daily", "@every ", "1h30m", "1d", "TZ=", "CRON_TZ=", "UTC",
		"Europe/Berlin", "../x", "/etc", "Local", "* * * * *", "99999999999999999999", "0x1", "1_0", "*/9223372036854775807",
	})
	rapid.Check(t, func(t *rapid.T) {
		expr := ""
		if rapid.Bool().Draw(t, "from an expression") {
			m := drawModel(t)
			at := rapid.IntRange(0, len(m.text)).Draw(t, "at")
			expr = m.text[:at] + pieces.Draw(t, "piece") + m.text[at:]
		} else {
			for range rapid.IntRange(0, 9).Draw(t, "pieces") {
				expr += pieces.Draw(t, "piece")
			}
		}
		_, want := oracle(expr)
		if _, got := schedule.Parse(expr, nil); (got == nil) != (want == nil) {
			t.Fatalf("Parse(%q) = %v, the oracle says %v", expr, got, want)
		}
	})
}
