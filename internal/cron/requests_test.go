// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/cron"
)

// request lets something happen to a request: usually nothing; or it fails; or it is carried out and its answer is
// lost; or the process dies, before or after it. act carries it out. The answer is false when the process is dead.
func (a *attempt) request(phase cron.Step, what string, act func() error) (error, bool) {
	fate, err := a.w.fate(phase)
	if fate == fine && phase == cron.StepRead && a.behind > 0 && !a.w.peace && a.w.odds("no better", 1) {
		fate, err = refused, errCut
	}
	if fate == dies {
		a.tell("dies before it can %s", what)
		a.die()
		return nil, false
	}
	if fate == refused {
		a.tell("cannot %s: %v", what, err)
		a.failed[phase] = true
		return err, true
	}
	answer := act()
	switch {
	case fate == diesAfter:
		a.tell("dies having done it: %s", what)
		a.die()
		return nil, false
	case fate == lost && answer == nil:
		a.behind = 4 // a connection that breaks breaks the watches, too
		a.tell("is not told that it did %s", what)
		a.failed[phase] = true
		return err, true
	}
	if answer != nil {
		a.tell("cannot %s: %v", what, answer)
		a.failed[phase] = a.failed[phase] || phase == cron.StepStop || phase == cron.StepRecord
	}
	return answer, true
}

func (a *attempt) die() {
	a.forgiven()
	a.leave()
	a.restart(a.w.freshStarts)
}

func (a *attempt) look(l cron.ReadRequest) {
	what := "read " + l.Name
	if l.Owner {
		what = "read the CronJob"
	}
	err, alive := a.request(cron.StepRead, what, func() error { return nil })
	switch {
	case !alive:
	case l.Owner:
		if !a.w.peace && a.w.odds("meanwhile", 4) { // the read takes its time, and the user does not
			a.w.now = a.w.now.Add(time.Duration(a.w.roll("seconds", 128)) * time.Second)
			a.w.edit()
		}
		live := a.w.server.cronJob
		if err == nil && live.owner.UID != a.in.Owner.UID {
			err = notFound
			a.failed[cron.StepRead] = true
		}
		a.in.AddReadOwnerResult(live.owner, live.spec, live.state, err)
		if err == nil {
			a.base, a.written, a.looked = live, live, true
			a.block()
		}
	default:
		a.sawChild(l, err)
	}
}

func (a *attempt) sawChild(l cron.ReadRequest, err error) {
	a.looksInside(l)
	if !a.w.peace && a.w.odds("deleted under our eyes", 4) {
		a.w.outsiderDeletes(l.Name)
	}
	o, ok := a.w.server.children[l.Name]
	if err != nil || !ok {
		if err == nil {
			a.gone, a.foreign = true, false
		}
		a.in.AddReadChildResult(l, nil, err)
	} else {
		_, known := a.known[o.UID]
		a.gone = a.gone || !known || a.listsAnother(o) // it was another one that was to be read
		a.known[o.UID] = o
		a.block()
		a.in.AddReadChildResult(l, &o.Child, nil)
	}
}

// listsAnother tells whether the status lists something else that had the object's name.
func (a *attempt) listsAnother(o object) bool {
	return slices.ContainsFunc(a.in.StoredStatus.Active, func(r corev1.ObjectReference) bool { return r.Name == o.Name && r.UID != o.UID })
}

func (a *attempt) remove(phase cron.Step, s cron.Deletion, did func(cron.Deletion, error)) {
	verb := "prune "
	if phase == cron.StepStop {
		verb = "stop "
	}
	err, alive := a.request(phase, verb+s.Name, func() error {
		before := a.w.server.version
		a.mayDelete(phase, s)
		err := a.w.server.delete(s.Name, s.UID)
		if err == nil {
			a.tell("%s%s (%s): %s", verb, s.Name, s.UID, s.Why)
			a.deleted[s.UID] = true
		}
		a.writes += a.w.server.version - before
		return err
	})
	if !alive {
		return
	}
	gone := err == nil || apierrors.IsNotFound(err)
	if !gone {
		a.stuck[s.UID] = true
	}
	if gone {
		a.removed[s.UID] = a.w.server.version
	}
	did(s, err)
}

func (a *attempt) start(start cron.Start) {
	var made object
	err, alive := a.request(cron.StepStart, "create "+start.Name, func() (err error) {
		o := object{Child: cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: start.Name,
			Controller: controlledBy(a.w.traits, a.in.Owner.UID), Created: a.w.now, Started: new(a.w.now), Stamp: start.Stamp},
			of: a.in.Owner.UID, maker: a.maker(), scheduled: start.Time, stubborn: !a.w.peace && a.w.odds("stubborn", 5), held: !a.w.peace && a.w.odds("held", 4),
			doomed: a.w.server.cronJob.owner.UID != a.in.Owner.UID}
		if made, err = a.w.server.create(o); err != nil {
			return err
		}
		a.writes++
		a.tell("creates %s (%s) for %s", made.Name, made.UID, start.Stamp)
		a.mayStart(start, made)
		return nil
	})
	switch {
	case !alive:
	case err != nil:
		holder, taken := a.w.server.children[start.Name]
		a.foreign = taken && (holder.Controller == nil || holder.Controller.UID != a.uid)
		a.unanswered = made
		a.in.AddStartResult(start, cron.CreateResultOf(nil, err))
	default:
		a.made[made.UID] = made
		a.known[made.UID] = made
		a.started = &made
		a.w.ledger.told(made)
		a.in.AddStartResult(start, cron.CreateResultOf(&made.Child, nil))
	}
}

func (a *attempt) record(r cron.Record) {
	rides := a.w.traits.StatusCarriesAnnotation
	var second error
	var after cronJob
	err, alive := a.request(cron.StepRecord, "record", func() error {
		if r.StatusChanged && r.TimetableChanged && !rides {
			_, second = a.w.fate(cron.StepRecord)
		}
		before := a.w.server.cronJob
		err := a.w.server.record(a.base, r, rides, second)
		if a.w.server.cronJob.version != before.version {
			a.writes++
			a.tell("%s", r)
			a.recorded = true
			a.mayRecord(before, r)
			after = a.w.server.cronJob
		} else {
			a.staleStatus()
		}
		return err
	})
	if !alive {
		return
	}
	if after.version > 0 && (err == nil || second != nil) {
		a.written = after
	}
	if err != nil && a.started != nil && !a.w.peace && a.w.odds("its TTL is over", 3) {
		a.w.outsiderDeletes(a.started.Name)
	}
	a.in.AddRecordResult(err)
}
