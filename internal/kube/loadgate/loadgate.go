// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loadgate delays calls to the API server that can wait while urgent ones are under way (ADR 0008).
//
// When thousands of CronJobs are due at one instant, status writes and events cost the API server as much as the starts
// do, and nobody waits for them. So there are two kinds of work:
//
//   - Urgent work is counted: BeginUrgent before it and EndUrgent after it, or BeginCall around one request, which also
//     measures how slow the server is.
//   - Work that can wait asks: WaitIdle blocks until no urgent work is under way, but only for so long, so that under a
//     load that does not end the rest is written too; Busy answers at once.
package loadgate

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Gate counts urgent work. The zero value is not usable; use New. All methods may be called by several
// goroutines at once. A nil *Gate is never busy.
type Gate struct {
	clock clock.Clock

	mu     sync.Mutex
	urgent int
	idle   chan struct{} // closed while urgent is zero
	// slowUntil is when the server no longer counts as slow.
	slowUntil time.Time
}

const (
	// slowCall is the duration from which a call shows that the server is overloaded. One that is not answers within a
	// few milliseconds.
	slowCall = 30 * time.Millisecond
	// slowFor is how long the server counts as slow after such a call.
	slowFor = 250 * time.Millisecond
)

// New returns a Gate with no urgent work.
func New(c clock.Clock) *Gate {
	g := &Gate{clock: c, idle: make(chan struct{})}
	close(g.idle)
	return g
}

// BeginUrgent counts n pieces of urgent work that begin; each must be ended with EndUrgent.
func (g *Gate) BeginUrgent(n int) {
	if g == nil || n <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.urgent == 0 {
		g.idle = make(chan struct{})
	}
	g.urgent += n
}

// EndUrgent counts one piece of urgent work as ended.
func (g *Gate) EndUrgent() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.urgent == 0 {
		return
	}
	g.urgent--
	if g.urgent == 0 {
		close(g.idle)
	}
}

// BeginCall counts one urgent call to the API server, until end is called. A call that took long keeps the Gate busy
// for a moment after its end: a server that is slow to answer is overloaded, whoever causes the load.
func (g *Gate) BeginCall() (end func()) {
	if g == nil {
		return func() {}
	}
	g.BeginUrgent(1)
	began := g.clock.Now()
	return func() {
		if now := g.clock.Now(); now.Sub(began) >= slowCall {
			g.mu.Lock()
			g.slowUntil = now.Add(slowFor)
			g.mu.Unlock()
		}
		g.EndUrgent()
	}
}

// Busy reports whether urgent work is under way or the server is slow.
func (g *Gate) Busy() bool {
	if g == nil {
		return false
	}
	idle, slow := g.state()
	select {
	case <-idle:
		return slow > 0
	default:
		return true
	}
}

// WaitIdle blocks until the Gate is not busy, for the duration limit at most, or until ctx ends. It reports whether the
// Gate is not busy: false means that the caller goes on although urgent work is under way.
func (g *Gate) WaitIdle(ctx context.Context, limit time.Duration) (idle bool) {
	if g == nil || !g.Busy() {
		return true
	}
	over := g.clock.After(limit)
	for g.Busy() {
		idle, _ := g.state()
		select {
		case <-idle:
		case <-ctx.Done():
			return false
		case <-over:
			return false
		}
		_, slow := g.state()
		select {
		case <-g.clock.After(slow):
		case <-ctx.Done():
			return false
		case <-over:
			return false
		}
	}
	return true
}

// state is a channel that is closed when no urgent work is under way, and for how long the server counts as slow.
func (g *Gate) state() (idle <-chan struct{}, slow time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.slowUntil.IsZero() {
		slow = min(g.slowUntil.Sub(g.clock.Now()), slowFor) // a clock that was set back makes it no longer
	}
	return g.idle, slow
}
