// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Process is one process of controllers: a client, caches that follow the
// server, queues, and whatever the controllers remember, which is the test's to
// make anew for each process.
type Process struct {
	Name   string
	World  *World
	Server *Server
	// Clock is that of its machine.
	Clock  *Clock
	Client *Client
	// Lag says how late a cache sees a change, which is the n-th of its kind; nil: at once.
	Lag func(kind string, n int) time.Duration
	// Echo says how long after its cache a handler hears of a change; nil: at once.
	Echo func(kind string, n int) time.Duration

	dead   bool
	paused time.Duration
	caches []*Cache
	queues []*Queue
	alarms []alarm
	// requests counts what was sent, did what reached the server, saw what the caches saw.
	requests *int
	did, saw int
}

// NewProcess starts a process. requests, if not nil, counts its requests on.
func (s *Server) NewProcess(name string, clock *Clock, requests *int) *Process {
	if requests == nil {
		requests = new(int)
	}
	p := &Process{Name: name, World: s.World, Server: s, Clock: clock, requests: requests}
	p.Client = &Client{server: s, process: p}
	clock.steps = append(clock.steps, p.recheck)
	s.OnChange(p.notice)
	s.World.Story.Tell(name, "starts")
	return p
}

// Dead reports whether the process has ended.
func (p *Process) Dead() bool { return p.dead }

// Kill ends the process: what it is in the middle of does not go on, and what it knew is lost.
func (p *Process) Kill(why string) {
	if p.dead {
		return
	}
	p.dead = true
	p.World.Story.Tell(p.Name, "dies %s", why)
}

// Pause makes the process stand still for a while, as one does that is out of
// CPU, or whose machine is out of reach; afterwards it goes on as if nothing had been.
func (p *Process) Pause(d time.Duration) {
	p.paused = max(p.paused, p.World.now+d)
	p.World.Story.Tell(p.Name, "stands still for %s", d)
}

// Stall lets the caches of a kind, or of all kinds if it is empty, see nothing for a while.
func (p *Process) Stall(kind string, d time.Duration) {
	for _, c := range p.caches {
		if kind == "" || kind == c.kind {
			c.stall(d)
		}
	}
}

// Relist lets all caches lose their watches and list anew.
func (p *Process) Relist() {
	for _, c := range p.caches {
		c.relist()
	}
}

// Resume ends all pauses and all delays of its caches.
func (p *Process) Resume() {
	p.paused = 0
	for _, c := range p.caches {
		c.stalled = 0
		c.catchUp()
	}
}

// at lets the process do something later, if it lives and when it moves.
func (p *Process) at(at time.Duration, do func()) {
	p.World.At(at, func() {
		switch {
		case p.dead:
		case p.paused > p.World.now:
			p.at(p.paused, do)
		default:
			do()
		}
	})
}

func (p *Process) notice(c *Change) {
	if p.dead {
		return
	}
	for _, cache := range p.caches {
		if cache.kind == c.Kind {
			cache.expect()
		}
	}
}

// An AlarmClock wakes keys at instants of the wall clock; *alarm.Clock is one.
type AlarmClock interface {
	Next(types.NamespacedName) (time.Time, bool)
	Cancel(types.NamespacedName)
}

type alarm struct {
	clock AlarmClock
	keys  func() []types.NamespacedName
	ring  *Queue
	next  map[types.NamespacedName]time.Time
}

// Wake makes an alarm clock of the process ring into a queue. keys are all keys for which it may be set.
func (p *Process) Wake(clock AlarmClock, keys func() []types.NamespacedName, ring *Queue) {
	p.alarms = append(p.alarms, alarm{clock, keys, ring, map[types.NamespacedName]time.Time{}})
}

// wind looks what the alarms are set to. It is called after everything that may set one.
func (p *Process) wind() {
	for i := range p.alarms {
		a := &p.alarms[i]
		for _, key := range a.keys() {
			at, set := a.clock.Next(key)
			if !set {
				delete(a.next, key)
				continue
			}
			if was, known := a.next[key]; known && was.Equal(at) {
				continue
			}
			a.next[key] = at
			p.watch(a, key, at, at.Sub(p.Clock.Now()))
		}
	}
}

// watch waits until an alarm is due, and then looks again: it may have been set
// to another time, and the clock may have been set.
func (p *Process) watch(a *alarm, key types.NamespacedName, at time.Time, in time.Duration) {
	p.at(p.World.now+max(0, in), func() {
		if next, known := a.next[key]; !known || !next.Equal(at) {
			return
		}
		left := at.Sub(p.Clock.Now())
		if left > 0 {
			p.watch(a, key, at, left)
			return
		}
		delete(a.next, key)
		if set, ok := a.clock.Next(key); ok && !set.After(p.Clock.Now()) {
			a.clock.Cancel(key)
			a.ring.Add(reconcile.Request{NamespacedName: key})
		}
		p.wind()
	})
}

// recheck is what alarm clocks do when the clock was set: they find out within ten seconds.
func (p *Process) recheck() {
	for i := range p.alarms {
		clear(p.alarms[i].next)
	}
	p.at(p.World.now+p.World.Dice.Between(0, 10*time.Second, "recheck", Key(p.Name), uint64(p.World.now)), p.wind)
}
