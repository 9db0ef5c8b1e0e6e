// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loadgate lets work that can wait stand back while work that is due goes first.
//
// When thousands of CronJobs are due at one instant, each start is worth more than any status write or event: both
// cost the API server as much as a start does; and of thousands of Jobs, Pods and ends are what is waited for. What is
// urgent Enters the Gate, or is a Call; everything else Waits in front of it, or asks whether it is Busy, but never
// for ever, so that a plane under constant pressure still gets the rest written.
package loadgate

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Gate counts urgent work. The zero value is not usable; use New. All methods may be called by several
// goroutines at once. A nil *Gate lets everything pass.
type Gate struct {
	clock clock.Clock

	mu     sync.Mutex
	urgent int
	calm   chan struct{} // closed while urgent is zero
	// until is when the server counts as slow no more.
	until time.Time
}

const (
	// slow is how long an urgent call takes at least if the server has more to do than it can. One that is at ease
	// answers within a few milliseconds.
	slow = 30 * time.Millisecond
	// aftermath is for how long after such a call.
	aftermath = 250 * time.Millisecond
)

// New returns a Gate with no urgent work.
func New(c clock.Clock) *Gate {
	g := &Gate{clock: c, calm: make(chan struct{})}
	close(g.calm)
	return g
}

// Enter announces n pieces of urgent work; each must be ended with Leave.
func (g *Gate) Enter(n int) {
	if g == nil || n <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.urgent == 0 {
		g.calm = make(chan struct{})
	}
	g.urgent += n
}

// Leave ends one piece of urgent work.
func (g *Gate) Leave() {
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
		close(g.calm)
	}
}

// Call announces one urgent call to the API server, which must be ended with end. A call that took long keeps the Gate
// busy for a moment after its end: a server that is slow to answer has more to do than it can, whoever asks it for that.
func (g *Gate) Call() (end func()) {
	if g == nil {
		return func() {}
	}
	g.Enter(1)
	began := g.clock.Now()
	return func() {
		if now := g.clock.Now(); now.Sub(began) >= slow {
			g.mu.Lock()
			g.until = now.Add(aftermath)
			g.mu.Unlock()
		}
		g.Leave()
	}
}

// Busy reports whether urgent work is under way, or the server is slow.
func (g *Gate) Busy() bool {
	if g == nil {
		return false
	}
	calm, rest := g.state()
	select {
	case <-calm:
		return rest > 0
	default:
		return true
	}
}

// Wait returns once no urgent work is under way and the server is not slow, at the latest after most, or when ctx ends.
// It reports which: calm is false when the work that is urgent goes on.
func (g *Gate) Wait(ctx context.Context, most time.Duration) (calm bool) {
	if g == nil || !g.Busy() {
		return true
	}
	limit := g.clock.After(most)
	for g.Busy() {
		quiet, _ := g.state()
		select {
		case <-quiet:
		case <-ctx.Done():
			return false
		case <-limit:
			return false
		}
		_, rest := g.state()
		select {
		case <-g.clock.After(rest):
		case <-ctx.Done():
			return false
		case <-limit:
			return false
		}
	}
	return true
}

// state is a channel that is closed when no urgent work is under way, and for how long the server counts as slow.
func (g *Gate) state() (calm <-chan struct{}, rest time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.until.IsZero() {
		rest = min(g.until.Sub(g.clock.Now()), aftermath) // a clock that was set back makes it no longer
	}
	return g.calm, rest
}
