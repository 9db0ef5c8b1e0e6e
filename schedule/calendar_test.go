// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Second by second: the first and the last match, and how many there are, of rules with any sets of seconds, minutes,
// hours and days.
func TestRuleAgainstSeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := func(label string, size int) uint64 {
			all := uint64(1)<<size - 1
			return rapid.OneOf(
				rapid.SampledFrom([]uint64{all, 1, 1 << (size - 1), 0b1010, all &^ 1}),
				rapid.Uint64Range(0, all),
			).Draw(t, label)
		}
		seconds, minutes, hours := set("seconds", 60), set("minutes", 60), set("hours", 24)
		dom, dow := set("days of month", 31)<<1, set("days of week", 7)
		either := rapid.Bool().Draw(t, "either")
		r := newRule(seconds, minutes, hours, newDates(nil, 1<<13-2, daysByFields(dom, dow, either)), utcZone)
		matches := func(sec int64) bool {
			at := time.Unix(sec, 0).UTC()
			byMonth, byWeek := dom>>at.Day()&1 != 0, dow>>at.Weekday()&1 != 0
			return seconds>>at.Second()&1 != 0 && minutes>>at.Minute()&1 != 0 && hours>>at.Hour()&1 != 0 &&
				(byMonth && byWeek || either && (byMonth || byWeek))
		}

		// Around the full hour, which is often midnight.
		from := rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "hour")*3600 + rapid.Int64Range(-200, 100).Draw(t, "second")
		to := from + rapid.Int64Range(0, 400).Draw(t, "span")
		n, first, last := int64(0), int64(-1), int64(-1)
		for sec := from; sec < to; sec++ {
			if matches(sec) {
				if n++; n == 1 {
					first = sec
				}
				last = sec
			}
		}
		if got := r.between(from, to); got != n {
			t.Fatalf("between(%d, %d) = %d, want %d", from, to, got, n)
		}
		if got := r.between(to, from); got != -n {
			t.Fatalf("between(%d, %d) = %d, want %d", to, from, got, -n)
		}
		got, ok := r.first(from)
		if ok && !matches(got) || n > 0 && (!ok || got != first) || n == 0 && ok && got < to {
			t.Fatalf("first(%d) = %d, %v, want %d of %d", from, got, ok, first, n)
		}
		got, ok = r.last(to - 1)
		if ok && !matches(got) || n > 0 && (!ok || got != last) || n == 0 && to > from && ok && got >= from {
			t.Fatalf("last(%d) = %d, %v, want %d of %d", to-1, got, ok, last, n)
		}
	})
}
