// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

// The names that cronjob.md 3.1 calls loadable load, and no others.
func TestLoadZone(t *testing.T) {
	cases := map[string]struct {
		name string
		want *time.Location // nil: an error
	}{
		"empty":              {"", time.UTC},
		"UTC":                {"UTC", time.UTC},
		"Local":              {"Local", time.Local},
		"unknown":            {"Mars/Olympus", nil},
		"dots":               {"Europe/../UTC", nil},
		"slash in front":     {"/etc/localtime", nil},
		"backslash in front": {`\etc`, nil},
		"a folder":           {"Europe", nil},
		"blank behind":       {"Europe/Berlin ", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			loc, err := schedule.LoadZone(tc.name)
			if tc.want != nil {
				if err != nil || loc != tc.want {
					t.Fatalf("= %v, %v", loc, err)
				}
				return
			}
			var zerr *schedule.ZoneError
			if !errors.As(err, &zerr) || zerr.Name != tc.name || loc != nil {
				t.Fatalf("= %v, %#v", loc, err)
			}
		})
	}
}

// A zone is read once and shared, also when many ask at once.
func TestZonesAreShared(t *testing.T) {
	want := mustLoad(t, "Europe/Vienna")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			loc, err := schedule.LoadZone("Europe/Vienna")
			if err != nil || loc != want {
				t.Errorf("= %p, %v, want %p", loc, err, want)
			}
			s, err := schedule.Parse("TZ=Europe/Vienna 0 12 * * *", nil)
			if err != nil || s.Next(time.Unix(0, 0)).Unix() != 39600 {
				t.Errorf("%v, %v", s.Next(time.Unix(0, 0)), err)
			}
		})
	}
	group.Wait()
}

// The zone of the process serves like any other.
func TestLocal(t *testing.T) {
	at := time.Date(2026, 5, 4, 13, 0, 0, 0, time.Local)
	for _, s := range []schedule.Schedule{mustParse(t, "0 12 * * *", time.Local), mustParse(t, "TZ=Local 0 12 * * *", nil)} {
		if got := s.Next(at); got.Hour() != 12 || got.Day() != 5 || got.Location() != time.Local {
			t.Errorf("Next = %v", got)
		}
	}
}

// A fixed offset is a zone, however odd.
func TestFixedZones(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offset := rapid.IntRange(-100_000, 100_000).Draw(t, "offset")
		loc := time.FixedZone("x", offset)
		m := drawModel(t)
		after := time.Unix(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "after"), 0)
		until := after.Add(3 * time.Hour)
		if err := check(mustParse(t, m.text, loc), after, until, m.walk(loc, after, until, time.Second), nil); err != nil {
			t.Fatalf("%q: %v", m.text, err)
		}
	})
}

// zoneByRule makes a location that follows one rule for all time.
func zoneByRule(t *testing.T, rule string) *time.Location {
	t.Helper()
	header := func() []byte {
		h := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, 0, 1, 4} { // one kind of time, a name of 4 bytes
			h = binary.BigEndian.AppendUint32(h, n)
		}
		return append(h, 0, 0, 0, 0, 0, 0, 'S', 'T', 'D', 0)
	}
	data := append(header(), header()...)
	data = append(data, "\n"+rule+"\n"...)
	loc, err := time.LoadLocationFromTZData("Test/"+rule, data)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// A clock that is put forward on the same date each year never shows 00:30 of that
// date. The search for it ends, and the count is 0; the minutes around it are there.
func TestDateThatIsAlwaysSkipped(t *testing.T) {
	loc := zoneByRule(t, "STD0DST,J81/0,J264/0") // 22 March 00:00 to 01:00, back on 21 September
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	if got := time.Date(2026, 3, 22, 0, 0, 0, 0, time.UTC).In(loc).Hour(); got != 1 {
		t.Fatalf("the zone shows hour %d", got)
	}

	skipped := mustParse(t, "30 0 22 3 *", loc)
	for _, at := range []time.Time{at, at.AddDate(5000, 0, 0), time.Unix(1<<54, 0)} {
		if got := skipped.Next(at); !got.IsZero() {
			t.Errorf("Next(%v) = %v", at, got)
		}
		if got := skipped.Prev(at); got.Year() > 1970 {
			t.Errorf("Prev(%v) = %v", at, got)
		}
		if got := skipped.Count(time.Unix(0, 0), at); got != 0 {
			t.Errorf("Count up to %v = %d", at, got)
		}
	}
	if got, want := mustParse(t, "30 1 22 3 *", loc).Next(at), time.Date(2027, 3, 22, 0, 30, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Next = %v, want %v", got, want)
	}
	twice := mustParse(t, "30 23 20 9 *", loc)
	if got := twice.Count(at, at.AddDate(100, 0, 0)); got != 200 {
		t.Errorf("Count of a minute that comes twice = %d in 100 years", got)
	}
}

// Rules of any form hold for any year: also changes at new year, in leap years, and a
// summer time that is earlier than winter time.
func TestZonesByRule(t *testing.T) {
	for _, rule := range []string{
		"STD0DST,M3.5.0,M10.5.0", "STD5DST,M3.2.0/2,M11.1.0/2", "STD-10:30DST-11,M10.1.0,M4.1.0",
		"STD0DST,J60/0,J300/0", "STD0DST,59/0,300/0", "STD-1DST0,M10.5.0,M3.5.0/1", "STD3DST,M1.1.0/0,M12.5.0/24",
		"STD0DST-2,M2.5.4/23,M2.5.6/26", "STD12DST,0/0,364/0", "STD0:30:15DST,M5.1.1/1:15,M6.3.3/-3",
	} {
		t.Run(rule, func(t *testing.T) {
			loc := zoneByRule(t, rule)
			from, to := time.Date(1971, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2700, 1, 1, 0, 0, 0, 0, time.UTC)
			changes := edges(loc, from, to)
			if len(changes) < 1000 {
				t.Fatalf("only %d changes", len(changes))
			}
			rapid.Check(t, func(t *rapid.T) {
				m := drawModel(t)
				after := rapid.SampledFrom(changes).Draw(t, "change").Add(-time.Duration(rapid.Int64Range(0, int64(4*time.Hour)).Draw(t, "before")))
				until := after.Add(6 * time.Hour)
				if err := check(mustParse(t, m.text, loc), after, until, m.walk(loc, after, until, 15*time.Second), nil); err != nil {
					t.Fatalf("%q: %v", m.text, err)
				}
			})
		})
	}
}

// However far ahead, clocks change each year by the zone's rule: noon of 1 June is in
// summer time, looked for from the winter before and from the one after, and a count
// over a change of the year has all its ticks.
func TestFarFuture(t *testing.T) {
	loc := mustLoad(t, "Europe/Berlin")
	june, noon := mustParse(t, "0 12 1 6 *", loc), mustParse(t, "*/20 12 * * *", loc)
	for _, first := range []int{2030, 2190, 2590, 2990, 9980, 400_000} {
		for year := first; year < first+20; year++ {
			want := time.Date(year, 6, 1, 12, 0, 0, 0, loc)
			winter, summer := time.Date(year-1, 12, 15, 0, 0, 0, 0, loc), time.Date(year, 7, 15, 12, 20, 0, 0, loc)
			if got := june.Next(winter); !got.Equal(want) {
				t.Errorf("Next(%v) = %v, want %v", winter, got, want)
			}
			if got := june.Prev(winter.AddDate(1, 0, 0)); !got.Equal(want) {
				t.Errorf("Prev(%v) = %v, want %v", winter.AddDate(1, 0, 0), got, want)
			}
			days := time.Date(year, 7, 15, 0, 0, 0, 0, time.UTC).Sub(time.Date(year-1, 12, 15, 0, 0, 0, 0, time.UTC)) / (24 * time.Hour)
			if got, want := noon.Count(winter, summer), int(days)*3+2; got != want {
				t.Errorf("Count(%v, %v) = %d, want %d", winter, summer, got, want)
			}
		}
	}
}
