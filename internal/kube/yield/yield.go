// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package yield lets work that can wait stand back while work that is due goes first.
//
// When thousands of CronJobs are due at one instant, each start is worth more than any status write or event: both
// cost the API server as much as a start does. Starts Enter the Gate; everything else Waits in front of it, but
// never for ever, so that a plane under constant pressure still gets its statuses and events written.
package yield

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
}

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

// Busy reports whether urgent work is under way.
func (g *Gate) Busy() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.urgent > 0
}

// Wait returns once no urgent work is under way, at the latest after most, or when ctx ends.
func (g *Gate) Wait(ctx context.Context, most time.Duration) {
	if g == nil {
		return
	}
	g.mu.Lock()
	calm := g.calm
	g.mu.Unlock()
	select {
	case <-calm:
		return
	default:
	}
	select {
	case <-calm:
	case <-ctx.Done():
	case <-g.clock.After(most):
	}
}
