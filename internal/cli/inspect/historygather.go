// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// opener is the type of target.Open.
type opener func(context.Context) (lookup.Source, *cluster.Server, error)

// answer is what one object's history is written from.
type historyAnswer struct {
	of      *subject
	deleted bool
	// stopped: it is remembered by a Carillon of this machine that does not run.
	stopped bool
	period  history.Period
	history history.History
	runs    []run.Run
	// omissions are those of the period; none if only some outcomes were asked for.
	omissions []run.Omission
	// listed is how many entries are listed, of which the rest is only summed up.
	listed int
	// attempts are those of a Job that has run once.
	attempts []run.Attempt
	// nearest is the newest run outside of what was asked for, if nothing was found in it.
	nearest *run.Run
	origin  string
	zone    *time.Location
	now     time.Time
}

// one answers about one object.
func (h *historyCommand) one(ctx context.Context, ref reference.Reference) error {
	if h.target.AllNamespaces || h.target.Selector != "" {
		return exitcode.UsageError("%s names one object; leave out --all-namespaces and --selector (-n names its namespace)", ref)
	}
	s, server, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was only read
	of, err := findSubject(ctx, s, server, ref, h.target.NamespaceOf(server))
	if err != nil {
		return err
	}
	a := &historyAnswer{of: of, now: h.clock(), stopped: lookup.Stopped(s) != "", deleted: server != nil && of.schedule == nil && ref.Kind != "job"}
	if a.zone, err = h.location(of.zone); err != nil {
		return err
	}
	if a.period, err = h.period.read(a.now, a.zone); err != nil {
		return err
	}
	if err := h.gather(ctx, s, a); err != nil {
		return err
	}
	a.origin = s.Origin(ctx)
	if h.format == "json" {
		return h.writeDocument(a)
	}
	return h.writeText(a)
}

// gather reads what is asked for.
func (h *historyCommand) gather(ctx context.Context, s lookup.Source, a *historyAnswer) error {
	q := a.of.query()
	q.From, q.Until, q.Limit = a.period.From, a.period.Until, h.last
	q.Outcomes, _ = h.outcomes() // which was checked
	runsOf := s.Runs
	if a.of.ref.Kind == "timetable" && len(q.Outcomes) > 0 {
		runsOf = func(ctx context.Context, q journal.Query) ([]run.Run, error) {
			return runsThatEnded(ctx, s, a.of.schedule, q)
		}
	}
	var err error
	if a.runs, err = runsOf(ctx, q); err != nil {
		return err
	}
	if a.of.schedule != nil {
		a.runs = a.of.schedule.MarkRetrying(a.runs)
	}
	if len(q.Outcomes) == 0 && a.of.ref.Kind != "job" {
		if a.omissions, err = s.Omissions(ctx, omissionQuery(q, a.runs)); err != nil {
			return err
		}
	}
	a.history = history.Of(a.runs, a.omissions, a.now)
	a.listed = len(a.history.Entries)
	if h.last == 0 && !h.period.named() {
		a.listed = min(a.listed, mostListed)
	}
	switch {
	case a.of.ref.Kind == "job" && len(a.runs) == 1:
		a.attempts, err = s.Attempts(ctx, &a.runs[0])
	case len(a.runs) == 0:
		nearest := a.of.query()
		nearest.Limit = 1
		var found []run.Run
		if found, err = s.Runs(ctx, nearest); len(found) > 0 {
			a.nearest = &found[0]
		}
	}
	return err
}

// runsThatEnded gives the tries of those scheduled times of a Timetable of which the last try has one of the outcomes
// of q: its other tries do not tell how a time ended. The limit of q counts tries, as elsewhere.
func runsThatEnded(ctx context.Context, s lookup.Source, schedule *workload.Scheduled, q journal.Query) ([]run.Run, error) {
	outcomes, limit := q.Outcomes, q.Limit
	q.Outcomes, q.Limit = nil, 0
	all, err := s.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	if schedule != nil {
		all = schedule.MarkRetrying(all)
	}
	var chosen []run.Run
	for _, tries := range run.Times(all) {
		outcome := tries[len(tries)-1].Outcome
		if tries[len(tries)-1].Retrying {
			outcome = run.Active
		}
		if slices.Contains(outcomes, outcome) {
			slices.Reverse(tries)
			chosen = append(chosen, tries...)
		}
	}
	if limit > 0 {
		chosen = chosen[:min(len(chosen), limit)]
	}
	return chosen, nil
}

// omissionQuery asks for the omissions beside runs: with --last, those since the oldest of them.
func omissionQuery(q journal.Query, runs []run.Run) journal.Query {
	if q.Limit > 0 && len(runs) == q.Limit {
		q.From = runs[len(runs)-1].Time()
	}
	q.Name, q.Limit = "", 0
	return q
}

// overview answers about all objects.
func (h *historyCommand) overview(ctx context.Context) error {
	if h.last > 0 {
		return exitcode.UsageError("--last asks about one object: name it (carillon history cronjob/NAME --last %d)", h.last)
	}
	zone, err := h.location(time.UTC)
	if err != nil {
		return err
	}
	o := &overviewAnswer{now: h.clock(), zone: zone, namespaces: h.target.AllNamespaces}
	if o.period, err = h.period.read(o.now, zone); err != nil {
		return err
	}
	selector, err := h.target.Labels()
	if err != nil {
		return err
	}
	s, server, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was only read
	o.namespace, o.stopped = h.target.NamespaceOf(server), lookup.Stopped(s) != ""
	q := journal.Query{Namespace: o.namespace, From: o.period.From, Until: o.period.Until}
	q.Outcomes, _ = h.outcomes() // which was checked
	runs, err := s.Runs(ctx, q)
	if err != nil {
		return err
	}
	var omissions []run.Omission
	if len(q.Outcomes) == 0 {
		if omissions, err = s.Omissions(ctx, q); err != nil {
			return err
		}
	}
	if len(runs)+len(omissions) == 0 {
		if err := h.target.CheckNamespace(ctx, s, server); err != nil {
			return err
		}
	}
	o.lines = history.Overview(runs, omissions, o.now)
	if !selector.Empty() {
		if o.lines, err = h.withLabels(ctx, server, selector, o.lines); err != nil {
			return err
		}
	}
	o.origin = s.Origin(ctx)
	if h.format == "json" {
		return h.writeOverviewDocument(o)
	}
	return h.writeOverview(o)
}

// withLabels leaves the lines of CronJobs and Timetables that have labels.
func (h *historyCommand) withLabels(ctx context.Context, server *cluster.Server, selector labels.Selector, lines []history.Line) ([]history.Line, error) {
	if server == nil {
		return nil, exitcode.UsageError("-l: labels are those of objects, which only an API server knows, and none runs here")
	}
	objects, err := server.Scheduled(ctx, h.target.AllNamespaces, func(line string) { fmt.Fprintln(h.streams.Err, console.EscapeControls(line)) })
	if err != nil {
		return nil, err
	}
	chosen := map[history.Subject]bool{}
	for _, o := range objects {
		if selector.Matches(labels.Set(o.Content.GetLabels())) {
			chosen[subjectOf(o)] = true
		}
	}
	var left []history.Line
	for _, line := range lines {
		if chosen[line.Subject] {
			left = append(left, line)
		}
	}
	return left, nil
}

func subjectOf(o workload.Object) history.Subject {
	return history.Subject{Namespace: o.Content.GetNamespace(), Kind: o.Content.GetKind(), Name: o.Content.GetName()}
}
