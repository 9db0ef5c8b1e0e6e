// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// Start is what a clock that is right shows when a world begins, unless the world says otherwise.
var Start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// Clock is the clock of one machine: right, but for what it was stepped by. It
// is a [clock.Clock] that tells the time; nobody can wait for it, since nothing
// waits in a world.
type Clock struct {
	world *World
	off   time.Duration
	steps []func()
}

// NewClock returns a clock that is wrong by off.
func (w *World) NewClock(off time.Duration) *Clock { return &Clock{world: w, off: off} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time { return c.world.Start.Add(c.world.now + c.off) }

// Since is the time from t until now, as the clock shows it.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Step sets the clock forward, or back. A machine that sleeps finds its clock
// stepped forward when it wakes.
func (c *Clock) Step(by time.Duration) {
	c.off += by
	for _, tell := range c.steps {
		tell()
	}
}

// stamp is the time as objects carry it.
func (c *Clock) stamp() metav1.Time { return metav1.NewTime(c.Now().Truncate(time.Second)) }

const noWaiting = "sim: nobody can wait for a simulated clock; use the agenda"

// After cannot be used.
func (c *Clock) After(time.Duration) <-chan time.Time { panic(noWaiting) }

// NewTimer cannot be used.
func (c *Clock) NewTimer(time.Duration) clock.Timer { panic(noWaiting) }

// Sleep cannot be used.
func (c *Clock) Sleep(time.Duration) { panic(noWaiting) }

// Tick cannot be used.
func (c *Clock) Tick(time.Duration) <-chan time.Time { panic(noWaiting) }

var _ clock.Clock = (*Clock)(nil)
