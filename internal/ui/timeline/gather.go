// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/evidence"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
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
	window  window
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
func (g *gathering) rows(s *State) *rowsInput {
	in := &rowsInput{Now: g.now}
	var err error
	if g.site.Server != nil {
		in.Schedules, err = g.site.Cache.Schedules(g.ctx)
		in.Served = !g.failed("The schedules", err)
	}
	in.Owners, err = g.owners(in.Schedules, s.Namespace)
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

// mostUnknown is up to how many owners, that are no schedules any more, are asked about one by one.
const mostUnknown = 5000

// owners reads of whom, beside the schedules, something is remembered in the window, or of one that had the name of a
// schedule before.
func (g *gathering) owners(schedules []*workload.Scheduled, namespace string) ([]journal.OwnerIn, error) {
	all, err := lookup.Owners(g.ctx, g.site.Source, journal.Query{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	known := make(map[types.UID]bool, len(schedules))
	for _, s := range schedules {
		known[s.Owner.UID] = true
	}
	within := journal.Query{Namespace: namespace, From: g.window.From, Until: g.window.Until}
	asked := map[types.UID]bool{}
	for i := range all {
		if uid := all[i].Owner.UID; !known[uid] && !asked[uid] && len(asked) < mostUnknown {
			asked[uid] = true
			within.OwnerUIDs = append(within.OwnerUIDs, uid)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	if len(asked) == mostUnknown {
		within.OwnerUIDs = nil // all of them
	}
	return lookup.Owners(g.ctx, g.site.Source, within)
}

// known reads what the rows of one page show.
func (g *gathering) known(rows []*Row) []*Known {
	all := make([]*Known, len(rows))
	byUID := map[types.UID]*Known{}
	var owners []types.UID
	dir := lookup.Stopped(g.site.Source)
	var lastSign time.Time
	if dir != "" {
		lastSign = evidence.LastSign(dir)
	}
	for i, r := range rows {
		all[i] = &Known{Row: r, Paused: r.Paused, Stopped: dir != "", LastSign: lastSign}
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
	usual, err := g.site.Source.Usual(g.ctx, owners)
	g.failed("How long runs usually take", err)
	for _, k := range all {
		if s := k.Row.Schedule; s != nil {
			k.Usual = usual[s.Owner.UID]
		}
	}
	g.runsOf(journal.Query{}, owners, func(o *run.Owner) *Known { return byUID[o.UID] })
	omissions, err := g.site.Source.Omissions(g.ctx, journal.Query{OwnerUIDs: owners, From: g.window.From.Add(-g.window.Zoom.reach), Until: g.window.Until, Limit: mostOmissions})
	if !g.failed("The times without a run", err) && len(omissions) == mostOmissions {
		g.faults = append(g.faults, "There are very many times without a run; the oldest of them are left out.")
	}
	for i := range omissions {
		if k := byUID[omissions[i].Owner.UID]; k != nil {
			k.Omissions = append(k.Omissions, omissions[i])
		}
	}
	for i, r := range rows {
		s := r.Schedule
		if s == nil {
			continue
		}
		all[i].Runs = s.MarkRetrying(all[i].Runs)
		for n := range s.Memory.Active {
			if a := &s.Memory.Active[n]; a.RetryAt != nil {
				all[i].Retrying = append(all[i].Retrying, a.Time)
			}
		}
	}
	return all
}

// own reads the Jobs of a namespace that no schedule made.
func (g *gathering) own(k *Known) {
	g.runsOf(journal.Query{Namespace: k.Row.Namespace}, []types.UID{""}, func(*run.Owner) *Known { return k })
}

// runsOf reads the runs of owners, which are those of the rows that of gives: one by one where they are few, and
// otherwise how many there are. What began before the window and reaches into it is always read.
func (g *gathering) runsOf(q journal.Query, owners []types.UID, of func(*run.Owner) *Known) {
	q.OwnerUIDs = owners
	within := q
	within.From, within.Until = g.window.From, g.window.Until
	tally, err := lookup.Tally(g.ctx, g.site.Source, within, g.window.Zoom.cell)
	if g.failed("Runs", err) {
		return
	}
	count := map[*Known]int{}
	for i := range tally {
		count[of(&tally[i].Owner)] += tally[i].Count
	}
	for i := range tally {
		if k := of(&tally[i].Owner); k != nil && count[k] > mostBars {
			k.Counts = append(k.Counts, tally[i])
		}
	}
	seen := map[types.UID]bool{}
	for _, question := range g.questions(q, func(uid types.UID) (*Known, int) {
		k := of(&run.Owner{UID: uid})
		return k, count[k]
	}) {
		runs, err := g.site.Source.Runs(g.ctx, question)
		if g.failed("Runs", err) {
			return
		}
		for i := range runs {
			r := &runs[i]
			k := of(&r.Owner)
			if k == nil || seen[r.UID] || k.Counts != nil && g.window.Contains(r.Time()) {
				continue
			}
			seen[r.UID] = true
			k.Runs = append(k.Runs, *r)
		}
	}
}

// questions are those for the runs that are not counted, by how many there are in the window.
func (g *gathering) questions(q journal.Query, counted func(types.UID) (*Known, int)) []journal.Query {
	within, active, before, shortly := q, q, q, q
	within.From, within.Until = g.window.From, g.window.Until
	active.Outcomes, active.Until = []run.Outcome{run.Active}, g.window.Until
	before.From, before.Until, before.EndedFrom = g.window.From.Add(-g.window.Zoom.reach), g.window.From, g.window.From
	within.OwnerUIDs, before.OwnerUIDs, shortly.OwnerUIDs = nil, nil, nil
	reach := time.Duration(0)
	for _, uid := range q.OwnerUIDs {
		k, count := counted(uid)
		if k == nil {
			continue
		}
		if k.Counts != nil && k.Usual.Runs >= leastUsual {
			// Of what runs very often there would be very many to look through.
			shortly.OwnerUIDs = append(shortly.OwnerUIDs, uid)
			reach = max(reach, longer*k.Usual.Most, g.window.Zoom.cell)
			continue
		}
		before.OwnerUIDs = append(before.OwnerUIDs, uid)
		if k.Counts == nil && count > 0 {
			within.OwnerUIDs = append(within.OwnerUIDs, uid)
		}
	}
	shortly.From, shortly.Until, shortly.EndedFrom = g.window.From.Add(-min(reach, g.window.Zoom.reach)), g.window.From, g.window.From
	return slices.DeleteFunc([]journal.Query{active, before, shortly, within}, func(q journal.Query) bool { return len(q.OwnerUIDs) == 0 })
}

// longer is how many times as long as the longest of the usual ones a run may be that is found where there are very
// many.
const longer = 10
