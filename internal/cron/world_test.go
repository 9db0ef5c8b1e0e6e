// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/cron"
)

// world is a server with a CronJob, one or two controller processes in front of it whose caches lag, users who
// interfere, and time that goes by.
//
//	server_test.go      the truth, and all that it ever was
//	process_test.go     a process: two caches, its own writes laid over them, and what it remembers
//	attempt_test.go     one sync of a process, which can be held up or cut off between any two requests
//	requests_test.go    the requests of a sync
//	trouble_test.go     what goes wrong with requests, with the server and with the clock
//	user_test.go        what users, strangers and other controllers do
//	rhythm_test.go      the schedules, and when they fire by another reckoning than ours
//	ledger_test.go      what really happened
//	guarantees_test.go  what is checked when something is started, deleted or recorded
//	syncs_test.go       what is checked when a sync has done its starts, and when it ends
//	reported_test.go    what is checked of the events about scheduled times that did not start
type world struct {
	t      *rapid.T
	kind   string
	traits *cron.KindTraits
	now    time.Time
	story  []string

	server    *server
	processes []*process
	ledger    ledger
	// used are the schedules and zones that the CronJob had.
	used map[[2]string]bool

	// outage is what fails for a while. rough is how seldom single requests fail: each with a chance of one in
	// 2^rough; zero for never.
	outage map[cron.Step]error
	rough  int
	// lag is how seldom the caches catch up; freshStarts: a new process begins with a fresh list.
	// alone: there is one process at a time, and it begins with a fresh list.
	lag                int
	freshStarts, alone bool
	// peace: nothing goes wrong any more.
	peace bool
	// enumerated is up to when scheduled times were noted (tick). clockSet: somebody has set the clock.
	enumerated time.Time
	clockSet   bool
}

// history is what came of one world. It is drawn as a whole, so that a failing test tells its story and not each throw
// of the dice.
type beyondHistoryLimits struct {
	kind  string
	wrong string
	story []string
}

// GoString is what rapid prints of a drawn history.
func (h beyondHistoryLimits) GoString() string {
	return fmt.Sprintf("kind %s, %d events", h.kind, len(h.story))
}

// wrong is the panic that ends a history.
type wrong string

// broken ends the history: a guarantee does not hold.
func (w *world) broken(format string, args ...any) { panic(wrong(fmt.Sprintf(format, args...))) }

func (w *world) tell(who, format string, args ...any) {
	w.story = append(w.story, fmt.Sprintf("%s %-13s %s", w.now.Format("15:04:05.0"), who, fmt.Sprintf(format, args...)))
}

// odds is true once in 2^n times.
func (w *world) odds(what string, n int) bool {
	for range n {
		if !rapid.Bool().Draw(w.t, what) {
			return false
		}
	}
	return true
}

// roll is a number below n, each as likely as the other, more or less.
func (w *world) roll(what string, n int) int {
	v := 0
	for bit := 1; bit < n; bit *= 2 {
		if v *= 2; rapid.Bool().Draw(w.t, what) {
			v++
		}
	}
	return v % n
}

func choose[T any](w *world, what string, from []T) T { return from[w.roll(what, len(from))] }

func newWorld(t *rapid.T) *world {
	w := &world{t: t, now: at("12:00:17"), ledger: newLedger(), outage: map[cron.Step]error{}}
	w.kind = choose(w, "kind", []string{"K", "V", "T", "K"})
	w.traits = traits[w.kind]
	w.server = &server{children: map[string]object{}, families: []family{{}}}
	w.server.gone = func(o object) { w.ledger.gone(o, w.server.cronJob) }
	w.rough = choose(w, "rough", []int{4, 3, 2, 0})
	w.lag = w.roll("lag", 4)
	w.freshStarts, w.alone = true, true
	names := []string{"A"}
	if w.odds("two leaders", 1) {
		w.alone = false
		names = append(names, "B")
		w.freshStarts = w.odds("fresh starts", 1)
	}
	w.apply()
	for _, name := range names {
		p := &process{w: w, name: name, halved: w.odds("halved", 1)}
		p.restart(true)
		w.processes = append(w.processes, p)
	}
	return w
}

// TestWorld: the guarantees of the design (section 5, numbers 1 to 4 and 6 to 8) hold in every world, and when the
// trouble is over the status is right and each scheduled time is served at its instant.
//
// What goes wrong, in any combination: caches lag by any time, that of the CronJob and that of the children each by
// itself; requests are refused or carried out without an answer, write conflicts; the process dies before or after any
// request; syncs are held up between any two requests while time and everything else go on; two processes believe
// that they lead; the clock is set back; the machine sleeps; a quota, a webhook or a broken status refuses for a long
// time; children cannot be deleted, or stay for a while; users edit everything, suspend, delete the CronJob and make it
// again, start runs by hand, delete and orphan children; strangers' objects hold our names; nonsense is written into
// the status.
//
// What holds when:
//
//  1. At most one child for each UID and scheduled time. The name locks it while the child exists, and lastScheduleTime
//     after that. So it holds for a process that has seen the one or the other. Where somebody else deletes a child
//     before any status write could record its time, the process that knew it remembers; only its death loses the
//     memory. Where two processes lead, or one takes over with an old cache, it holds unless the child has come and
//     gone between what that cache shows and now.
//  2. Forbid never starts beside an unfinished child, and Replace never beside one that it has not stopped. It holds
//     against every child that the process made itself, whatever its caches show and whether or not it was told; and
//     against those of former processes, other leaders and users from the moment at which one of the caches shows the
//     child or its entry in the status. The cache of a new process shows all earlier ones if its list is fresh.
//  3. Every sync over the present spec starts the latest scheduled time unless it is beyond the deadline, up to an
//     edit, suspended, forbidden by an unfinished child, or a stranger has its name; or else the sync fails because a
//     read, the create or a stop failed, and is repeated. No sync fails to start because of a status write, a prune or
//     an old cache. Whatever happens in it, it asks to be woken at the next scheduled time or before. Exactly the
//     latest time starts, whatever was missed (kind T rests after more than 100).
//  4. Nothing starts for a time up to the edit that set its schedule. When nobody remembers the former schedule, a
//     later edit of something else by the same field manager counts, too: what 3 loses by that, 4 must not.
//  6. After any sync whose deletes and writes work, the limits hold for everything that it knew, whether or not its
//     start was refused, and although others cannot be deleted.
//  7. Every wake-up is in the future, a sync that is repeated over the same state does and says nothing.
//  8. Nothing that others write makes a sync fail, panic, or touch what is not its own; and nothing fails in silence:
//     each scheduled time that did not start is reported once (reported_test.go).
//
// Besides: what is pruned was recorded before (B3); no recorded time goes back (Q5); the status never loses what runs.
func TestWorld(t *testing.T) {
	worlds := rapid.Custom(live)
	rapid.Check(t, func(t *rapid.T) {
		if h := worlds.Draw(t, "history"); h.wrong != "" {
			t.Fatalf("%s\n%s", h.wrong, strings.Join(h.story, "\n"))
		}
	})
}

// live is one history.
func live(t *rapid.T) (h beyondHistoryLimits) {
	w := newWorld(t)
	defer func() {
		h = beyondHistoryLimits{kind: w.kind, story: w.story}
		if r := recover(); r != nil {
			what, ok := r.(wrong)
			if !ok {
				panic(r)
			}
			h.wrong = string(what)
		}
	}()
	for range 8 + w.roll("length", 64) {
		w.happen()
	}
	w.settle()
	return h
}

// happen is the next event.
func (w *world) happen() {
	w.tick()
	switch w.roll("event", 16) {
	case 0, 1, 2, 3, 4:
		w.sync(choose(w, "process", w.processes))
	case 5, 6, 7, 8, 9:
		w.pass()
	case 10:
		w.finishSome()
	case 11, 12:
		w.follow(choose(w, "process", w.processes))
	case 13:
		w.edit()
	case 14:
		w.meddle()
	default:
		switch w.roll("trouble", 4) {
		case 0:
			p := choose(w, "process", w.processes)
			p.tell("dies")
			p.restart(w.freshStarts)
			if w.odds("edited meanwhile", 1) {
				w.edit()
			}
		case 1:
			w.setClock()
		default:
			w.breakOrMend()
		}
	}
}

// pass lets time go by: usually until a timer fires.
func (w *world) pass() {
	p := choose(w, "process", w.processes)
	switch how := w.roll("time", 8); {
	case how < 5 && p.timer.After(w.now):
		w.now = p.timer
		w.finishSome()
		w.sync(p)
	case how < 6:
		w.now = w.now.Add(time.Duration(w.roll("tenths", 256)) * 100 * time.Millisecond)
	case how < 7:
		w.now = w.now.Add(time.Duration(w.roll("seconds", 512)) * time.Second)
	default:
		w.now = w.now.Add(time.Duration(w.roll("minutes", 128)) * time.Minute)
		w.tell("clock", "the machine has slept")
	}
}

// follow lets the caches of a process move on, each by itself.
func (w *world) follow(p *process) {
	if p.behind > 0 {
		return
	}
	if p.seesCronJob < len(w.server.cronJobs)-1 && w.odds("the CronJob's", 1) {
		p.seesCronJob += 1 + w.roll("versions", len(w.server.cronJobs)-1-p.seesCronJob)
	}
	if p.seesFamily < len(w.server.families)-1 && w.odds("the children's", 1) {
		p.seesFamily += 1 + w.roll("versions", len(w.server.families)-1-p.seesFamily)
	}
}

// sync goes on with a sync that is open or begins one, and makes its requests until it ends or is held up.
func (w *world) sync(p *process) {
	if p.behind > 0 {
		p.behind--
	} else if w.odds("in step", w.lag) {
		p.catchUp()
	}
	a := p.open
	if a == nil && len(p.secondHalves) > 0 && (p.timer.After(w.now) || w.odds("books first", 1)) {
		a = p.secondHalves[0]
	}
	if a == nil {
		if a = p.begin(); a == nil {
			return
		}
		p.open = a
	}
	for second := a.second; !a.ended && a.second == second; a.step() {
		if w.odds("held up", 4) {
			return
		}
	}
	if !a.ended && p.secondHalves[0] == a && w.odds("books at once", 1) {
		for !a.ended {
			a.step()
		}
	}
}

// settle ends all trouble. Then a few syncs put everything right, and from then on each scheduled time is served at its
// instant.
func (w *world) settle() {
	w.tick()
	w.tell("world", "is at peace")
	w.outage, w.rough, w.peace = map[cron.Step]error{}, 0, true
	if w.server.cronJob.owner.UID == "" || w.server.cronJob.owner.Deleting {
		w.server.set(cronJob{})
		w.apply()
	}
	c := w.server.cronJob
	for !rhythmOf(c.spec).fires() {
		w.reschedule(&c)
	}
	c.spec.Suspend = false
	if w.traits.ManyRefused {
		c.spec.Deadline = new(int64(600)) // as its message advises
	}
	c.owner.Generation++
	c.owner.ScheduleUnchangedSince = w.now.Truncate(time.Second)
	w.server.set(c)
	w.tell("user", "leaves the CronJob alone: %s", describe(c.spec))
	for _, name := range w.server.names() {
		switch o := w.server.children[name]; {
		case o.of != c.owner.UID || o.Controller == nil || o.held && o.Deleting:
			w.server.drop(name)
		default:
			o.stubborn, o.held = false, false
			w.server.put(o)
		}
	}
	p := w.processes[0]
	w.processes = w.processes[:1]
	w.freshStarts = true
	if w.odds("a last crash", 1) {
		p.restart(true)
	}
	for range 3 {
		w.calm(p)
		for _, name := range w.server.names() {
			if o := w.server.children[name]; o.running() {
				w.finish(o)
			}
		}
		w.calm(p)
		if !p.timer.After(w.now) {
			w.broken("guarantee 3: no timer is set: %v", p.timer)
		}
		w.now = p.timer
	}
	w.allTold(p)
	for phase, limit := range map[cron.ChildPhase]*int32{cron.Complete: c.spec.KeepSuccessful, cron.Failed: c.spec.KeepFailed} {
		n := 0
		for _, o := range w.server.children {
			if o.of == c.owner.UID && o.Phase == phase {
				n++
			}
		}
		if limit != nil && n > int(*limit) {
			w.broken("%d children that are %s are left, the limit is %d", n, phase, *limit)
		}
	}
}

// calm makes syncs that see everything, until one goes well.
func (w *world) calm(p *process) {
	for range 4 {
		for p.open != nil || len(p.secondHalves) > 0 {
			a := p.open
			if a == nil {
				a = p.secondHalves[0]
			}
			for !a.ended && (a.second || p.open == a) {
				a.step()
			}
		}
		p.catchUp()
		a := p.begin()
		if a == nil {
			w.broken("the CronJob is not seen")
		}
		p.open = a
		for !a.ended {
			a.step()
		}
		if a.plan.Err == nil {
			return
		}
	}
	w.broken("syncs go on failing although nothing is wrong")
}
