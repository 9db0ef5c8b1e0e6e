// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// process is a controller process: two caches that lag, each by itself, a memory of its own writes, and the passes that
// it is in the middle of. It knows nothing else; a crash loses the memory.
type process struct {
	w    *world
	name string
	life int

	// seesCronJob and seesFamily are the versions that the caches show, as indexes of the server's.
	seesCronJob, seesFamily int
	// behind: for so many passes the caches stand still.
	behind int
	// What follows is for the CronJob with this UID. written is the CronJob as our last write or live read left it,
	// made and removed are our own creates and deletes. The caches' answer is read with them laid over it.
	uid     types.UID
	written cronJob
	made    map[types.UID]object
	removed map[types.UID]int
	memo    string
	// passes counts them, remembers is the number of the one that left the memo.
	passes, remembers int
	// served is the schedule of the last pass.
	served string

	// halved: this process makes its passes in two halves, as the shell in internal/controller/cronjob does: up to the
	// start at once, and the rest later; a new pass may begin in between when the alarm rings. Such a process finds out
	// about doubtful creates by itself before each pass. One that is not halved works as the package comment says.
	halved bool
	doubts []string
	open   *attempt
	books  []*attempt
	alarm  time.Time
}

// maker is this life of the process.
func (p *process) maker() string { return fmt.Sprintf("%s%d", p.name, p.life) }

func (p *process) tell(format string, args ...any) {
	p.w.tell(p.maker(), format, args...)
}

// restart is a crash and a new process. It begins with a fresh list, unless it takes over with a warm cache that lags.
func (p *process) restart(fresh bool) {
	p.life++
	p.open, p.books, p.alarm, p.behind = nil, nil, time.Time{}, 0
	p.forget("")
	if fresh {
		p.catchUp()
	}
}

// forget drops what is remembered; the next CronJob is another one.
func (p *process) forget(uid types.UID) {
	p.uid, p.written, p.made, p.removed = uid, cronJob{}, map[types.UID]object{}, map[types.UID]int{}
	p.memo, p.doubts, p.served = "", nil, ""
}

// catchUp lets the caches show the present.
func (p *process) catchUp() {
	p.seesCronJob, p.seesFamily = len(p.w.server.cronJobs)-1, len(p.w.server.families)-1
}

// fresh tells whether both caches show the present.
func (p *process) fresh() bool {
	return p.seesCronJob == len(p.w.server.cronJobs)-1 && p.seesFamily == len(p.w.server.families)-1
}

// cronJob is what the process knows the CronJob to be.
func (p *process) cronJob() cronJob {
	c := p.w.server.cronJobs[p.seesCronJob]
	if p.written.owner.UID == c.owner.UID && p.written.version > c.version {
		return p.written
	}
	return c
}

// family is what the process knows the namespace to hold. It contains what is not ours, too: the decision has to tell.
func (p *process) family() []object {
	cached := p.w.server.families[p.seesFamily]
	var all []object
	for _, o := range cached.children {
		all = append(all, o)
	}
	for _, o := range p.made {
		if o.version > cached.version {
			all = append(all, o)
		}
	}
	all = slices.DeleteFunc(all, func(o object) bool { return p.removed[o.UID] > cached.version && !o.held })
	for i, o := range all {
		all[i].Deleting = o.Deleting || p.removed[o.UID] > cached.version
	}
	slices.SortFunc(all, func(a, b object) int { return byText(a.Name+string(a.UID), b.Name+string(b.UID)) })
	return all
}

func byText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// attempt is one pass over the CronJob.
type attempt struct {
	*process
	number int
	in     cron.Input
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
	p.passes++
	a := &attempt{process: p, number: p.passes, base: c, known: map[types.UID]object{}, fresh: p.fresh(), version: p.w.server.version,
		failed: map[cron.PlanPhase]bool{}, deleted: map[types.UID]bool{}, stuck: map[types.UID]bool{}}
	a.in = cron.Input{Now: p.w.now, Traits: p.w.traits, Owner: c.owner, Spec: c.spec, State: c.state, Seen: p.memo}
	for _, o := range p.family() {
		a.in.Children = append(a.in.Children, o.Child)
		a.known[o.UID] = o
	}
	a.block()
	if p.halved {
		for _, name := range p.doubts {
			a.todo = append(a.todo, func() { a.settle(name) })
		}
	}
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
		a.w.ledger.silence(a.in.Owner.Touched)
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
	a.remember(plan)
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
	if a.number < a.remembers {
		return // a later pass knows more than the end of this one
	}
	a.remembers = a.number
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

// request lets something happen to a request: usually nothing; or it fails; or it is carried out and its answer is lost;
// or the process dies, before or after it. act carries it out. The answer is false when the process is dead.
func (a *attempt) request(phase cron.PlanPhase, what string, act func() error) (error, bool) {
	fate, err := a.w.fate(phase)
	if fate == fine && phase == cron.PhaseLook && a.behind > 0 && !a.w.peace && a.w.odds("no better", 1) {
		fate, err = refused, cut
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
		a.failed[phase] = a.failed[phase] || phase == cron.PhaseStop || phase == cron.PhaseRecord
	}
	return answer, true
}

func (a *attempt) die() {
	a.leave()
	a.restart(a.w.freshStarts)
}

func (a *attempt) look(l cron.Look) {
	what := "read " + l.Name
	if l.Owner {
		what = "read the CronJob"
	}
	err, alive := a.request(cron.PhaseLook, what, func() error { return nil })
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
			a.failed[cron.PhaseLook] = true
		}
		a.in.SawOwner(live.owner, live.spec, live.state, err)
		if err == nil {
			a.base, a.written, a.looked = live, live, true
			a.block()
		}
	default:
		a.sawChild(l, err)
	}
}

func (a *attempt) sawChild(l cron.Look, err error) {
	a.looksInside(l)
	if !a.w.peace && a.w.odds("deleted under our eyes", 4) {
		a.w.outsiderDeletes(l.Name)
	}
	o, ok := a.w.server.children[l.Name]
	if err != nil || !ok {
		if err == nil {
			a.gone, a.foreign = true, false
		}
		a.in.SawChild(l, nil, err)
	} else {
		_, known := a.known[o.UID]
		a.gone = a.gone || !known // it was another one that was to be read
		a.known[o.UID] = o
		a.block()
		a.in.SawChild(l, &o.Child, nil)
	}
	if err == nil {
		a.resolved(l.Name)
	}
}

// resolved ends a doubt; a child that it was about is an own write of which the answer came late.
func (a *attempt) resolved(name string) {
	if !slices.Contains(a.doubts, name) {
		return
	}
	a.doubts = slices.DeleteFunc(slices.Clone(a.doubts), func(n string) bool { return n == name })
	if o, ok := a.w.server.children[name]; ok && o.Controller != nil && o.Controller.UID == a.uid {
		a.made[o.UID] = o
	}
}

// settle finds out about a create of an earlier pass whose answer got lost. Until it is known there is no pass.
func (a *attempt) settle(name string) {
	err, alive := a.request(cron.PhaseLook, "find out about "+name, func() error { return nil })
	if !alive {
		return
	}
	if err != nil {
		a.arm(cron.Decide(a.in))
		a.leave()
		return
	}
	a.resolved(name)
	if o, ok := a.w.server.children[name]; ok {
		a.known[o.UID] = o
		a.in.Children = append(a.in.Children, o.Child)
		a.block()
	}
}

func (a *attempt) remove(phase cron.PlanPhase, s cron.Step, did func(cron.Step, error)) {
	verb := "prune "
	if phase == cron.PhaseStop {
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
	err, alive := a.request(cron.PhaseStart, "create "+start.Name, func() (err error) {
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
		if a.halved && unclear(err) && !slices.Contains(a.doubts, start.Name) {
			a.doubts = append(slices.Clip(a.doubts), start.Name)
		}
		a.unanswered = made
		a.in.DidStart(start, nil, err)
	default:
		a.made[made.UID] = made
		a.known[made.UID] = made
		a.started = &made
		a.w.ledger.told(made)
		a.in.DidStart(start, &made.Child, nil)
	}
}

// unclear tells whether nobody knows what became of the request.
func unclear(err error) bool {
	code := 0
	if status, ok := err.(apierrors.APIStatus); ok {
		code = int(status.Status().Code)
	}
	return code < 400 || code >= 500 || code == 408
}

func (a *attempt) record(r cron.Record) {
	rides := a.w.traits.TimetableRides
	var second error
	var after cronJob
	err, alive := a.request(cron.PhaseRecord, "record", func() error {
		if r.Status && r.Timetable && !rides {
			_, second = a.w.fate(cron.PhaseRecord)
		}
		before := a.w.server.cronJob
		err := a.w.server.record(a.base, r, rides, second)
		if a.w.server.cronJob.version != before.version {
			a.writes++
			a.tell("%s", r)
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
	a.in.DidRecord(err)
}
