// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/schedule"
)

// neverInTime says why the deadline of a CronJob lets nothing start; "" if it does.
func (s *Scheduled) neverInTime() string {
	if s.Timetable() != nil || s.Policy.Deadline == nil {
		return ""
	}
	deadline, every := *s.Policy.Deadline, s.Policy.Timing.Every
	switch {
	case deadline <= 0:
		return fmt.Sprintf("startingDeadlineSeconds is %d, so no run is ever in time; take it out, or write suspend: true if nothing is to start", deadline)
	case every > 0 && deadline < int64((every+time.Second-1)/time.Second):
		return fmt.Sprintf("startingDeadlineSeconds is %d, and @every takes longer: its times count from that many seconds ago at the earliest, so none "+
			"ever comes; take it out, make it longer, or write the times", deadline)
	}
	return ""
}

// Paused tells that nothing starts because too many runs in a row have failed, and nobody has ended that pause.
func (s *Scheduled) Paused() bool {
	pause := s.Memory.Pause()
	return pause.Cause == cron.PauseFailures && pause.Generation == s.Owner.Generation && pause.ResumeToken == s.Policy.ResumeToken
}

// CountsFrom is what an "@every" counts from: the last start, or else the creation; zero if the object has neither yet.
func (s *Scheduled) CountsFrom() time.Time {
	if last := s.Memory.LastSchedule; last != nil {
		return *last
	}
	return s.Owner.Created
}

// FirstAfter gives the first time later than t, zero if there is none. Those of an "@every" continue what the object
// has begun; of an object that has not begun the first comes a whole interval after t. An object without times has
// none.
func (s *Scheduled) FirstAfter(t time.Time) time.Time {
	times := s.Policy.Timing.Times
	if times == nil {
		return time.Time{}
	}
	base := s.CountsFrom()
	if s.Policy.Timing.Every == 0 || base.IsZero() {
		return times.Next(t)
	}
	if last := times.LastBetween(base, t); base.Before(t) && !last.IsZero() {
		base = last
	}
	return times.Next(base)
}

// JitterOffset is by how much the starts of the Timetable with that hash are put off, of at most jitter; always the
// same. A start is put off less where the next time would come before.
func JitterOffset(hash schedule.Hash, jitter time.Duration) time.Duration {
	if jitter < time.Second {
		return 0
	}
	return time.Duration(hash.Value("", "jitter")%uint64(jitter/time.Second+1)) * time.Second
}

// TriesAgain tells whether the scheduled time t is to be tried again after the attempt of that number has failed, from
// 1 on: its status says so, or does not know yet that the attempt has ended and its policy has more of them.
func (s *Scheduled) TriesAgain(t time.Time, attempt int) bool {
	attempt = max(1, attempt)
	for i := range s.Memory.Active {
		a := &s.Memory.Active[i]
		if a.Attempt == 0 || !a.Time.Equal(t) {
			continue
		}
		switch {
		case a.RetryAt != nil, a.Attempt > attempt:
			return a.Attempt >= attempt
		case a.Attempt == attempt:
			return a.Stopping == "" && attempt <= s.Policy.Retry.Limit && !s.Owner.Deleting
		}
	}
	return false
}

// MarkRetrying gives runs, newest first, of which those are marked that failed and are to be tried again
// (run.Run.Retrying). The argument is not modified.
func (s *Scheduled) MarkRetrying(runs []run.Run) []run.Run {
	if len(s.Memory.Active) == 0 {
		return runs
	}
	marked := slices.Clone(runs)
	for i := range marked {
		r := &marked[i]
		if r.Outcome == run.Failed && !r.ScheduledTime.IsZero() && r.Owner.UID == s.Owner.UID {
			r.Retrying = s.TriesAgain(r.ScheduledTime, r.Retry)
		}
	}
	return marked
}
