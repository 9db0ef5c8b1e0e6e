// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// attempt is one pass over the CronJob.
type attempt struct {
	*process
	in cron.Input
	// base is the version of the CronJob that the pass decides on and writes over.
	base cronJob
	todo []func()
	// second: the first half is done. ended: there is nothing more to do, or the process has died.
	second, ended bool
	rounds        int
	plan          cron.Plan

	// What the guarantees want to know: which objects it has seen, whether it saw the present, how many writes of the pass
	// the server took since which version, which phases had a request that failed, and what was done.
	known   map[types.UID]object
	fresh   bool
	version int
	writes  int
	failed  map[cron.PlanPhase]bool
	started *object
	// unanswered is a child that was created without an answer.
	unanswered object
	// deleted and stuck are the children of which a delete was accepted or refused.
	deleted, stuck map[types.UID]bool
	// gone: something that was read was not there. foreign: a stranger has the name. looked: the live CronJob was read.
	// blocked: some child was unfinished.
	gone, foreign, looked, blocked bool
}

// begin gathers what the process knows; nil if there is no CronJob.
func (p *process) begin() *attempt {
	if !p.alarm.After(p.w.now) { // it has rung
		p.alarm = time.Time{}
	}
	c := p.cronJob()
	if c.owner.UID == "" {
		p.forget("")
		p.alarm = time.Time{}
		return nil
	}
	if p.uid != c.owner.UID {
		p.forget(c.owner.UID)
		c = p.cronJob()
	}
	a := &attempt{process: p, base: c, known: map[types.UID]object{}, fresh: p.fresh(), version: p.w.server.version,
		failed: map[cron.PlanPhase]bool{}, deleted: map[types.UID]bool{}, stuck: map[types.UID]bool{}}
	a.in = cron.Input{Now: p.w.now, Traits: p.w.traits, Owner: c.owner, Spec: c.spec, State: c.state, Seen: p.memo}
	for _, o := range p.family() {
		a.in.Children = append(a.in.Children, o.Child)
		a.known[o.UID] = o
	}
	a.block()
	return a
}

// block notes whether anything may rightly hold up a start that must not overlap.
func (a *attempt) block() {
	for _, o := range a.known {
		a.blocked = a.blocked || o.of == a.uid && o.running()
	}
	for _, o := range a.w.server.children {
		a.blocked = a.blocked || o.of == a.uid && o.running()
	}
	for _, ref := range a.in.State.Active { // also what is no longer ours
		o, ok := a.w.server.find(ref.UID)
		a.blocked = a.blocked || ok && o.running()
	}
}

// step makes the next request of the pass, or ends it.
func (a *attempt) step() {
	if len(a.todo) == 0 {
		plan := cron.Decide(a.in)
		if a.rounds++; a.rounds > 3*maxRounds {
			a.w.broken("a pass does not end:\n%s", plan)
		}
		if a.todo = a.requests(plan); a.ended {
			return
		}
	}
	next := a.todo[0]
	a.todo = a.todo[1:]
	next()
}

// requests turns the next phase of the plan into requests. It ends the pass, or its first half, if there are none.
func (a *attempt) requests(plan cron.Plan) (todo []func()) {
	if timetableOf(a.in.Spec) != a.served {
		// Another schedule than the last one. When it was set is not known better than by the field manager's last
		// edit of anything, so the times up to that one are silent.
		a.w.ledger.silence(a.uid, a.in.Owner.Touched)
	}
	phase := plan.Next()
	if a.halved && !a.second && phase > cron.PhaseStart {
		a.second = true
		a.startsAreDone(plan)
		a.process.open = nil
		if phase != cron.PhaseSpeak {
			a.books = append(a.books, a)
		}
	}
	steps, did := plan.Stop, a.in.DidStop
	switch phase {
	case cron.PhaseLook:
		a.wakesInTime(plan) // should the shell give up here
		for _, l := range plan.Look {
			todo = append(todo, func() { a.look(l) })
		}
	case cron.PhaseStart:
		todo = append(todo, func() { a.start(*plan.Start) })
	case cron.PhaseRecord:
		todo = append(todo, func() { a.record(*plan.Record) })
	case cron.PhasePrune:
		steps, did = plan.Prune, a.in.DidPrune
		fallthrough
	case cron.PhaseStop:
		for _, s := range steps {
			todo = append(todo, func() { a.remove(phase, s, did) })
		}
	default:
		if !a.second {
			a.second = true
			a.startsAreDone(plan)
		}
		a.end(plan)
	}
	return todo
}

// startsAreDone ends the first half of a pass: what is known is remembered, and the alarm is set.
func (a *attempt) startsAreDone(plan cron.Plan) {
	a.arm(plan)
	a.remember(plan)
	a.nothingIsLost(plan)
}

// end ends the pass.
func (a *attempt) end(plan cron.Plan) {
	a.plan = plan
	a.arm(plan)
	if !a.halved {
		a.remember(plan)
	}
	a.leave()
	if plan.Err != nil {
		a.tell("fails: %v", plan.Err)
	}
	a.spoken(plan)
	a.cleaned(plan)
	a.truthful(plan)
}

// remember keeps what the next pass is to be told.
func (a *attempt) remember(plan cron.Plan) {
	a.memo = plan.Timetable
	if strings.Contains(plan.Timetable, a.in.Spec.Schedules[0]) && (a.in.Spec.TimeZone == nil || strings.Contains(plan.Timetable, *a.in.Spec.TimeZone)) {
		a.served = timetableOf(a.in.Spec) // a pass that could not read the CronJob remembers nothing of it
	}
}

func (a *attempt) leave() {
	a.ended = true
	if a.process.open == a {
		a.process.open = nil
	}
	a.books = slices.DeleteFunc(a.books, func(b *attempt) bool { return b == a })
}

// arm sets the alarm; an earlier one stays.
func (a *attempt) arm(plan cron.Plan) {
	a.wakesInTime(plan)
	if plan.Wake.IsZero() {
		a.alarm = time.Time{}
	} else if a.alarm.IsZero() || plan.Wake.Before(a.alarm) {
		a.alarm = plan.Wake
	}
}
