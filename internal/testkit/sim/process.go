// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

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
	timers []processTimers
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
	clock.steps = append(clock.steps, p.recheckTimers)
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
