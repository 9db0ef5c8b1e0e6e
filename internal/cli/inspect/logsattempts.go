// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal/crilog"
	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// chooseAttempts gives those that --attempt and --container ask for, and what the heading says of them.
func (l *logs) chooseAttempts(r *run.Run, all []run.Attempt) (chosen []run.Attempt, title string, err error) {
	sorted, numbers, count := run.Numbered(all)
	if l.attempt > count {
		return nil, "", exitcode.UsageError("--attempt %d: %s has %s", l.attempt, runReference(r), quantity.Count(count, "attempt"))
	}
	var names []string
	for i := range sorted {
		names = append(names, sorted[i].Container)
		if (l.attempt == 0 || numbers[i] == l.attempt) && (l.only == "" || sorted[i].Container == l.only) {
			chosen = append(chosen, sorted[i])
		}
	}
	if l.only != "" && len(sorted) > 0 && !slices.Contains(names, l.only) {
		slices.Sort(names)
		return nil, "", exitcode.UsageError("--container: no container of %s is called %s; there are %s", runReference(r), l.only, reference.ShortList(slices.Compact(names)))
	}
	switch {
	case l.attempt > 0:
		title = fmt.Sprintf(", attempt %d of %d", l.attempt, count)
	case count > 1:
		title = ", " + quantity.Count(count, "attempt")
	}
	return chosen, title, nil
}

// beforeStart is how much earlier than an attempt began, as it is told, its first line may be: times of the API have
// whole seconds.
const beforeStart = time.Second

// printUntilNow prints what attempts have written. marks, if it is not nil, takes how far each was read, by the
// container's ID. What is given back are the attempts of which the output, or the rest of it, is gone.
func (l *logs) printUntilNow(ctx context.Context, s lookup.Source, attempts []run.Attempt, out *printer, marks map[string]crilog.Mark) ([]run.Attempt, error) {
	var opened []crilog.Log
	for i := range attempts {
		a := &attempts[i]
		opened = append(opened, crilog.Log{Since: a.Started.Add(-beforeStart), Open: func() (io.ReadCloser, error) { return l.open(ctx, s, a) }})
		if a.Started.IsZero() {
			opened[i].Since = time.Time{}
		}
	}
	var from time.Time
	if l.since > 0 {
		from = l.clock().Add(-l.since)
	}
	print := func(log int, p crilog.Piece) error { return out.print(&attempts[log], p) }
	merged, tail := crilog.Merge(opened), crilog.NewTail(l.tail)
	defer merged.Close()
	for {
		log, p, err := merged.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if marks != nil {
			marks[attempts[log].ContainerID] = marks[attempts[log].ContainerID].After(p)
		}
		switch {
		case p.Time.Before(from):
		case l.tail >= 0:
			tail.Add(log, p)
		default:
			if err := print(log, p); err != nil {
				return nil, err
			}
		}
	}
	if err := tail.Each(print); err != nil {
		return nil, err
	}
	var gone []run.Attempt
	for _, failure := range merged.Failures() {
		if !failure.Missing() {
			return nil, fmt.Errorf("the output of container %s of Pod %s: %w", attempts[failure.Log].Container, attempts[failure.Log].Pod, failure.Err)
		}
		gone = append(gone, attempts[failure.Log])
	}
	return gone, nil
}

// open opens the log of an attempt, or its end if no more is asked for.
func (l *logs) open(ctx context.Context, s lookup.Source, a *run.Attempt) (io.ReadCloser, error) {
	if l.tail < 0 || l.follow {
		return s.Log(ctx, a)
	}
	end, err := s.Tail(ctx, a, max(1, l.tail))
	if err != nil {
		return nil, err
	}
	if end == nil {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(end)), nil
}

// explainGone says why there is nothing to show, or not all. The error is for a run of which nothing is left.
func (l *logs) explainGone(ctx context.Context, s lookup.Source, r *run.Run, chosen, gone []run.Attempt) error {
	gone = slices.DeleteFunc(gone, func(a run.Attempt) bool { return a.WroteNothing() })
	switch {
	case len(chosen) == 0 && r.Outcome.Ended() && r.Attempts == 0 && r.PodsFailed == 0 && r.PodsSucceeded == 0:
		l.say("it wrote nothing: no container of it ever ran" + because(r))
		return nil
	case !r.Outcome.Ended() && lookup.Stopped(s) != "":
		l.say("what it wrote since is not in the journal yet; start Carillon: carillon up --data-dir " + diagnosis.Quoted(lookup.Stopped(s)))
		return nil
	case len(chosen) == 0 && !r.Outcome.Ended():
		l.say("it has written nothing yet: no container of it has begun")
		return nil
	case len(chosen) == 0:
		return l.allGone(ctx, s, r)
	case len(gone) == 0:
		return nil
	case len(gone) == len(chosen):
		return l.allGone(ctx, s, r)
	}
	var whose []string
	for i := range gone {
		whose = append(whose, gone[i].Pod+"/"+gone[i].Container)
	}
	slices.Sort(whose)
	l.say(fmt.Sprintf("not all is shown: the output of %s is gone; %s", reference.ShortList(slices.Compact(whose)), lookup.WhyGone(ctx, s)))
	return nil
}

func (l *logs) allGone(ctx context.Context, s lookup.Source, r *run.Run) error {
	left := outcomeText(r, l.clock())
	if !strings.Contains(left, "exit code") && r.ExitCode != nil {
		left += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	return noRun("the output of %s is gone; %s. What is left of the run: it %s", runReference(r), lookup.WhyGone(ctx, s), left)
}
