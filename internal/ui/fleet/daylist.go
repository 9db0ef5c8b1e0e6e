// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"slices"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// mostOmissions is how many scheduled times without a run are shown.
const mostOmissions = 20

// listDay reads the runs, and the scheduled times that had none.
func (f *fleet) listDay(ctx context.Context, v *dayView, d dayChoice, count *dayCount) {
	q := journal.Query{Namespace: v.Choice.Namespace, OwnerKind: v.Choice.Kind, From: count.Hours[0], Until: count.Hours[len(count.Hours)-1]}
	if v.Hour != nil {
		q.From, q.Until = v.Hour.From, v.Hour.Until
	}
	total := outcomeCount(&v.Total, d.outcome)
	q.Limit = d.page*perPage + 1
	runs, err := f.runsWith(ctx, q, d.outcome)
	if err != nil {
		v.RunsFault = err.Error()
		return
	}
	for i := min((d.page-1)*perPage, len(runs)); i < min(d.page*perPage, len(runs)); i++ {
		v.Runs = append(v.Runs, &runs[i])
	}
	v.Pager = pager(d.page, len(v.Runs), max(total, len(runs)), func(number int) string { return d.url(v.Choice, d.hour, d.outcome, number) })
	if d.page == lastPage {
		v.Further, v.Pager.Next = v.Pager.Next != "", ""
	}
	if d.outcome != "" || d.page > 1 {
		return
	}
	q.Limit = mostOmissions + 1
	omissions, err := f.site.Source.Omissions(ctx, q)
	if err != nil {
		v.RunsFault = err.Error()
		return
	}
	v.MoreOmit = len(omissions) > mostOmissions
	v.Omissions = omissions[:min(mostOmissions, len(omissions))]
}

// runsWith gives runs that have an outcome, as they are counted: each scheduled time once, by its last try, and what
// has failed and is to be tried again as not ended. Of any outcome, "", each try is given.
func (f *fleet) runsWith(ctx context.Context, q journal.Query, outcome run.Outcome) ([]run.Run, error) {
	var retrying []run.Run
	if outcome == run.Failed || outcome == run.Active {
		var err error
		if retrying, err = f.retryingIn(ctx, q); err != nil {
			return nil, err
		}
	}
	limit := q.Limit
	if outcome != "" {
		q.LastTries, q.Outcomes = true, []run.Outcome{outcome}
	}
	if outcome == run.Failed {
		q.Limit += len(retrying) // which may be among them
	}
	runs, err := f.site.Source.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Retrying = runs[i].Outcome == run.Failed && f.retrying(&runs[i])
	}
	switch outcome {
	case run.Failed:
		runs = slices.DeleteFunc(runs, func(r run.Run) bool { return r.Retrying })
	case run.Active:
		runs = append(runs, retrying...)
		slices.SortFunc(runs, lookup.NewestFirst)
	}
	return runs[:min(len(runs), limit)], nil
}

// mostRetrying is how many schedules are asked about at once that may wait to try a time again.
const mostRetrying = 10_000

// retryingIn gives the runs that a question is about which have failed, and whose time is to be tried again.
func (f *fleet) retryingIn(ctx context.Context, q journal.Query) ([]run.Run, error) {
	all, err := f.site.Cache.Schedules(ctx)
	if err != nil {
		return nil, nil // the page says elsewhere that they cannot be read; without them nothing is known to be tried again
	}
	q.OwnerUIDs = nil
	for _, s := range all {
		if s.Timetable() != nil && len(s.Memory.Active) > 0 && len(q.OwnerUIDs) < mostRetrying {
			q.OwnerUIDs = append(q.OwnerUIDs, s.Owner.UID)
		}
	}
	if len(q.OwnerUIDs) == 0 {
		return nil, nil
	}
	q.LastTries, q.Outcomes, q.Limit = true, []run.Outcome{run.Failed}, 0
	runs, err := f.site.Source.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r run.Run) bool { return !f.retrying(&r) })
	for i := range runs {
		runs[i].Retrying = true
	}
	return runs, nil
}
