// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package statistics adds runs up: by spans of time, such as days, and by the schedules that started them.
//
//   - statistics.go  what is asked, and what the answer has
//   - collector.go   from runs, one after the other, to the answer
//   - tries.go       … of which the last try of a scheduled time counts
package statistics

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Query chooses what is added up.
type Query struct {
	// Namespace and OwnerKind ("CronJob", "Timetable") narrow it to the runs of these; "" takes all.
	Namespace, OwnerKind string
	// Bounds are the ends of spans, in their order: the first span is from Bounds[0] (inclusive) to Bounds[1]
	// (exclusive). A day is what lies between two midnights of a zone, so that one on which a clock changes has 23 or 25
	// hours. What run.Run.Time gives decides where a run belongs. Fewer than two bounds choose nothing.
	Bounds []time.Time
	// Owners asks for Statistics.Owners, too.
	Owners bool
	// Retrying tells of a run that failed whether its scheduled time will be tried again: it counts as active then. nil
	// knows of none but those that are marked so. It gets no more of a run than its namespace, owner, time and try.
	Retrying func(*run.Run) bool
}

// Spans is how many spans the bounds make.
func (q *Query) Spans() int { return max(0, len(q.Bounds)-1) }

// Statistics is the answer to a Query.
type Statistics struct {
	// Spans has one for each span of the query.
	Spans []Span
	// Owners are those whose runs are in the spans, in no order. A Job of its own has no owner and is only in Spans.
	Owners []Owner
}

// Span is what was in one span of time.
type Span struct {
	// Active, Succeeded, Failed, Cancelled and Unknown count runs by their outcome. All tries of one scheduled time count
	// once, as the last one ended; one that failed and is to be tried again is active.
	Active, Succeeded, Failed, Cancelled, Unknown int
	// Left counts those that had not ended when the Carillon stopped that ran them, in the place of Active.
	Left int
	// Missed are scheduled times that should have had a run and had none, Skipped those that the spec let pass.
	Missed, Skipped int64
	// Median and Most95 are the durations that half, and 95 %, of the runs that succeeded did not exceed; 0 if none did.
	Median, Most95 time.Duration
}

// Runs are all runs of the span.
func (s *Span) Runs() int {
	return s.Active + s.Left + s.Succeeded + s.Failed + s.Cancelled + s.Unknown
}

// Judged are the runs that succeeded or failed: those that a rate of success is made of.
func (s *Span) Judged() int { return s.Succeeded + s.Failed }

// SuccessRate is the share of runs that succeeded of those that succeeded or failed; 0 if there are none.
func (s *Span) SuccessRate() float64 {
	if s.Judged() == 0 {
		return 0
	}
	return float64(s.Succeeded) / float64(s.Judged())
}

// Add adds the counts of another span. Durations are not added: a median is not the sum of medians.
func (s *Span) Add(o *Span) {
	s.Left += o.Left
	s.Active, s.Succeeded, s.Failed, s.Cancelled, s.Unknown = s.Active+o.Active, s.Succeeded+o.Succeeded, s.Failed+o.Failed, s.Cancelled+o.Cancelled, s.Unknown+o.Unknown
	s.Missed, s.Skipped = s.Missed+o.Missed, s.Skipped+o.Skipped
}

// Owner is what the runs of one CronJob or Timetable were, under whatever UID.
type Owner struct {
	Namespace string
	// Owner is the object; its UID is that of the latest run.
	Owner run.Owner
	// Runs are all, each scheduled time once, Succeeded and Failed those whose last try had that outcome.
	Runs, Succeeded, Failed int
	// Median is the duration that half of the runs that succeeded did not exceed; 0 if none did.
	Median time.Duration
	// Longest is the longest duration of a run (of its last try) that succeeded or failed, LongestAt the time of that run
	// (run.Run.Time).
	Longest   time.Duration
	LongestAt time.Time
	// Latest is the most that a run was created after its scheduled time, LatestAt the time of that run. Runs that a
	// user started, and further tries of one scheduled time, do not count.
	Latest   time.Duration
	LatestAt time.Time
	// Retries is how many times something was tried again: further runs of one scheduled time, and Pods of a Job that
	// took the place of a failed one.
	Retries int
}
