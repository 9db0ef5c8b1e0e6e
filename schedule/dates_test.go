// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever the days of a month are a function of, and in whichever years: the first and the last match, and how many
// there are, are what one finds day by day.
func TestDatesAgainstDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Few days a month, so that the search crosses months and years.
		table := map[[2]int]uint32{}
		for first := range 7 {
			for length := 28; length <= 31; length++ {
				table[[2]int{first, length}] = rapid.SampledFrom([]uint32{0, 0, 1 << 1, 1 << 29, 1 << 31, 1<<15 | 1<<28, 1<<32 - 1}).Draw(t, "days")
			}
		}
		months := rapid.SampledFrom([]uint64{0, 1 << 2, 1<<1 | 1<<12, 1<<13 - 2}).Draw(t, "months")
		var years *yearSet
		listed := map[int]bool{}
		if rapid.Bool().Draw(t, "listed years") {
			years = &yearSet{}
			for _, year := range rapid.SliceOf(rapid.IntRange(firstYear, lastYear)).Draw(t, "years") {
				years.add(year)
				listed[year] = true
			}
		}
		inMonth := func(first, length int) uint32 { return table[[2]int{first, length}] }
		d := newDates(years, months, inMonth)
		matches := func(day int64) bool {
			at := time.Unix(day*secondsPerDay, 0).UTC()
			year, month, dom := at.Date()
			if months>>month&1 == 0 || years != nil && !listed[year] {
				return false
			}
			first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday()
			length := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
			return table[[2]int{int(first), length}]>>dom&1 != 0
		}

		from := newYear(rapid.OneOf(rapid.Int64Range(1960, 2210), rapid.Int64Range(-100, 10000)).Draw(t, "year")) + rapid.Int64Range(0, 366).Draw(t, "day")
		to := from + rapid.Int64Range(0, 3000).Draw(t, "span")
		n, first, last := int64(0), int64(-1), int64(-1)
		for day := from; day < to; day++ {
			if d.matches(day) != matches(day) {
				t.Fatalf("matches(%d) = %v", day, d.matches(day))
			}
			if matches(day) {
				if n++; n == 1 {
					first = day
				}
				last = day
			}
		}
		if got := d.between(from, to); got != n {
			t.Fatalf("between(%d, %d) = %d, want %d", from, to, got, n)
		}
		if got := d.between(to, from); got != -n {
			t.Fatalf("between(%d, %d) = %d, want %d", to, from, got, -n)
		}
		got, ok := d.onOrAfter(from)
		if n > 0 && (!ok || got != first) || n == 0 && ok && (got < to || !matches(got)) {
			t.Fatalf("onOrAfter(%d) = %d, %v, want %d of %d", from, got, ok, first, n)
		}
		got, ok = d.onOrBefore(to - 1)
		if n > 0 && (!ok || got != last) || n == 0 && ok && to > from && (got >= from || !matches(got)) {
			t.Fatalf("onOrBefore(%d) = %d, %v, want %d of %d", to-1, got, ok, last, n)
		}
	})
}

// A set of listed years has an end, and days before and behind it are found from any distance.
func TestListedYears(t *testing.T) {
	years := &yearSet{}
	for _, year := range []int{1970, 2027, 2028, 2199} {
		years.add(year)
	}
	leapDays := newDates(years, 1<<2, daysByFields(1<<29, 1<<7-1, false))
	want := newYear(2028) + 59
	for _, day := range []int64{-1 << 50, 0, want} {
		if got, ok := leapDays.onOrAfter(day); !ok || got != want {
			t.Errorf("onOrAfter(%d) = %d, %v", day, got, ok)
		}
	}
	for _, day := range []int64{1 << 50, want} {
		if got, ok := leapDays.onOrBefore(day); !ok || got != want {
			t.Errorf("onOrBefore(%d) = %d, %v", day, got, ok)
		}
	}
	if _, ok := leapDays.onOrAfter(want + 1); ok {
		t.Error("a leap day after the last one")
	}
	if _, ok := leapDays.onOrBefore(want - 1); ok {
		t.Error("a leap day before the first one")
	}
	if got := leapDays.between(-1<<50, 1<<50); got != 1 {
		t.Errorf("between = %d", got)
	}
	none := &yearSet{}
	none.add(2027)
	if newDates(none, 1<<2, daysByFields(1<<29, 1<<7-1, false)).any {
		t.Error("2027 has a leap day")
	}
}
