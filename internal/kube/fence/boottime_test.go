// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The clock that is put together from two counts a sleep that only the wall clock shows, and time that passes while the
// wall clock is set back.
func TestLonger(t *testing.T) {
	for name, test := range map[string]struct{ mono, wall, want time.Duration }{
		"time passes":                 {mono: time.Second, wall: time.Second, want: time.Second},
		"the machine sleeps":          {mono: time.Second, wall: time.Hour, want: time.Hour},
		"the wall clock is set back":  {mono: time.Second, wall: -time.Hour, want: time.Second},
		"set back in a sleep: unseen": {mono: 0, wall: -time.Minute, want: 0},
	} {
		var mono time.Duration
		wall := time.Date(2027, 3, 1, 14, 0, 0, 0, time.UTC)
		l := newLonger(func() time.Duration { return mono }, func() time.Time { return wall })
		before := l.now()
		mono += test.mono
		wall = wall.Add(test.wall)
		if got := l.now().Sub(before); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// It never goes back, and never falls behind the monotonic clock.
func TestLongerNeverSlower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var mono time.Duration
		wall := time.Unix(0, 0)
		l := newLonger(func() time.Duration { return mono }, func() time.Time { return wall })
		begin, last := l.now(), l.now()
		for _, step := range rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 20).Draw(t, "steps") {
			mono += time.Duration(step)
			wall = wall.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "wall")))
			now := l.now()
			if now < last || now.Sub(begin) < mono {
				t.Fatalf("%s after %s, and %s on the monotonic clock", now.Sub(begin), last.Sub(begin), mono)
			}
			last = now
		}
	})
}

// The system's clock goes on, and not slower than Go's. The one that stands in for it does the same.
func TestNow(t *testing.T) {
	for name, now := range map[string]func() Instant{"system": Now, "put together": systemLonger().now} {
		start, at := time.Now(), now()
		if at <= 0 {
			t.Errorf("%s: begins at %d", name, at)
		}
		last := at
		for time.Since(start) < 2*time.Millisecond {
			next := now()
			if next < last {
				t.Fatalf("%s: went back by %s", name, last.Sub(next))
			}
			last = next
		}
		passed := time.Since(start)
		if got := now().Sub(at); got < passed/2 {
			t.Errorf("%s: %s passed, want %s", name, got, passed)
		}
	}
}
