// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"sync"
	"time"
)

// Instant is a reading of a clock that never goes back, that nobody sets, and that goes on while the machine sleeps. It
// means nothing outside of this process.
type Instant time.Duration

// Sub is the time from other to i.
func (i Instant) Sub(other Instant) time.Duration { return time.Duration(i - other) }

// Now reads the clock: CLOCK_BOOTTIME on Linux. Elsewhere it is put together from two (longer).
func Now() Instant { return now() }

// longer is the clock where the system's own is out of reach: of two readings that follow one another the time in
// between is what passed on the monotonic clock, which may stop in sleep, or on the wall clock, which somebody may set,
// whichever is longer. So it can be fast, when the wall clock is set forward, and then something is decided once more
// than it had to be. It is slow only if the wall clock is set back during a sleep.
type longer struct {
	monotonic func() time.Duration
	wall      func() time.Time

	mu       sync.Mutex
	passed   time.Duration
	lastMono time.Duration
	lastWall time.Time
}

func newLonger(monotonic func() time.Duration, wall func() time.Time) *longer {
	return &longer{monotonic: monotonic, wall: wall, passed: 1, lastMono: monotonic(), lastWall: wall().Round(0)}
}

// systemLonger is over the clocks that Go has everywhere.
func systemLonger() *longer {
	start := time.Now()
	return newLonger(func() time.Duration { return time.Since(start) }, time.Now)
}

func (l *longer) now() Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	mono, wall := l.monotonic(), l.wall().Round(0)
	l.passed += max(mono-l.lastMono, wall.Sub(l.lastWall), 0)
	l.lastMono, l.lastWall = mono, wall
	return Instant(l.passed)
}
