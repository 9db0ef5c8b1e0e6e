// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"math"
	"time"
)

// nextTime is the first scheduled time later than now, and not before the first one later than since; zero if there is
// none ever. Times without a grid of their own continue the one that starts at since (cronjob.md 3.7).
func nextTime(times Times, since, now time.Time) time.Time {
	if last := times.LastBetween(since, now); !last.IsZero() {
		return times.Next(last)
	}
	return times.Next(since)
}

// manyMissed: more missed times than this are many.
const manyMissed = 100

// timing is what the scheduled times say at Now.
type timing struct {
	// base is the instant up to which all is decided or waits: the cursor, or lastScheduleTime, or the creation.
	base time.Time
	// earliest is the point after which scheduled times count (cronjob.md 3.2, B2).
	earliest time.Time
	// due is the latest scheduled time that is to start, zero when there is none.
	due time.Time
	// manyMissed: more scheduled times than the constant says have passed unserved.
	manyMissed bool
}

// timingOf finds the scheduled time that is due (cronjob.md 3.2 to 3.4). Times at or before an edit do not count.
func timingOf(in *Input, times Times, status *Memory, e *edit) timing {
	t := timing{base: baseOf(in, status)}
	t.earliest = earliest(t.base, in.Policy.Deadline, in.Now)
	t.due = times.LastBetween(t.earliest, in.Now).UTC()
	if !t.due.After(e.since) {
		t.due = time.Time{}
	}
	if !t.due.IsZero() {
		t.manyMissed = times.Count(maxTime(t.earliest, e.since), in.Now) > manyMissed
	}
	return t
}

// wake is the next scheduled time. The deadline plays no part in it, an edit does. It is always later than Now.
func wake(in *Input, times Times, status *Memory, e *edit) time.Time {
	t := nextTime(times, baseOf(in, status), maxTime(in.Now, e.since))
	if !t.After(in.Now) {
		return time.Time{}
	}
	return t.UTC()
}

// firstLook is how far the first sync over an object looks back where the status holds a cursor: neither an
// installation nor a status that somebody erased makes old times run (timetable.md 5.1).
const firstLook = time.Minute

func baseOf(in *Input, status *Memory) time.Time {
	if in.Traits.Durable.Has(PartCursor) {
		if status.Cursor != nil {
			if status.Cursor.Sub(in.Now) > maxLead { // not believed: a clock was wrong for a while (timetable.md 5.6)
				return in.Now
			}
			return *status.Cursor
		}
		return maxTime(in.Owner.Created, in.Now.Add(-firstLook))
	}
	if status.LastSchedule != nil {
		return *status.LastSchedule
	}
	return in.Owner.Created
}

// earliest cuts the past off at the deadline: a scheduled time exactly that old is already lost. Deadlines too long
// for a duration are none (cronjob.md X6).
func earliest(base time.Time, deadline *int64, now time.Time) time.Time {
	if deadline == nil || *deadline > math.MaxInt64/int64(time.Second) {
		return base
	}
	limit := max(*deadline, -math.MaxInt64/int64(time.Second))
	return maxTime(base, now.Add(-time.Duration(limit)*time.Second))
}

func maxTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
