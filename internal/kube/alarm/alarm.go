// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm wakes keys at instants of the wall clock.
//
// A schedule names wall-clock time, but timers run on a monotonic clock that knows nothing of a clock that was set,
// or of a laptop that slept. A Clock therefore never sleeps longer than Recheck before it reads the wall clock again:
// what has become due by a jump forward rings within that time, and what a jump backward has moved into the future
// waits again (cronjob.md B5). It rings at the instant itself, not after a safety margin: a timer that goes off early
// finds the wall clock short of the instant and sleeps the rest.
package alarm

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// Recheck is the longest time between two looks at the wall clock.
	Recheck = 10 * time.Second
	// Tolerance is how far the wall clock may stray from the timer between two looks before it counts as a jump.
	Tolerance = 2 * time.Second
)

// Options configure a Clock.
type Options[K comparable] struct {
	// Clock is read and slept on; nil: the real one.
	Clock clock.Clock
	// Ring is called with all keys that are due, from the goroutine of Run and without locks held.
	Ring func(due []K)
	// Jumped, if not nil, is told by how much the wall clock moved more (or, negative, less) than time passed: it was
	// set, the machine slept, or the process stood still.
	Jumped func(by time.Duration)
}

// Clock holds at most one instant for each key. All methods may be called by several goroutines at once.
type Clock[K comparable] struct {
	options Options[K]
	changed chan struct{} // holds a token when the earliest instant may have moved

	mu    sync.Mutex
	byKey map[K]*entry[K]
	queue queue[K]
}

type entry[K comparable] struct {
	key   K
	at    time.Time
	index int
}

// New returns a Clock that rings once Run is called.
func New[K comparable](options Options[K]) *Clock[K] {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	return &Clock[K]{options: options, changed: make(chan struct{}, 1), byKey: map[K]*entry[K]{}}
}

// Wake makes key ring at the instant at, or at once if that has passed. An earlier instant that is already set for
// the key stays.
func (c *Clock[K]) Wake(key K, at time.Time) {
	at = at.Round(0) // wall clock only
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	switch {
	case e == nil:
		e = &entry[K]{key: key, at: at}
		c.byKey[key] = e
		heap.Push(&c.queue, e)
	case at.Before(e.at):
		e.at = at
		heap.Fix(&c.queue, e.index)
	default:
		return
	}
	if e.index == 0 {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// Cancel removes the key.
func (c *Clock[K]) Cancel(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		heap.Remove(&c.queue, e.index)
		delete(c.byKey, key)
	}
}

// Next tells when key will ring.
func (c *Clock[K]) Next(key K) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		return e.at, true
	}
	return time.Time{}, false
}

// Len tells how many keys wait.
func (c *Clock[K]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// Run rings until ctx ends. It may run once at a time.
func (c *Clock[K]) Run(ctx context.Context) {
	for {
		now := c.options.Clock.Now().Round(0)
		due, sleep := c.due(now)
		if len(due) > 0 {
			c.options.Ring(due)
			continue
		}
		timer := c.options.Clock.NewTimer(sleep)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.changed:
			timer.Stop()
		case <-timer.C():
			passed := c.options.Clock.Now().Round(0).Sub(now)
			if by := passed - sleep; c.options.Jumped != nil && (by > Tolerance || by < -Tolerance) {
				c.options.Jumped(by)
			}
		}
	}
}

// due removes and returns what is due at now, or else tells how long to sleep.
func (c *Clock[K]) due(now time.Time) (due []K, sleep time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 {
		e := c.queue[0]
		if e.at.After(now) {
			return due, min(e.at.Sub(now), Recheck)
		}
		heap.Pop(&c.queue)
		delete(c.byKey, e.key)
		due = append(due, e.key)
	}
	return due, Recheck
}

// queue is a heap of entries by instant.
type queue[K comparable] []*entry[K]

func (q queue[K]) Len() int           { return len(q) }
func (q queue[K]) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue[K]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue[K]) Push(x any) {
	e := x.(*entry[K])
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *queue[K]) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return e
}
