// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	robfig "github.com/robfig/cron/v3"

	"github.com/carillon-dev/carillon/schedule"
)

// No text and no instant does harm: a text is a schedule or a typed, short, printable
// error, and a schedule answers every question consistently.
func FuzzParse(f *testing.F) {
	f.Add("*/5 * * * *", int64(1767225600), int64(0))
	f.Add("CRON_TZ=America/Havana 30 0 29 2 ?", int64(-62135596800), int64(1))
	f.Add("@every 1.5h", int64(1<<62), int64(999_999_999))
	f.Add("TZ=", int64(0), int64(0))
	f.Fuzz(func(t *testing.T, expr string, sec, nsec int64) {
		s, err := schedule.Parse(expr, nil)
		if err != nil {
			var perr *schedule.ParseError
			if !errors.As(err, &perr) || perr.Schedule != expr || s != (schedule.Schedule{}) {
				t.Fatalf("Parse(%q) = %#v", expr, err)
			}
			if text := err.Error(); len(text) > 2000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00\x1b") {
				t.Fatalf("Parse(%q): %q", expr, text)
			}
			return
		}
		at := time.Unix(sec, nsec)
		next, prev := s.Next(at), s.Prev(at)
		if !s.Satisfiable() {
			if !next.IsZero() || !prev.IsZero() || s.Count(at.AddDate(-1, 0, 0), at) != 0 {
				t.Fatalf("%q: Next(%v) = %v, Prev = %v without ticks", expr, at, next, prev)
			}
			return
		}
		if year := at.Year(); year < 1 || year > 9999 || next.IsZero() || prev.IsZero() {
			return
		}
		if !next.After(at) || !prev.Before(at) {
			t.Fatalf("%q: Next(%v) = %v, Prev = %v", expr, at, next, prev)
		}
		if n := s.Count(at, next); n != 1 {
			t.Fatalf("%q: Count(%v, %v) = %d", expr, at, next, n)
		}
		if tick := s.LastBetween(at, next); !tick.Equal(next) {
			t.Fatalf("%q: LastBetween(%v, %v) = %v", expr, at, next, tick)
		}
		for tick := range s.Between(at, next) {
			if !tick.Equal(next) {
				t.Fatalf("%q: Between(%v, %v) has %v", expr, at, next, tick)
			}
		}
	})
}

// Any text is accepted or refused as the oracle does, and fires when the oracle says,
// except where the oracle is wrong.
func FuzzDifferential(f *testing.F) {
	f.Add("*/5 * * * *", int64(1767225600), byte(0))
	f.Add("30 2 * * *", int64(1774746000), byte(1))
	f.Add("0 0 29 2 *", int64(3981484800), byte(2))
	f.Add("45 1 * * SUN", int64(1791000000), byte(3))
	f.Add("@weekly", int64(0), byte(4))
	f.Add("TZ=UTC", int64(0), byte(0))
	f.Add("0 0 L * *", int64(0), byte(0))
	// Without the zones that skipped a day, from which the oracle never returns.
	zones := []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Cairo", "America/Havana"}
	f.Fuzz(func(t *testing.T, expr string, sec int64, zone byte) {
		if prefixed := strings.HasPrefix(expr, "TZ=") || strings.HasPrefix(expr, "CRON_TZ="); prefixed {
			// The zone in the text may be one of those that skipped a day.
			_, want := oracle(expr)
			if _, got := schedule.Parse(expr, nil); (got == nil) != (want == nil) {
				t.Fatalf("Parse(%q) = %v, the oracle says %v", expr, got, want)
			}
			return
		}
		loc := mustLoad(t, zones[int(zone)%len(zones)])
		s, err := schedule.Parse(expr, loc)
		// A zone in front is cut off with the blanks behind it, which matter to
		// descriptors; so parse as it is, and set the zone afterwards.
		theirs, want := oracle(expr)
		if (err == nil) != (want == nil) {
			t.Fatalf("Parse(%q) = %v, the oracle says %v", expr, err, want)
		}
		if err != nil {
			return
		}
		from := time.Unix(min(max(sec, 0), 10_000_000_000), 0).UTC()
		spec, ok := theirs.(*robfig.SpecSchedule)
		if !ok {
			if got, want := s.Next(from), theirs.Next(from); !got.Equal(want) {
				t.Fatalf("%q: Next(%v) = %v, the oracle says %v", expr, from, got, want)
			}
			return
		}
		spec.Location = loc
		if !s.Satisfiable() {
			return // the oracle takes long to find nothing
		}
		if err := judge(spec, loc, from, s.Next(from), spec.Next(from)); err != nil {
			t.Fatalf("%q in %v: %v", expr, loc, err)
		}
		// Where the clock changes seldom and by whole hours the oracle is right.
		if name := loc.String(); name == "UTC" || name == "Europe/Berlin" {
			got, want := s.Next(from), spec.Next(from)
			if !got.Equal(want) && (!want.IsZero() || got.In(loc).Year() <= from.In(loc).Year()+5) {
				t.Fatalf("%q in %v: Next(%v) = %v, the oracle says %v", expr, loc, from, got, want)
			}
		}
	})
}
