// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Late is from which lateness on a run is called late: less is what a start takes.
const Late = time.Minute

// Summary is what runs tell together.
type Summary struct {
	// Runs is how many there are, each scheduled time once, and the next five how many of them are in which state: that
	// of the last try. One that failed and is to be tried again is Active.
	Runs, Succeeded, Failed, Cancelled, Unknown, Active int
	// Tries is how many runs these are with each try of a scheduled time.
	Tries int
	// Missed and Skipped count scheduled times for which nothing was started.
	Missed, Skipped int64
	// From and Until are the times of the oldest and of the newest run; zero without runs.
	From, Until time.Time
	// Took is how long the successful runs took, or, if none was, all that ended (AllEnded).
	Took     Durations
	AllEnded bool
	// Trend is nil where durations do not change, or too few are known.
	Trend *Trend
	// Reasons are why runs failed, the most frequent first.
	Reasons []Reason
	// Late counts the runs that were created more than Late after their time, and Latest is by how much at most.
	Late   int
	Latest time.Duration
	// Retries counts the runs that needed more than one try, and Restarted those of which one needed more than one
	// attempt of a container for each of its Pods that was to succeed.
	Retries, Restarted int
	// MemoryPeak is the most memory that a container had, CPU what all runs used, and OutputBytes what they wrote; 0
	// where nobody measured.
	MemoryPeak  int64
	CPU         time.Duration
	OutputBytes int64
	// Last is the newest run that has ended, nil if none has.
	Last *run.Run
}

// Durations are how long some runs took.
type Durations struct {
	Runs int
	// Percentile95 is the least that 95 of 100 runs did not take longer than.
	Median, Percentile95, Shortest, Longest time.Duration
	// LongestAt is the time of the longest run (run.Run.Time), of equal ones the newest.
	LongestAt time.Time
}

// Reason is a reason for which runs failed, and how many did.
type Reason struct {
	// Reason is the word of the run's condition, "" if it has none. ExitCode is that of its attempts, nil if none told.
	Reason   string
	ExitCode *int32
	Runs     int
}

// SuccessRate is the part of the runs that succeeded of those that succeeded or failed, from 0 to 1; ok is false if
// there are none.
func (s *Summary) SuccessRate() (rate float64, ok bool) {
	told := s.Succeeded + s.Failed
	if told == 0 {
		return 0, false
	}
	return float64(s.Succeeded) / float64(told), true
}

// Summarize counts runs and omissions. Nothing is modified.
func Summarize(runs []run.Run, omissions []run.Omission, now time.Time) Summary {
	s := Summary{Tries: len(runs)}
	var last []*run.Run
	for _, tries := range run.Times(runs) {
		s.count(tries)
		last = append(last, &tries[len(tries)-1])
	}
	s.Runs = len(last)
	for i := range omissions {
		if n := max(1, omissions[i].Count); omissions[i].Missed {
			s.Missed += n
		} else {
			s.Skipped += n
		}
	}
	s.Reasons = reasonsOf(last)
	points := pointsOf(last, func(r *run.Run) bool { return r.Outcome == run.Succeeded })
	if len(points) == 0 {
		points = pointsOf(last, func(r *run.Run) bool { return r.Outcome == run.Failed || r.Outcome == run.Cancelled })
		s.AllEnded = len(points) > 0
	}
	s.Took = durationsOf(points)
	s.Trend = trendOf(points, now)
	return s
}

// count adds a run, with all its tries.
func (s *Summary) count(tries []run.Run) {
	last := &tries[len(tries)-1]
	switch {
	case last.Outcome == run.Succeeded:
		s.Succeeded++
	case last.Retrying:
		s.Active++
	case last.Outcome == run.Failed:
		s.Failed++
	case last.Outcome == run.Cancelled:
		s.Cancelled++
	case last.Outcome == run.Unknown:
		s.Unknown++
	default:
		s.Active++
	}
	at := last.Time()
	if s.From.IsZero() || at.Before(s.From) {
		s.From = at
	}
	if at.After(s.Until) {
		s.Until = at
	}
	if late := tries[0].Lateness(); late > Late && tries[0].Retry <= 1 {
		s.Late++
		s.Latest = max(s.Latest, late)
	}
	if last.Retry > 1 || len(tries) > 1 {
		s.Retries++
	}
	if slices.ContainsFunc(tries, func(r run.Run) bool { return r.Attempts > max(1, int(r.Completions)) && r.Outcome.Ended() }) {
		s.Restarted++
	}
	for i := range tries {
		r := &tries[i]
		s.MemoryPeak = max(s.MemoryPeak, r.MemoryPeak)
		s.CPU += r.CPU
		s.OutputBytes += r.OutputBytes
	}
	if last.Outcome.Ended() && !last.Retrying && (s.Last == nil || endOf(last).After(endOf(s.Last))) {
		s.Last = last
	}
}

// endOf is when a run ended, or its time if nobody saw that.
func endOf(r *run.Run) time.Time {
	if r.Ended.IsZero() {
		return r.Time()
	}
	return r.Ended
}

func reasonsOf(runs []*run.Run) []Reason {
	type key struct {
		reason string
		told   bool
		code   int32
	}
	counts := map[key]int{}
	for _, r := range runs {
		if r.Outcome == run.Failed && !r.Retrying {
			k := key{reason: r.Reason}
			if r.ExitCode != nil && *r.ExitCode != 0 {
				k.told, k.code = true, *r.ExitCode
			}
			counts[k]++
		}
	}
	var reasons []Reason
	for k, n := range counts {
		reason := Reason{Reason: k.reason, Runs: n}
		if k.told {
			reason.ExitCode = new(k.code)
		}
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Reason, b.Reason), cmp.Compare(codeOf(a), codeOf(b)))
	})
	return reasons
}

func codeOf(r Reason) int32 {
	if r.ExitCode == nil {
		return 0
	}
	return *r.ExitCode
}

// point is how long a run took, and when.
type point struct {
	at   time.Time
	took time.Duration
}

// pointsOf are the durations of chosen runs that tell when they began and ended, in order of time.
func pointsOf(runs []*run.Run, chosen func(*run.Run) bool) []point {
	var points []point
	for _, r := range runs {
		if chosen(r) && !r.Ended.IsZero() && !r.Begun().IsZero() {
			points = append(points, point{r.Time(), r.Duration(r.Ended)})
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.took, b.took)) })
	return points
}

func durationsOf(points []point) Durations {
	d := Durations{Runs: len(points)}
	if d.Runs == 0 {
		return d
	}
	took := make([]time.Duration, 0, len(points))
	for _, p := range points {
		took = append(took, p.took)
		if p.took >= d.Longest {
			d.Longest, d.LongestAt = p.took, p.at
		}
	}
	slices.Sort(took)
	d.Shortest, d.Median, d.Percentile95 = took[0], median(took), quantile(took, 95)
	return d
}
