// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// attempt is one sync over the CronJob.
type attempt struct {
	*process
	in cron.Input
	// base is the version of the CronJob that the sync decides on and writes over.
	base cronJob
	// began is the schedule that it began with.
	began string
	// recorded: its record was written.
	recorded bool
	nth      int // among the syncs of the process
	todo     []func()
	// second: the first half is done. ended: there is nothing more to do, or the process has died.
	second, ended bool
	rounds        int
	plan          cron.Plan

	// What the guarantees want to know: which objects it has seen, whether it saw the present, how many writes of the
	// sync the server took since which version, which phases had a request that failed, and what was done.
	known   map[types.UID]object
	fresh   bool
	version int
	writes  int
	failed  map[cron.Step]bool
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
	p.w.tick()
	if !p.timer.After(p.w.now) { // it has fired
		p.timer = time.Time{}
	}
	c := p.cronJob()
	if c.owner.UID == "" {
		p.forget("")
		p.timer = time.Time{}
		return nil
	}
	if p.uid != c.owner.UID {
		p.forget(c.owner.UID)
		c = p.cronJob()
	}
	a := &attempt{process: p, base: c, known: map[types.UID]object{}, fresh: p.fresh(), version: p.w.server.version,
		failed: map[cron.Step]bool{}, deleted: map[types.UID]bool{}, stuck: map[types.UID]bool{}}
	a.began = scheduleOf(c.spec)
	p.syncs++
	a.nth = p.syncs
	a.in = cron.Input{Now: p.w.now, Traits: p.w.traits, Owner: c.owner, Spec: c.spec, StoredStatus: c.state, Carry: p.carry}
	for _, o := range p.family() {
		a.in.Children = append(a.in.Children, o.Child)
		a.known[o.UID] = o
	}
	a.block()
	return a
}

// editKnownFrom is up to when another schedule than the last one may be silent. While the process runs that is now.
// After a restart it is not known better than by the field manager's last edit of anything; where that edit is older
// than what was recorded since, or the entry of the manager who made it is gone, it is now again.
func (a *attempt) editKnownFrom() time.Time {
	recorded := latest(a.in.Owner.Created, noteOf(a.in.StoredStatus).Since)
	if last := a.in.StoredStatus.LastSchedule; last != nil {
		recorded = latest(recorded, *last)
	}
	zoneGone := noteOf(a.in.StoredStatus).TimeZone != "" && a.in.Spec.TimeZone == nil
	if a.served != "" || a.base.undated || zoneGone || !a.in.Owner.ScheduleUnchangedSince.After(recorded) {
		return latest(a.in.Now, a.in.Owner.ScheduleUnchangedSince)
	}
	return a.in.Owner.ScheduleUnchangedSince
}

// annotated is what the annotation says.
type annotated struct {
	Schedules     []string
	TimeZone      string
	Since, Missed time.Time
}

func noteOf(state cron.Status) (n annotated) {
	if state.Timetable != "" && json.Unmarshal([]byte(state.Timetable), &n) != nil {
		return annotated{}
	}
	return n
}

// block notes whether anything may rightly hold up a start that must not overlap.
func (a *attempt) block() {
	for _, o := range a.known {
		a.blocked = a.blocked || o.of == a.uid && o.running() && !o.rests()
	}
	for _, o := range a.w.server.children {
		a.blocked = a.blocked || o.of == a.uid && o.running() && !o.rests()
	}
	for _, ref := range a.in.StoredStatus.Active { // also what is no longer ours
		o, ok := a.w.server.find(ref.UID)
		a.blocked = a.blocked || ok && o.running()
	}
}

// step makes the next request of the sync, or ends it.
func (a *attempt) step() {
	if len(a.todo) == 0 {
		plan := cron.Decide(a.in)
		if a.rounds++; a.rounds > 3*maxRounds {
			a.w.broken("a sync does not end:\n%s", plan)
		}
		if a.todo = a.requests(plan); a.ended {
			return
		}
	}
	next := a.todo[0]
	a.todo = a.todo[1:]
	next()
}

// requests turns the next phase of the plan into requests. It ends the sync, or its first half, if there are none.
func (a *attempt) requests(plan cron.Plan) (todo []func()) {
	if scheduleOf(a.in.Spec) != a.served {
		a.w.ledger.silence(a.uid, a.editKnownFrom())
		a.meets()
		if a.base.undated && a.served == "" && noteOf(a.in.StoredStatus).TimeZone == "" {
			a.w.ledger.unknown[a.uid] = a.base.edited // nobody remembers that there was a time zone, and nothing dates its end
		}
	}
	phase := plan.NextStep()
	if a.halved && !a.second && phase > cron.StepStart {
		a.second = true
		a.startsAreDone(plan)
		a.process.open = nil
		if phase != cron.StepPublish {
			a.secondHalves = append(a.secondHalves, a)
		}
	}
	steps, did := plan.Stop, a.in.AddStopResult
	switch phase {
	case cron.StepRead:
		a.wakesInTime(plan) // should the shell give up here
		for _, l := range plan.Read {
			todo = append(todo, func() { a.look(l) })
		}
	case cron.StepStart:
		todo = append(todo, func() { a.start(*plan.Start) })
	case cron.StepRecord:
		todo = append(todo, func() { a.record(*plan.Record) })
	case cron.StepPrune:
		steps, did = plan.Prune, a.in.AddPruneResult
		fallthrough
	case cron.StepStop:
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

// startsAreDone ends the first half of a sync: what is known is remembered, and the timer is set.
func (a *attempt) startsAreDone(plan cron.Plan) {
	a.arm(plan)
	a.remember(plan)
	a.nothingIsLost(plan)
}

// end ends the sync.
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
	a.last = latest(a.last, a.in.Now)
	a.published(plan)
	a.tells(plan)
	a.cleaned(plan)
	a.truthful(plan)
}

// remember keeps what the next sync is to be told.
func (a *attempt) remember(plan cron.Plan) {
	a.carry = plan.Carry
	// A sync that could not read the CronJob, or saw that it was edited meanwhile, remembers nothing of it.
	if was := plan.Carry.Spec(); len(was.Schedules) > 0 {
		a.served, a.touched = scheduleOf(was), a.in.Owner.ScheduleUnchangedSince
	}
}

func (a *attempt) leave() {
	a.ended = true
	if a.process.open == a {
		a.process.open = nil
	}
	a.secondHalves = slices.DeleteFunc(a.secondHalves, func(b *attempt) bool { return b == a })
}

// arm sets the timer; an earlier one stays.
func (a *attempt) arm(plan cron.Plan) {
	a.wakesInTime(plan)
	if plan.Wake.IsZero() {
		a.timer = time.Time{}
	} else if a.timer.IsZero() || plan.Wake.Before(a.timer) {
		a.timer = plan.Wake
	}
}
