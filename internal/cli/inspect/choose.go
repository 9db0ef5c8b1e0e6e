// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// choice says which run of a subject is meant. The zero value is the newest one.
type choice struct {
	failed   bool   // of those that failed
	previous bool   // the one before the newest of these
	at       string // that of a scheduled time; "" for none
}

func (c choice) check() error {
	if c.at != "" && (c.failed || c.previous) {
		return exitcode.UsageError("--run names one run; leave out --failed and --previous")
	}
	return nil
}

// noRun says that there is no such run. It is no fault of the user's input.
func noRun(format string, args ...any) error {
	return &exitcode.Error{Code: exitcode.Failed, Err: fmt.Errorf(format, args...)}
}

// chooseRun finds the run. The error says what there is in its place.
func chooseRun(ctx context.Context, s lookup.Source, of *subject, c choice, now time.Time) (*run.Run, error) {
	if c.at != "" {
		return runAt(ctx, s, of, c.at, now)
	}
	skip := 0
	if c.previous {
		skip = 1
	}
	last, err := lastTries(ctx, s, of, c.failed, skip+1)
	if err != nil {
		return nil, err
	}
	if of.job != nil && c == (choice{}) && (len(last) == 0 || last[0].UID != of.job.UID) {
		return of.job, nil // it is so new that it is not remembered yet
	}
	if len(last) > skip {
		return &last[skip], nil
	}
	return nil, missingRun(ctx, s, of, c, len(last))
}

// triesAtMost is how many runs are read at first to find a few scheduled times.
const triesAtMost = 32

// lastTries gives the newest runs, as many as that, of several tries of one scheduled time the last one only. With
// failed it gives those that have failed, and were not tried again with success.
func lastTries(ctx context.Context, s lookup.Source, of *subject, failed bool, count int) ([]run.Run, error) {
	q := of.query()
	q.Limit = count
	if of.ref.Kind != "job" {
		q.Limit = max(triesAtMost, count)
	}
	if failed {
		q.Outcomes = []run.Outcome{run.Failed}
	}
	for ; ; q.Limit *= 4 {
		runs, err := s.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		var last []run.Run
		for _, tries := range run.Times(runs) {
			if failed {
				if tries, err = triesOf(ctx, s, of, &tries[0]); err != nil {
					return nil, err
				}
			}
			if r := tries[len(tries)-1]; !failed || r.Outcome == run.Failed {
				last = append(last, r)
			}
			if len(last) == count {
				return last, nil
			}
		}
		if len(runs) < q.Limit {
			return last, nil
		}
	}
}

// triesOf gives all tries of the scheduled time of a run, the run among them. Of one that a Job's name asks for, and of
// one without a scheduled time, it is the only one.
func triesOf(ctx context.Context, s lookup.Source, of *subject, r *run.Run) ([]run.Run, error) {
	if of.ref.Kind == "job" || r.ScheduledTime.IsZero() {
		return []run.Run{*r}, nil
	}
	q := of.query()
	q.From, q.Until = r.ScheduledTime, r.ScheduledTime.Add(time.Second)
	runs, err := s.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(runs, func(known run.Run) bool { return known.UID == r.UID }) {
		runs = append(runs, *r) // so new that it is not remembered yet
	}
	runs = slices.DeleteFunc(runs, func(other run.Run) bool { return !r.SameTime(&other) })
	return run.Times(runs)[0], nil
}

// attemptsOfTime gives the attempts of all tries of the scheduled time of a run, and what its heading says of them.
func attemptsOfTime(ctx context.Context, s lookup.Source, of *subject, r *run.Run) (attempts []run.Attempt, title string, err error) {
	tries, err := triesOf(ctx, s, of, r)
	if err != nil {
		return nil, "", err
	}
	for i := range tries {
		more, err := s.Attempts(ctx, &tries[i])
		if err != nil {
			return nil, "", err
		}
		attempts = append(attempts, more...)
	}
	if len(tries) > 1 {
		title = fmt.Sprintf(", %d tries", len(tries))
	}
	return attempts, title, nil
}

// missingRun says why there is no run to choose, of those that fit found.
func missingRun(ctx context.Context, s lookup.Source, of *subject, c choice, found int) error {
	q := of.query()
	q.Limit = 1000
	all, err := s.Runs(ctx, q)
	if err != nil {
		return err
	}
	known := quantity.CountGrouped(len(run.Times(all)), "run")
	if len(all) == q.Limit {
		known = "the newest " + known
	}
	where := fmt.Sprintf("(known are %s, from %s)", known, s.Origin(ctx))
	switch {
	case len(all) == 0:
		return noRun("no run of %s is known (from %s)", of.ref, s.Origin(ctx))
	case c.failed && found == 0:
		return noRun("no run of %s has failed %s", of.ref, where)
	case c.failed:
		return noRun("only one run of %s has failed: see it with --failed alone %s", of.ref, where)
	}
	return noRun("there is no run of %s before its newest one %s", of.ref, where)
}

// runAt finds the run of a scheduled time, as the user has written it.
func runAt(ctx context.Context, s lookup.Source, of *subject, text string, now time.Time) (*run.Run, error) {
	at, err := diagnosis.ParseAt(text, now, of.zone)
	if err != nil {
		return nil, exitcode.UsageError("--run: %w", err)
	}
	runs, err := runsIn(ctx, s, of, at)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, absent(ctx, s, of, text, at, now)
	}
	if same := func(r run.Run) bool { return r.Time().Equal(runs[0].Time()) }; slices.ContainsFunc(runs, func(r run.Run) bool { return !same(r) }) {
		var times []string
		for i := range runs {
			times = append(times, runs[i].Time().In(of.zone).Format(time.RFC3339))
		}
		slices.Sort(times)
		return nil, exitcode.UsageError("--run: %q is the time of %s of %s; name one of them: %s", text,
			quantity.Count(len(runs), "run"), of.ref, strings.Join(slices.Compact(times), ", "))
	}
	return &runs[0], nil
}

// runsIn are the runs whose time is in a span as the user has written it, the newest first. Of one time that was tried
// again, the last try is the first here. A time that clocks show twice is that of the runs of both.
func runsIn(ctx context.Context, s lookup.Source, of *subject, at diagnosis.At) ([]run.Run, error) {
	starts := []time.Time{at.From}
	for _, other := range []time.Time{at.First, at.Second} {
		if !other.IsZero() {
			starts = append(starts, other)
		}
	}
	var runs []run.Run
	for _, from := range starts {
		q := of.query()
		q.From, q.Until = from, from.Add(at.Until.Sub(at.From))
		found, err := s.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		runs = append(runs, found...)
	}
	scheduled := slices.DeleteFunc(slices.Clone(runs), func(r run.Run) bool { return r.ScheduledTime.IsZero() })
	if len(scheduled) > 0 {
		runs = scheduled // what somebody started by hand in that minute is not asked for then
	}
	slices.SortStableFunc(runs, func(a, b run.Run) int {
		return cmp.Or(b.Time().Compare(a.Time()), cmp.Compare(b.Retry, a.Retry), b.Created.Compare(a.Created))
	})
	return runs, nil
}

// afterwards is how far behind a time without a run the next one is looked for: first where there are few.
var afterwards = []time.Duration{time.Hour, 30 * 24 * time.Hour, 100 * 365 * 24 * time.Hour}

// absent says that no run is known of a time, why if that is known, and which runs are the nearest.
func absent(ctx context.Context, s lookup.Source, of *subject, text string, at diagnosis.At, now time.Time) error {
	var said strings.Builder
	fmt.Fprintf(&said, "--run: no run of %s is known for %s", of.ref, at.From.In(of.zone).Format("2006-01-02 15:04:05 MST"))
	if at.Skipped {
		fmt.Fprintf(&said, " (clocks jump over %s on that day)", at.Local)
	}
	if at.From.After(now) {
		fmt.Fprintf(&said, ", which comes %s", duration.FromNow(at.From, now))
	}
	q := of.query()
	q.Name = ""
	q.From, q.Until, q.Limit = at.From, at.Until, 1
	if of.ref.Kind != "job" {
		omissions, err := s.Omissions(ctx, q)
		if err != nil {
			return err
		}
		if len(omissions) > 0 {
			o := omissions[0]
			word := "skipped"
			if o.Missed {
				word = "missed"
			}
			fmt.Fprintf(&said, ": it was %s (%s)", word, cmp.Or(o.Message, o.Reason))
		}
	}
	near, err := nearest(ctx, s, of, at)
	if err != nil {
		return err
	}
	if len(near) > 0 {
		fmt.Fprintf(&said, "; the nearest ones are those of %s", strings.Join(near, " and "))
	}
	if of.ref.Kind != "job" {
		fmt.Fprintf(&said, " (carillon why %s --at %s tells more)", of.ref, diagnosis.Quoted(text))
	}
	return noRun("%s", said.String())
}

// nearest are the times of the runs before and after a time.
func nearest(ctx context.Context, s lookup.Source, of *subject, at diagnosis.At) ([]string, error) {
	before := of.query()
	before.Until, before.Limit = at.From, 1
	runs, err := s.Runs(ctx, before)
	if err != nil {
		return nil, err
	}
	for _, span := range afterwards {
		after := of.query()
		after.From, after.Until = at.Until, at.Until.Add(span)
		found, err := s.Runs(ctx, after)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			runs = append(runs, found[len(found)-1]) // newest first
			break
		}
	}
	var near []string
	for i := range runs {
		near = append(near, runs[i].Time().In(of.zone).Format("2006-01-02 15:04:05"))
	}
	return near, nil
}
