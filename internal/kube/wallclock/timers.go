// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wallclock has timers that follow the wall clock.
//
// A schedule names wall-clock time, but Go's timers run on a monotonic clock that knows nothing of a clock that was
// set, or of a laptop that slept; the delayed adds of a work queue share that. Timers therefore never sleep longer than
// RecheckInterval before they read the wall clock again: what has become due by a jump forward fires within that time,
// and what a jump backward has moved into the future waits again (cronjob.md B5). They fire at the instant itself, not
// after a safety margin: a Go timer that goes off early finds the wall clock short of the instant and sleeps the rest.
package wallclock

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const (
	// RecheckInterval is the longest time between two readings of the wall clock.
	RecheckInterval = 10 * time.Second
	// Tolerance is how far the wall clock may stray from elapsed time between two readings before it counts as a jump.
	Tolerance = 2 * time.Second
)

// A WakeScheduler makes keys due at instants of the wall clock. *Timers is one.
type WakeScheduler interface {
	// Wake makes key due at the instant at, or at once if that has passed. An earlier instant that is already set for
	// the key stays.
	Wake(key types.NamespacedName, at time.Time)
	// Cancel removes the key.
	Cancel(key types.NamespacedName)
}

// Timers holds at most one instant for each key. All methods may be called by several goroutines at once.
type Timers struct {
	clock   clock.Clock
	changed chan struct{} // holds a token when the earliest instant may have moved

	mu    sync.Mutex
	byKey map[types.NamespacedName]*timer
	queue queue
}

type timer struct {
	key   types.NamespacedName
	at    time.Time
	index int // in the queue
}

// NewTimers returns Timers that fire once Run or the Source runs.
func NewTimers(c clock.Clock) *Timers {
	return &Timers{clock: c, changed: make(chan struct{}, 1), byKey: map[types.NamespacedName]*timer{}}
}

// Wake implements WakeScheduler.
func (t *Timers) Wake(key types.NamespacedName, at time.Time) {
	at = at.Round(0) // wall clock only
	t.mu.Lock()
	defer t.mu.Unlock()
	set := t.byKey[key]
	switch {
	case set == nil:
		set = &timer{key: key, at: at}
		t.byKey[key] = set
		heap.Push(&t.queue, set)
	case at.Before(set.at):
		set.at = at
		heap.Fix(&t.queue, set.index)
	default:
		return
	}
	if set.index == 0 {
		select {
		case t.changed <- struct{}{}:
		default:
		}
	}
}

// Cancel implements WakeScheduler.
func (t *Timers) Cancel(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set := t.byKey[key]; set != nil {
		heap.Remove(&t.queue, set.index)
		delete(t.byKey, key)
	}
}

// Source runs the timers for as long as the controller that watches it, and adds the keys that are due to its queue.
func (t *Timers) Source() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go t.Run(ctx, func(due []types.NamespacedName) {
			for _, key := range due {
				queue.Add(reconcile.Request{NamespacedName: key})
			}
		}, nil)
		return nil
	})
}

// Run calls fire with all keys that are due, without locks held, until ctx ends. It may run once at a time. jumped, if
// not nil, is told by how much the wall clock moved more (or, negative, less) than time passed: it was set, the machine
// slept, or the process stood still.
func (t *Timers) Run(ctx context.Context, fire func(due []types.NamespacedName), jumped func(by time.Duration)) {
	for {
		now := t.clock.Now().Round(0)
		due, sleep := t.due(now)
		if len(due) > 0 {
			fire(due)
			continue
		}
		timer := t.clock.NewTimer(sleep)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-t.changed:
			timer.Stop()
		case <-timer.C():
			passed := t.clock.Now().Round(0).Sub(now)
			if by := passed - sleep; jumped != nil && (by > Tolerance || by < -Tolerance) {
				jumped(by)
			}
		}
	}
}

// due removes and returns what is due at now, or else tells how long to sleep.
func (t *Timers) due(now time.Time) (due []types.NamespacedName, sleep time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) > 0 {
		first := t.queue[0]
		if first.at.After(now) {
			return due, min(first.at.Sub(now), RecheckInterval)
		}
		heap.Pop(&t.queue)
		delete(t.byKey, first.key)
		due = append(due, first.key)
	}
	return due, RecheckInterval
}

// queue is a heap of timers by instant.
type queue []*timer

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	t := x.(*timer)
	t.index = len(*q)
	*q = append(*q, t)
}

func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
