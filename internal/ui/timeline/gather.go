// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// failuresWithin is how far back the newest failure of a schedule is looked for.
const failuresWithin = 31 * day

// mostOmissions is how many times without a run are read for a page.
const mostOmissions = 10_000

// gathering reads what a page needs. What cannot be read is said, and the rest shown.
type gathering struct {
	ctx     context.Context
	site    *page.Site
	window  Window
	now     time.Time
	faults  []string
	stopped error
}

// failed keeps an error for the viewer; it tells whether there is one.
func (g *gathering) failed(what string, err error) bool {
	if err == nil {
		return false
	}
	if g.ctx.Err() != nil && errors.Is(err, g.ctx.Err()) {
		g.stopped = err
	}
	g.faults = append(g.faults, what+" could not be read: "+err.Error()+".")
	return true
}

// rows reads what the rows are made of.
func (g *gathering) rows(s *State) *RowsInput {
	in := &RowsInput{Now: g.now}
	var err error
	if g.site.Server != nil {
		in.Schedules, err = g.site.Cache.Schedules(g.ctx)
		in.Served = !g.failed("The schedules", err)
	}
	within := journal.Query{Namespace: s.Namespace, From: g.window.From, Until: g.window.Until}
	in.Owners, err = lookup.Owners(g.ctx, g.site.Source, within)
	g.failed("Whose runs there are", err)
	in.Status, err = g.site.Cache.Status(g.ctx)
	if g.failed("What goes on now", err) {
		in.Status = nil
	}
	if s.Sort == "failure" {
		in.Failures, err = lookup.Tally(g.ctx, g.site.Source, journal.Query{Namespace: s.Namespace, Outcomes: []run.Outcome{run.Failed}, From: g.now.Add(-failuresWithin)}, 0)
		g.failed("The last failures", err)
	}
	return in
}

// known reads what the rows of one page show.
func (g *gathering) known(rows []*Row) []*Known {
	all := make([]*Known, len(rows))
	byUID := map[types.UID]*Known{}
	var owners []types.UID
	for i, r := range rows {
		all[i] = &Known{Row: r, Paused: r.Paused}
		if r.Own() {
			g.own(all[i])
			continue
		}
		for _, uid := range r.UIDs {
			byUID[uid] = all[i]
			owners = append(owners, uid)
		}
		if s := r.Schedule; s != nil {
			r.next(g.now)
			if t := s.Timetable(); t != nil && s.Unreadable == nil {
				for _, w := range t.Status.Waiting {
					all[i].Waiting = append(all[i].Waiting, Waiting{w.ScheduledTime.UTC(), w.Reason, w.Message})
				}
			}
		}
	}
	if len(owners) == 0 {
		return all
	}
	g.runs(owners, func(namespace string, o *run.Owner) *Known { return byUID[o.UID] })
	omissions, err := g.site.Source.Omissions(g.ctx, journal.Query{OwnerUIDs: owners, From: g.window.From.Add(-g.window.Zoom.reach), Until: g.window.Until, Limit: mostOmissions})
	if !g.failed("The times without a run", err) && len(omissions) == mostOmissions {
		g.faults = append(g.faults, "There are very many times without a run; the oldest of them are left out.")
	}
	for i := range omissions {
		if k := byUID[omissions[i].Owner.UID]; k != nil {
			k.Omissions = append(k.Omissions, omissions[i])
		}
	}
	usual, err := g.site.Source.Usual(g.ctx, owners)
	g.failed("How long runs usually take", err)
	for i, r := range rows {
		if s := r.Schedule; s != nil {
			all[i].Usual = usual[s.Owner.UID]
			all[i].Runs = s.MarkRetrying(all[i].Runs)
		}
	}
	return all
}

// own reads the Jobs of a namespace that no schedule made.
func (g *gathering) own(k *Known) {
	g.runsOf(journal.Query{Namespace: k.Row.Namespace}, []types.UID{""}, func(string, *run.Owner) *Known { return k })
}

// runs reads the runs of owners: one by one where they are few, and otherwise how many there are.
func (g *gathering) runs(owners []types.UID, of func(namespace string, o *run.Owner) *Known) {
	g.runsOf(journal.Query{}, owners, of)
}

func (g *gathering) runsOf(q journal.Query, owners []types.UID, of func(namespace string, o *run.Owner) *Known) {
	q.OwnerUIDs = owners
	within := q
	within.From, within.Until = g.window.From, g.window.Until
	tally, err := lookup.Tally(g.ctx, g.site.Source, within, g.window.Zoom.cell)
	if g.failed("Runs", err) {
		return
	}
	count := map[*Known]int{}
	for i := range tally {
		count[of(tally[i].Namespace, &tally[i].Owner)] += tally[i].Count
	}
	for i := range tally {
		if k := of(tally[i].Namespace, &tally[i].Owner); k != nil && count[k] > mostBars {
			k.Counts = append(k.Counts, tally[i])
		}
	}
	sparse := within
	sparse.OwnerUIDs = nil
	for _, uid := range owners {
		if k := of(q.Namespace, &run.Owner{UID: uid}); k != nil && k.Counts == nil && count[k] > 0 {
			sparse.OwnerUIDs = append(sparse.OwnerUIDs, uid)
		}
	}
	active, before := q, q
	active.Outcomes, active.Until = []run.Outcome{run.Active}, g.window.Until
	before.From, before.Until, before.EndedFrom = g.window.From.Add(-g.window.Zoom.reach), g.window.From, g.window.From
	questions := []journal.Query{active, before}
	if len(sparse.OwnerUIDs) > 0 {
		questions = append(questions, sparse)
	}
	seen := map[types.UID]bool{}
	for _, question := range questions {
		runs, err := g.site.Source.Runs(g.ctx, question)
		if g.failed("Runs", err) {
			return
		}
		for i := range runs {
			r := &runs[i]
			k := of(r.Namespace, &r.Owner)
			if k == nil || seen[r.UID] || k.Counts != nil && g.window.Contains(r.Time()) {
				continue
			}
			seen[r.UID] = true
			k.Runs = append(k.Runs, *r)
		}
	}
}
