// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// oddZones have clocks that change by half an hour, at midnight, or by a whole day, and none that are whole hours.
var oddZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Havana",
	"America/Santiago", "Asia/Beirut", "Africa/Cairo", "Pacific/Apia", "America/Sao_Paulo", "Asia/Tehran", "Antarctica/Troll"}

// someTime is a time of 2005 to 2030, often close to a change of the clock.
func someTime(r *rand.Rand, z *time.Location) time.Time {
	t := time.Date(2005, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.Int64N(int64(25 * 365 * day))))
	if _, end := t.In(z).ZoneBounds(); !end.IsZero() && r.IntN(2) == 0 {
		t = end.Add(time.Duration(r.Int64N(int64(4*day))) - 2*day)
	}
	return t.Truncate(time.Second)
}

func TestDaysFollowEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		z := zone(t, oddZones[r.IntN(len(oddZones))])
		at := someTime(r, z)
		start, next := dayStart(at, z), nextDay(at, z)
		if start.After(at) || !next.After(at) {
			t.Fatalf("the day of %v in %v is from %v until %v", at, z, start, next)
		}
		if got := dayStart(next.Add(-1), z); !got.Equal(start) {
			t.Fatalf("%v and %v are in one day of %v, and its beginnings are %v and %v", at, next.Add(-1), z, start, got)
		}
		if length := next.Sub(start); length < 20*time.Hour || length > 28*time.Hour {
			t.Fatalf("the day of %v in %v has %v", at, z, length)
		}
		if a, b := start.Add(-1).In(z), start.In(z); a.YearDay() == b.YearDay() {
			t.Fatalf("%v is within a day of %v", start, z)
		}
	}
}

func TestDaysOfTheClocksChange(t *testing.T) {
	for name, test := range map[string]struct {
		zone  string
		at    time.Time
		hours float64
	}{
		"spring in Berlin":                 {"Europe/Berlin", time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC), 23},
		"autumn in Berlin":                 {"Europe/Berlin", time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC), 25},
		"a common day":                     {"Europe/Berlin", time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC), 24},
		"half an hour on Lord Howe":        {"Australia/Lord_Howe", time.Date(2026, 4, 5, 0, 0, 0, 0, time.UTC), 24.5},
		"midnight is left out in Santiago": {"America/Santiago", time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC), 23},
		"midnight comes twice in Havana":   {"America/Havana", time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), 25},
	} {
		t.Run(name, func(t *testing.T) {
			z := zone(t, test.zone)
			if got := nextDay(test.at, z).Sub(dayStart(test.at, z)).Hours(); got != test.hours {
				t.Errorf("the day has %v hours, want %v", got, test.hours)
			}
		})
	}
}

func TestWindowsFollowEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		z := zone(t, oddZones[r.IntN(len(oddZones))])
		zoom := &zooms[r.IntN(len(zooms))]
		now := someTime(r, z)
		w := following(zoom, now, z)
		if !w.Contains(now) {
			t.Fatalf("%v is not in the window of %s in %v that follows it: %v to %v", now, zoom.Name, z, w.From, w.Until)
		}
		if part := float64(w.X(now)); part < 40 || part > 98 {
			t.Fatalf("%v is at %v%% of the window of %s in %v", now, part, zoom.Name, z)
		}
		for n := range 4 {
			next := windowFrom(zoom, zoom.later(w.From, z, 1), z)
			if !next.From.Equal(w.Until) {
				t.Fatalf("step %d: after %v to %v comes one from %v", n, w.From, w.Until, next.From)
			}
			w = next
		}
		if back := zoom.later(w.From, z, -1); !back.Before(w.From) {
			t.Fatalf("before %v comes %v", w.From, back)
		}
	}
}

func TestAxis(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		z := zone(t, oddZones[r.IntN(len(oddZones))])
		zoom := &zooms[r.IntN(len(zooms))]
		w := following(zoom, someTime(r, z), z)
		a := newAxis(w)
		about := fmt.Sprintf("%s from %v in %v", zoom.Name, w.From, z)
		var end percent
		for _, b := range a.Bands {
			if d := b.X - end; d < -1e-9 || d > 1e-9 {
				t.Fatalf("%s: a band begins at %v, the one before ends at %v", about, b.X, end)
			}
			end = b.X + b.Width
		}
		if end < 100-1e-9 || end > 100+1e-9 {
			t.Fatalf("%s: the bands end at %v", about, end)
		}
		if len(a.Ticks) < 4 || len(a.Ticks) > 40 {
			t.Fatalf("%s: %d ticks", about, len(a.Ticks))
		}
		last := percent(-1)
		for _, tick := range a.Ticks {
			if tick.X <= last || tick.X > 100 {
				t.Fatalf("%s: a tick at %v after one at %v", about, tick.X, last)
			}
			last = tick.X
		}
		for _, l := range a.Lines {
			if l.X < 0 || l.X > 100 {
				t.Fatalf("%s: a line at %v", about, l.X)
			}
		}
	}
}

func TestAxisOfAnOddDay(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	w := windowFrom(&zooms[standard], dayOf(2026, 10, 25, z), z)
	if w.Length() != 25*time.Hour {
		t.Fatalf("the window has %v", w.Length())
	}
	a := newAxis(w)
	if len(a.Bands) != 1 || a.Bands[0].Text != "Sun 25 Oct · 25 h" || !a.Bands[0].Odd {
		t.Errorf("bands %+v", a.Bands)
	}
	labels := 0
	for _, tick := range a.Ticks {
		if tick.Text == "02:00" {
			labels++
		}
	}
	if labels != 2 {
		t.Errorf("02:00 is there %d times, want twice", labels)
	}
	if want := "On Sun 25 Oct the clocks of Europe/Berlin go back by 1 hour, at 03:00."; len(a.Changes) != 1 || a.Changes[0].Text != want {
		t.Errorf("changes %+v, want %q", a.Changes, want)
	}
}

// The word "now" stands on no name of a day, which takes more of a narrow window.
func TestNowText(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	for name, test := range map[string]struct {
		now         time.Time
		desk, phone bool
	}{
		"far from it":            {time.Date(2026, 11, 30, 22, 0, 0, 0, z), true, true},
		"a little before it":     {time.Date(2026, 11, 30, 23, 10, 0, 0, z), false, false},
		"at the name":            {time.Date(2026, 12, 1, 0, 20, 0, 0, z), false, false},
		"beside it on a desk":    {time.Date(2026, 12, 1, 4, 0, 0, 0, z), true, false},
		"after it":               {time.Date(2026, 12, 1, 11, 0, 0, 0, z), true, true},
		"at the name of 25 h":    {time.Date(2026, 10, 25, 2, 30, 0, 0, z), false, false},
		"beside it on a desk, 2": {time.Date(2026, 10, 25, 9, 0, 0, 0, z), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			from := test.now.Add(-11 * time.Hour)
			if test.now.Month() == time.October {
				from = dayOf(2026, 10, 25, z)
			}
			w := windowFrom(&zooms[standard], from, z)
			v := &view{Window: w, Now: test.now, Axis: newAxis(w)}
			if desk, phone := v.NowText(), v.NowTextOnPhone(); desk != test.desk || phone != test.phone {
				t.Errorf("on a desk %v, on a phone %v at %.1f %% of %+v", desk, phone, v.NowX(), v.Axis.Bands)
			}
		})
	}
}
