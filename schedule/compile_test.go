// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
)

type itemVector struct {
	ID        string
	Namespace string
	Timetable string
	TimeZone  string
	DST       schedule.DST
	Schedules []struct {
		Name       string
		Cron       string
		DayRule    schedule.DayRule
		EveryWeeks int
	}
	From    time.Time
	Next    []time.Time
	Exclude []string
}

// XS-, XY-, XL-, XW-, XN-, XR-, XH- and XD-: an item of cron fires at these instants one after the other, and the same
// looking back.
func TestItemVectors(t *testing.T) {
	var vectors struct{ Schedule []itemVector }
	readVectors(t, "timetable-vectors.json", &vectors)
	tried := 0
	for _, v := range vectors.Schedule {
		if !slices.Contains([]string{"XS", "XY", "XL", "XW", "XN", "XR", "XH", "XD"}, v.ID[:2]) {
			continue
		}
		tried++
		t.Run(v.ID, func(t *testing.T) {
			item := v.Schedules[0]
			s, err := schedule.Compile(schedule.Item{Name: item.Name, Cron: item.Cron}, schedule.Options{
				Zone: mustLoad(t, v.TimeZone), DayRule: item.DayRule, DST: v.DST, Hash: schedule.Hash{Namespace: v.Namespace, Name: v.Timetable},
			})
			if err != nil {
				t.Fatal(err)
			}
			last := v.Next[len(v.Next)-1]
			var next []time.Time
			for tick := s.Next(v.From); len(next) < 3 && !tick.IsZero(); tick = s.Next(tick) {
				next = append(next, tick)
			}
			if diff := cmp.Diff(v.Next, next); diff != "" {
				t.Errorf("Next (-want +got):\n%s", diff)
			}
			if got := s.Count(v.From, last); got != len(v.Next) {
				t.Errorf("Count = %d, want %d", got, len(v.Next))
			}
			if got := s.LastBetween(v.From, last); !got.Equal(last) {
				t.Errorf("LastBetween = %v, want %v", got, last)
			}
			for i := len(v.Next) - 1; i > 0; i-- {
				if got := s.Prev(v.Next[i]); !got.Equal(v.Next[i-1]) {
					t.Errorf("Prev(%v) = %v, want %v", v.Next[i], got, v.Next[i-1])
				}
			}
		})
	}
	if tried < 90 {
		t.Errorf("only %d vectors", tried)
	}
}

// With Skip and Both, what is an ordinary schedule of batch/v1 names the same instants in a Timetable (CJ-016).
func TestItemsAreSchedules(t *testing.T) {
	var vectors parseVectors
	readVectors(t, "cron-parse-vectors.json", &vectors)
	for _, v := range vectors.Sequences {
		t.Run(v.Name, func(t *testing.T) {
			zone := mustLoad(t, v.TimeZone)
			if strings.Contains(v.Schedule, "TZ=") || strings.HasPrefix(v.Schedule, "@every") {
				return
			}
			s := mustCompile(t, v.Schedule, schedule.Options{Zone: zone, DST: batchV1})
			var next []time.Time
			for tick := s.Next(v.From); len(next) < len(v.Next); tick = s.Next(tick) {
				next = append(next, tick)
			}
			if diff := cmp.Diff(v.Next, next); diff != "" {
				t.Errorf("Next (-want +got):\n%s", diff)
			}
		})
	}
}

var batchV1 = schedule.DST{Gap: schedule.GapSkip, Overlap: schedule.OverlapBoth}

// Day by day: which days an item names is what its words say.
func TestDaysOfItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawItemModel(t, false)
		// Midnight stands for the day.
		fields := strings.Fields(m.text)
		m.text = "0 0 " + strings.Join(fields[2:], " ")
		midnight := func(hour int) []func(time.Time) bool {
			return []func(time.Time) bool{func(wall time.Time) bool { return wall.Hour() == hour && wall.Minute() == hour }}
		}
		m.fields["hour"], m.fields["minute"] = midnight(0), midnight(0)
		from := time.Date(rapid.IntRange(1970, 2199).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		until := from.AddDate(1, 1, 0)
		var want []time.Time
		for day := from.AddDate(0, 0, 1); !day.After(until); day = day.AddDate(0, 0, 1) {
			if m.matches(day) {
				want = append(want, day)
			}
		}
		s := mustCompile(t, m.text, m.options(nil, schedule.DST{}))
		if err := check(s, from, until, want, []time.Time{from.AddDate(0, 3, 0), from.AddDate(0, 7, 1)}); err != nil {
			t.Fatalf("%q %s: %v", m.text, m.dayRule, err)
		}
	})
}

// The last year that can be named has an end in every zone, and the first a beginning.
func TestYearsEnd(t *testing.T) {
	for _, zone := range zonesWithEdges {
		loc := mustLoad(t, zone)
		s := mustCompile(t, "59 59 23 * * * *", schedule.Options{Zone: loc})
		first, last := time.Date(1970, 1, 1, 23, 59, 59, 0, loc), time.Date(2199, 12, 31, 23, 59, 59, 0, loc)
		if got := s.Next(time.Unix(-1<<40, 0)); !got.Equal(first) {
			t.Errorf("%s: first = %v", zone, got)
		}
		if got := s.Prev(time.Unix(1<<40, 0)); !got.Equal(last) {
			t.Errorf("%s: last = %v", zone, got)
		}
		if got := s.Next(last); !got.IsZero() {
			t.Errorf("%s: after the last = %v", zone, got)
		}
		if got := s.Prev(first); !got.IsZero() {
			t.Errorf("%s: before the first = %v", zone, got)
		}
		whole, parts := s.Count(time.Unix(-1<<50, 0), time.Unix(1<<50, 0)), s.Count(first.Add(-1), last)
		if whole != parts || whole < 84_006-10 || whole > 84_006 {
			t.Errorf("%s: %d times in all, %d from the first to the last", zone, whole, parts)
		}
	}
}

// The first time of the first year and the last of the last year come again where the clock is put back then.
func TestYearsEndTwice(t *testing.T) {
	both := schedule.DST{Overlap: schedule.OverlapBoth}
	end := zoneByRule(t, "STD0DST,100/0,J365/23") // 31 December 23:00 to 22:00
	last := mustCompile(t, "0 30 22 31 12 * *", schedule.Options{Zone: end, DST: both})
	first, again := time.Date(2199, 12, 31, 21, 30, 0, 0, time.UTC), time.Date(2199, 12, 31, 22, 30, 0, 0, time.UTC)
	if got := last.Next(first); !got.Equal(again) {
		t.Errorf("Next(%v) = %v", first, got)
	}
	if got := last.Next(again); !got.IsZero() {
		t.Errorf("Next(%v) = %v", again, got)
	}
	begin := zoneByRule(t, "STD0DST,100/0,J1/1") // 1 January 01:00 to 00:00
	earliest := mustCompile(t, "0 30 0 1 1 * *", schedule.Options{Zone: begin, DST: both})
	first, again = time.Date(1969, 12, 31, 23, 30, 0, 0, time.UTC), time.Date(1970, 1, 1, 0, 30, 0, 0, time.UTC)
	for _, at := range []time.Time{again, again.Add(-15 * time.Minute)} {
		if got := earliest.Prev(at); !got.Equal(first) {
			t.Errorf("Prev(%v) = %v", at, got)
		}
	}
	if got := earliest.Prev(first); !got.IsZero() {
		t.Errorf("Prev(%v) = %v", first, got)
	}
}

// Whether an item names a date at all is known when it is compiled.
func TestItemsThatNameNothing(t *testing.T) {
	for cron, want := range map[string]bool{
		"0 0 30 2 *":             false, // VV-29
		"0 0 31W 2,4,6,9,11 *":   false,
		"0 0 L-30 2 *":           false,
		"0 0 L-28 2 *":           true, // in leap years
		"0 0 29W 2 *":            true,
		"0 0 0 29 2 * 2027":      false,
		"0 0 0 29 2 * 2100":      false,
		"0 0 0 29 2 * 2027,2028": true,
		"0 0 0 1 1 1#2 1980":     true, // either
	} {
		if got := mustCompile(t, cron, schedule.Options{}).Satisfiable(); got != want {
			t.Errorf("%q: %v", cron, got)
		}
	}
	if mustCompile(t, "0 0 1 1 1#2", schedule.Options{DayRule: schedule.DayRuleBoth}).Satisfiable() {
		t.Error("the first of January is a second Monday")
	}
}

// A refusal names the item, the field and the value, and says what to write. The first are those of timetable.md 10.
func TestCompileErrors(t *testing.T) {
	const mainItem = "schedule main: "
	cases := map[string]string{
		"60 * * * *":       "minute 60 is out of range 0-59",                                                       // VV-19
		"0 0 * * 8":        "day of week 8 is out of range 0-7 (0 and 7 are Sunday)",                               // VV-21
		"0 0 * * L":        "day of week L alone means two things; write 6 for Saturday or 5L for the last Friday", // VV-23
		"0 0 1-15W * *":    "day of month 1-15W is a range with W; W takes one day",                                // VV-24
		"0 0 * * 5#6":      "day of week 5#6: no month has a sixth Friday; use 1-5 or L",                           // VV-25
		"H/61 * * * *":     "minute H/61 has a step outside 1-60",                                                  // VV-26
		"0 , * * *":        "hour has an empty list item; write a value between two commas, or one comma",          // VV-28
		"0 0 * * +1":       "day of week +1 has a plus sign; write the number alone",                               // VV-88
		"@every 5m":        "descriptor @every is no part of cron; use every, as in every: 90m",                    // VV-16
		"@reboot":          "descriptor @reboot is unknown; use @yearly, @monthly, @weekly, @daily or @hourly",     // VV-17
		"TZ=UTC 0 2 * * *": "time zone TZ=UTC is no part of cron; use timeZone",                                    // VV-18
		"0 2 * *": "has 4 fields; want the five fields minute hour day-of-month month day-of-week; " +
			"a sixth is seconds and comes first, a seventh is the year and comes last", // VV-11
		"0 0 2 * * * 2027 1": "has 8 fields; want the five fields minute hour day-of-month month day-of-week; " +
			"a sixth is seconds and comes first, a seventh is the year and comes last", // VV-14
		"": "has 0 fields; want the five fields minute hour day-of-month month day-of-week; " +
			"a sixth is seconds and comes first, a seventh is the year and comes last", // VV-10

		"60 0 0 * * *":                 "second 60 is out of range 0-59",
		"0 0 0 1 1 * 2200":             "year 2200 is out of range 1970-2199",
		"0 0 0 1 1 * 2030-2027":        "year 2030-2027 runs backwards, and years do not come again; write A-B with A up to B",
		"0 0 0 1 1 * H":                "year H has an H, which a year does not take; use 1970-2199",
		"0 0 0 * *":                    "day of month 0 is out of range 1-31",
		"0 0 1,,15 * *":                "day of month has an empty list item; write a value between two commas, or one comma",
		"0 0 *-5 * *":                  "day of month *-5 has something behind the star; write * for all values, or A-B",
		"+5 0 * * *":                   "minute +5 has a plus sign; write the number alone",
		"*/+5 0 * * *":                 "minute */+5 has a plus sign; write the number alone",
		"*/0 * * * *":                  "minute */0 has step 0; a step is at least 1",
		"H/0 * * * *":                  "minute H/0 has a step outside 1-60",
		"* H(0-5)/7 * * *":             "hour H(0-5)/7 has a step outside 1-6",
		"1/2/3 * * * *":                "minute 1/2/3 has more than one step; write A-B/S",
		"*/x * * * *":                  "minute */x has a step that is not a number; write A-B/S",
		"1-2-3 * * * *":                "minute 1-2-3 has more than one hyphen; write A-B",
		"H5 * * * *":                   "minute H5 cannot be read; write H, H(A-B), H/S or H(A-B)/S",
		"H(5) * * * *":                 "minute H(5) cannot be read; write H, H(A-B), H/S or H(A-B)/S",
		"H(0-60) * * * *":              "minute H(0-60) is out of range 0-59",
		"0 0 * january *":              "month january is neither a number nor a three-letter name; use 1-12",
		"0 0 x * *":                    "day of month x is not a number; use 1-31",
		"0 0 L-31 * *":                 "day of month L-31 is out of range L-1 to L-30",
		"0 0 L-0 * *":                  "day of month L-0 is out of range L-1 to L-30",
		"0 0 32W * *":                  "day of month 32W is out of range 1W to 31W",
		"0 0 W * *":                    "day of month W cannot be read; write L, L-3, 15W or LW, which take no step and no range",
		"0 0 L-3W * *":                 "day of month L-3W cannot be read; write L, L-3, 15W or LW, which take no step and no range",
		"0 0 1-L * *":                  "day of month 1-L cannot be read; write L, L-3, 15W or LW, which take no step and no range",
		"0 0 L/2 * *":                  "day of month L/2 has a step, which L and W do not take",
		"0 0 * * 1-5L":                 "day of week 1-5L is a range with # or L, which take one day",
		"0 0 * * 5L/2":                 "day of week 5L/2 has a step, which L does not take",
		"0 0 * * 5#2/2":                "day of week 5#2/2 has a step, which # and L do not take",
		"0 0 * * 5#0":                  "day of week 5#0: what follows # is 1-5, or L for the last",
		"0 0 * * 8#1":                  "day of week 8#1 is out of range 0-7 (0 and 7 are Sunday)",
		"0 0 * * #1":                   "day of week #1 is neither a number nor a three-letter name; use 0-7 (0 and 7 are Sunday)",
		"0 0 15#1 * *":                 "day of month 15#1 is not a number; use 1-31",
		"L 0 * * *":                    "minute L is not a number; use 0-59",
		"0 0 99999999999999999999 * *": "day of month 99999999999999999999 is too large",
	}
	for cron, want := range cases {
		t.Run(cron, func(t *testing.T) {
			s, err := schedule.Compile(schedule.Item{Name: "main", Cron: cron}, schedule.Options{})
			var perr *schedule.ParseError
			if !errors.As(err, &perr) || perr.Name != "main" || perr.Schedule != cron || s != (schedule.Schedule{}) {
				t.Fatalf("error = %#v", err)
			}
			if perr.Error() != mainItem+want {
				t.Errorf("text:\n got %s\nwant %s", perr, mainItem+want)
			}
		})
	}
}

// What is written in another way, and means the same.
func TestItemsThatAreTheSame(t *testing.T) {
	from := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for a, b := range map[string]string{
		" \t@daily ":      "0 0 * * *",
		"0 0 * * 7":       "0 0 * * 0", // VV-20
		"0 0 * * 7-7":     "0 0 * * SUN",
		"0 0 * * 0-7":     "0 0 * * *",
		"0 0 * * FRI-SUN": "0 0 * * 5-7",
		"0 0 * * 1-7/3":   "0 0 * * 1,4,7",
		"0 0 * * 7/2":     "0 0 * * 0,2,4,6",
		"22-2 * * * *":    "22-59,0-2 * * * *", // VV-27
		"0 0 28-3 * *":    "0 0 28,29,30,31,1,2,3 * *",
		"0 0 1 11-2/2 *":  "0 0 1 NOV,JAN *",
		"0 0 * * fri#l":   "0 0 * * 5L",
		"0 0 0 ? * ? *":   "0 0 * * *",
		"0/99 0 * * *":    "0 0 * * *",
	} {
		one, other := mustCompile(t, a, schedule.Options{}), mustCompile(t, b, schedule.Options{})
		x, y := from, from
		for range 100 {
			if x, y = one.Next(x), other.Next(y); !x.Equal(y) {
				t.Errorf("%q: %v, %q: %v", a, x, b, y)
				break
			}
		}
	}
}

// No text does harm: it is an item or a typed, short, printable error, and what a CronJob and a Timetable both take
// names the same instants in both, but for five accidents that a Timetable refuses.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"*/5 * * * *", "0 9 L-3,15W,LW * 5#2", "H H(22-3)/2 H/7 * FRI-MON/2", "30 59 23 ? NOV-FEB 7L 2027/2", "@daily", "TZ=UTC 0 2 * * *",
		"0 0 * * 0-7/7", "H(1-7) * * * *", "0 , * * *", "+1 * * * *", "*-1 * * * *", "@every 1h", "0 0 0 29 2 * 2099-2101",
	} {
		f.Add(seed, int64(1774746000), byte(1), "main")
	}
	zones := []string{"UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana"}
	overlaps := []schedule.Overlap{schedule.OverlapFirst, schedule.OverlapLast, schedule.OverlapBoth}
	f.Fuzz(func(t *testing.T, cron string, sec int64, choice byte, name string) {
		o := schedule.Options{Zone: mustLoad(t, zones[int(choice)%len(zones)]), Hash: schedule.Hash{Namespace: "ops", Name: name}}
		o.DST.Overlap = overlaps[int(choice>>4)%len(overlaps)]
		s, err := schedule.Compile(schedule.Item{Name: name, Cron: cron}, o)
		theirs, refused := schedule.Parse(cron, o.Zone)
		if err != nil {
			var perr *schedule.ParseError
			if !errors.As(err, &perr) || perr.Schedule != cron || perr.Name != name || s != (schedule.Schedule{}) {
				t.Fatalf("Compile(%q) = %#v", cron, err)
			}
			if text := err.Error(); len(text) > 2000 || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00\x1b") {
				t.Fatalf("Compile(%q): %q", cron, text)
			}
			accident := strings.Contains(cron, "TZ=") || strings.Contains(cron, "@every") || strings.Contains(cron, "+") ||
				strings.Contains(cron, ",") || strings.Contains(cron, "*-") || strings.Contains(cron, "?-")
			if refused == nil && !accident {
				t.Fatalf("Parse takes %q, and Compile says %v", cron, err)
			}
			return
		}
		at := time.Unix(sec, 0)
		if refused == nil {
			o.DST = batchV1
			same, _ := schedule.Compile(schedule.Item{Name: name, Cron: cron}, o)
			if same.Satisfiable() != theirs.Satisfiable() || !same.Next(at).Equal(theirs.Next(at)) || !same.Prev(at).Equal(theirs.Prev(at)) {
				t.Fatalf("%q: Next(%v) = %v, Parse says %v", cron, at, same.Next(at), theirs.Next(at))
			}
		} else if !strings.Contains(refused.Error(), "a Timetable takes this schedule") {
			t.Fatalf("Parse(%q) does not say that a Timetable takes it: %v", cron, refused)
		}
		next, prev := s.Next(at), s.Prev(at)
		if year := at.Year(); year < 1 || year > 9999 || next.IsZero() || prev.IsZero() {
			return
		}
		if !next.After(at) || !prev.Before(at) || s.Count(at, next) != 1 || !s.LastBetween(at, next).Equal(next) {
			t.Fatalf("%q: at %v Next %v, Prev %v, Count %d, LastBetween %v", cron, at, next, prev, s.Count(at, next), s.LastBetween(at, next))
		}
	})
}
