// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Late is a scheduled time that has come, for which nothing has been started yet.
type Late struct {
	Object
	// Due is the scheduled time.
	Due time.Time
	// Reason is what it waits for in one word; "" if nobody says that it waits, so that its controller may not be at
	// work.
	Reason string
	// Message says it in words, "" if nobody does.
	Message string
	// Others is how many other times of the object wait, too.
	Others int
}

const (
	// startWithin is how long a controller may take to start what is due.
	startWithin = 90 * time.Second
	// lateWithin is how far back a time is looked for that nobody started.
	lateWithin = time.Hour
)

// late gives the objects of which a time has come and waits: first those of which nobody says why, then the oldest.
func late(in *Input) []Late {
	var all []Late
	for _, s := range in.Schedules {
		one := Late{Object: objectOfSchedule(s)}
		if t := s.Timetable(); t != nil && len(t.Status.Waiting) > 0 && s.Unreadable == nil {
			first := t.Status.Waiting[0]
			one.Due, one.Reason, one.Message, one.Others = first.ScheduledTime.UTC(), first.Reason, first.Message, len(t.Status.Waiting)-1
		} else if one.Due = overdue(s, in.Now); one.Due.IsZero() {
			continue
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Late) int {
		return cmp.Or(ordering.Bools(a.Reason != "", b.Reason != ""), a.Due.Compare(b.Due), compareObjects(a.Object, b.Object))
	})
	return all
}

// overdue is the newest time of the last hour that should have been started and was not, as far as the object tells;
// zero if there is none. It is sure only where nothing explains it: a run that is active, a deadline, a pause, an edit,
// what jitter puts off.
func overdue(s *workload.Scheduled, now time.Time) time.Time {
	times := s.Policy.Timing.Times
	if times == nil || s.Obstacle() != "" || s.Owner.Deleting || pauseOf(s, now) != nil || len(s.Memory.Active) > 0 {
		return time.Time{}
	}
	from := now.Add(-lateWithin)
	for _, known := range []time.Time{s.Owner.Created, s.Owner.ScheduleUnchangedSince, orZero(s.Memory.Timing.Since),
		orZero(s.Memory.LastSchedule), orZero(s.Memory.Cursor)} {
		if known.After(from) {
			from = known
		}
	}
	if s.Policy.Timing.Every > 0 {
		from = s.CountsFrom()
	}
	due := times.LastBetween(from, now.Add(-startWithin))
	if due.IsZero() || plannedStart(times, due).After(now.Add(-startWithin)) {
		return time.Time{}
	}
	if d := s.Policy.Deadline; d != nil && due.Add(time.Duration(min(*d, maxSeconds))*time.Second).Before(now) {
		return time.Time{}
	}
	return due
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// maxSeconds is a number of seconds that a Duration holds.
const maxSeconds = 1 << 32

// plannedStart is when a scheduled time is to start.
func plannedStart(times cron.Times, t time.Time) time.Time {
	if planned, ok := times.(interface {
		PlannedStart(t time.Time) time.Time
	}); ok {
		return planned.PlannedStart(t)
	}
	return t
}
