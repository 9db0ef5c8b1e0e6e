// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
)

// times are the instants at which an object starts.
type times struct {
	key    timesKey
	timing cron.Timing
	// jitter is the most that a start is put off; 0 is never.
	jitter time.Duration
	// every: the times have no grid of their own, and continue the one that starts at since.
	every bool
	since time.Time
	// notBefore is the end of a suspension, in seconds since 1970; math.MinInt64 for none.
	notBefore int64
	// madeUp are how many times that pass in the suspension start at its end, beside what is planned to.
	madeUp int
}

// timesKey tells times apart.
type timesKey struct {
	timing string
	// timetable: the fingerprint is one of a Timetable, which is written otherwise than that of a CronJob.
	timetable bool
	// own is the object whose name the times depend on; "" if they do not.
	own    string
	jitter time.Duration
	// since and notBefore are those of times, in seconds.
	since, notBefore int64
	madeUp           int
}

// between gives the starts in [from, to), in seconds since 1970, in their order.
func (t *times) between(from, to int64) []int64 {
	starts := t.resumed(from, to)
	// A jitter moves a start from before this span into it. Starts keep the order of their times.
	for next := t.next(time.Unix(from, 0).Add(-t.jitter - time.Second)); !next.IsZero() && next.Unix() < to; next = t.timing.Times.Next(next) {
		start := next.Unix()
		if t.jitter > 0 {
			start = t.timing.PlannedStart(next).Unix()
		}
		if start >= max(from, t.notBefore) && start < to {
			starts = append(starts, start)
		}
	}
	return starts
}

// resumed gives the starts in [from, to) that make up for what passed in a suspension.
func (t *times) resumed(from, to int64) (starts []int64) {
	if t.notBefore >= from && t.notBefore < to {
		for range t.madeUp {
			starts = append(starts, t.notBefore)
		}
	}
	return starts
}

// next is the first scheduled time later than an instant.
func (t *times) next(after time.Time) time.Time {
	after = after.UTC()
	if !t.every {
		return t.timing.Times.Next(after)
	}
	if last := t.timing.Times.LastBetween(t.since, after); !last.IsZero() {
		return t.timing.Times.Next(last.UTC())
	}
	return t.timing.Times.Next(t.since.UTC())
}

// scheduled gives the times that are named in [from, to), before any jitter, and the one that follows them if there is
// one.
func (t *times) scheduled(from, to int64) []int64 {
	var named []int64
	for next := t.next(time.Unix(from, 0).Add(-time.Second)); !next.IsZero(); next = t.timing.Times.Next(next) {
		if named = append(named, next.Unix()); next.Unix() >= to {
			break
		}
	}
	return named
}
