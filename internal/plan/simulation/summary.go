// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
)

// Summary is a result in numbers.
type Summary struct {
	// Started is how many runs began in the span; Succeeded, Failed, Replaced and Running are how they ended, of those
	// that were active at the beginning, too.
	Started, Succeeded, Failed, Replaced, Running int
	// Late is how many of them waited, and CatchUps how many make up for times that were found late.
	Late, CatchUps int
	// Retries is how many attempts followed a failed one.
	Retries int
	// Skipped and Missed are how many scheduled times did not start; Waiting is how many wait at the end.
	Skipped, Missed, Waiting int
	// Reasons are those of Skipped and Missed, the most frequent first.
	Reasons []ReasonCount
	// LongestWait is the longest time between when a run was to begin and its start, and WaitedAt the scheduled time of
	// it.
	LongestWait time.Duration
	WaitedAt    time.Time
	// MostAtOnce is how many runs went on at the same time at most, and MostAt when that began.
	MostAtOnce int
	MostAt     time.Time
	// Busy is for how long any run went on within the span.
	Busy time.Duration
	// LongestRun is the longest run that has ended, and LongestAt the scheduled time of it.
	LongestRun time.Duration
	LongestAt  time.Time
}

// ReasonCount is how many scheduled times did not start for a reason.
type ReasonCount struct {
	Reason cron.Reason
	Missed bool
	Count  int
}

// Summarize gives the numbers of a result.
func (r *Result) Summarize() Summary {
	s := Summary{Waiting: len(r.Waiting), Retries: len(r.Retries)}
	for i := range r.Runs {
		run := &r.Runs[i]
		if r.Span.Contains(run.Started) {
			s.Started++
		}
		switch run.Outcome {
		case Succeeded:
			s.Succeeded++
		case Failed:
			s.Failed++
		case Stopped:
			s.Replaced++
		default:
			s.Running++
		}
		if run.Wait > 0 {
			s.Late++
		}
		if run.CatchUp {
			s.CatchUps++
		}
		if run.Wait > s.LongestWait {
			s.LongestWait, s.WaitedAt = run.Wait, run.Scheduled
		}
		if took := run.Ended.Sub(run.Started); !run.Ended.IsZero() && took > s.LongestRun {
			s.LongestRun, s.LongestAt = took, run.Scheduled
		}
	}
	for _, n := range r.NotStarted {
		if n.Missed {
			s.Missed += n.Count
		} else {
			s.Skipped += n.Count
		}
		i := slices.IndexFunc(s.Reasons, func(c ReasonCount) bool { return c.Reason == n.Reason })
		if i < 0 {
			i = len(s.Reasons)
			s.Reasons = append(s.Reasons, ReasonCount{Reason: n.Reason, Missed: n.Missed})
		}
		s.Reasons[i].Count += n.Count
	}
	slices.SortStableFunc(s.Reasons, func(a, b ReasonCount) int { return b.Count - a.Count })
	s.countAtOnce(r)
	return s
}

// countAtOnce counts how many runs go on at the same time. One that ends when another one begins does not overlap it.
func (s *Summary) countAtOnce(r *Result) {
	ends := make([]time.Time, 0, len(r.Runs))
	for i := range r.Runs {
		end := r.Runs[i].Ended
		if end.IsZero() || end.After(r.Span.To) {
			end = r.Span.To
		}
		ends = append(ends, end)
	}
	slices.SortFunc(ends, time.Time.Compare)
	ended := 0
	busyUntil := r.Span.From
	for i := range r.Runs { // in the order of their starts
		begun := ordering.Later(r.Runs[i].Started, r.Span.From)
		for ended < len(ends) && !ends[ended].After(begun) {
			ended++
		}
		if now := i + 1 - ended; now > s.MostAtOnce {
			s.MostAtOnce, s.MostAt = now, begun
		}
		end := r.Runs[i].Ended
		if end.IsZero() || end.After(r.Span.To) {
			end = r.Span.To
		}
		if end.After(busyUntil) {
			s.Busy += end.Sub(ordering.Later(begun, busyUntil))
			busyUntil = end
		}
	}
}
