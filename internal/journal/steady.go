// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"time"
)

// A clock that is wrong for a minute must not take the history away. So age removes much at once only when the clock
// has been steady for a day: as far ahead of the one that nobody sets as it was at the beginning.

const (
	// steadyTime is that day.
	steadyTime = 24 * time.Hour
	// clockSlack is by how much the clock may be set between two rounds of retention.
	clockSlack = time.Minute
	// muchShare is the part of all records that is much.
	muchShare = 10
)

// steadiness is since when a clock has been steady.
type steadiness struct {
	begun bool
	// wall and elapsed are of the last look at the clock and at the one that nobody sets; since is elapsed when it
	// began.
	wall           time.Time
	elapsed, since time.Duration
}

// look tells for how long the clock has been steady, now that it says wall.
func (s *steadiness) look(wall time.Time, elapsed time.Duration) time.Duration {
	wall = wall.Round(0) // what this process has measured is elapsed
	if set := wall.Sub(s.wall) - (elapsed - s.elapsed); !s.begun || set.Abs() > clockSlack {
		s.since = elapsed
	}
	s.begun, s.wall, s.elapsed = true, wall, elapsed
	return elapsed - s.since
}

// lookAtAge tells whether what is too old may go in this round, and warns once if it may not yet.
func (w *writer) lookAtAge() (bool, error) {
	now := w.o.Now()
	steady := w.clock.look(now, w.limits.elapsed())
	if w.o.KeepRuns <= 0 {
		return false, nil
	}
	if steady >= w.limits.steady {
		return true, nil
	}
	due, all, err := w.d.countOld(bound(now.Add(-w.o.KeepRuns)))
	if err != nil || due*muchShare <= all {
		return err == nil, err
	}
	if !w.warnedOld {
		w.warnedOld = true
		w.o.Warn(fmt.Sprintf("%d of %d records in the journal of runs are older than --keep-runs. In case the clock is wrong (it says %s) "+
			"they go only when it has been steady for a day.", due, all, now.UTC().Format(time.RFC3339)))
	}
	return false, nil
}

// countOld counts the runs and omissions that are older than a time, and all that can become so.
func (d *database) countOld(before int64) (due, all int64, err error) {
	for _, q := range []struct {
		to    *int64
		query string
		args  []any
	}{
		{&due, "SELECT count(*) FROM runs WHERE outcome <> ? AND coalesce(ended, time, 0) < ?", []any{active, before}},
		{&due, "SELECT count(*) FROM omissions WHERE seen < ?", []any{before}},
		{&all, "SELECT count(*) FROM runs WHERE outcome <> ?", []any{active}},
		{&all, "SELECT count(*) FROM omissions", nil},
	} {
		var n int64
		if _, err := d.one(q.query, q.args, &n); err != nil {
			return 0, 0, err
		}
		*q.to += n
	}
	return due, all, nil
}
