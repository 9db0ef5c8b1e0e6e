// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is a queue of a process and the worker that empties it: as many keys at
// a time as there are requests under way, each key once at a time.
type Queue struct {
	process   *Process
	name      string
	reconcile reconcile.Func
	// base and most shape the delay after an error.
	base, most time.Duration

	at      map[reconcile.Request]time.Duration
	fails   map[reconcile.Request]int
	running map[reconcile.Request]bool
	again   map[reconcile.Request]bool
	spins   map[reconcile.Request]spin
	// Syncs counts what was done.
	Syncs int
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*Queue)(nil)

// spin is how often a key was worked on since something last changed for its process.
type spin struct {
	did, saw, n int
	since       time.Duration
}

// tooOften is how often a key may be worked on within a second in which its
// process has neither done nor seen anything new. Delays after errors that begin
// at 5 ms and double make eight tries in their first second, and what has piled up
// during a standstill comes on top.
const tooOften = 20

// NewQueue gives the process a queue. The delay after errors grows from base to most.
func (p *Process) NewQueue(name string, base, most time.Duration, do reconcile.Func) *Queue {
	q := &Queue{
		process: p, name: name, reconcile: do, base: base, most: most,
		at: map[reconcile.Request]time.Duration{}, fails: map[reconcile.Request]int{}, spins: map[reconcile.Request]spin{},
		running: map[reconcile.Request]bool{}, again: map[reconcile.Request]bool{},
	}
	p.queues = append(p.queues, q)
	return q
}

// Add enqueues a key.
func (q *Queue) Add(r reconcile.Request) { q.AddAfter(r, 0) }

// AddAfter enqueues a key later; the earliest time counts.
func (q *Queue) AddAfter(r reconcile.Request, d time.Duration) {
	now := q.process.World.now
	if d <= 0 && q.running[r] {
		q.again[r] = true
		return
	}
	at := now + max(0, d)
	if was, ok := q.at[r]; ok && was <= at {
		return
	}
	q.at[r] = at
	q.process.at(at, func() { q.due(r, at) })
}

// AddRateLimited enqueues a key after an error.
func (q *Queue) AddRateLimited(r reconcile.Request) {
	q.AddAfter(r, min(q.base<<min(q.fails[r], 30), q.most))
	q.fails[r]++
}

func (q *Queue) due(r reconcile.Request, at time.Duration) {
	if q.at[r] != at {
		return // by now it is enqueued for another time
	}
	if _, ok := q.at[r]; !ok {
		return
	}
	switch {
	case q.running[r]:
		delete(q.at, r)
		q.again[r] = true
	case q.process.World.depth() >= workers:
		// All workers are busy.
		at := q.process.World.horizon() + 1
		q.at[r] = at
		q.process.at(at, func() { q.due(r, at) })
	default:
		delete(q.at, r)
		q.run(r)
	}
}

// workers is how many syncs may be under way at once, one inside the other.
const workers = 3

func (q *Queue) run(r reconcile.Request) {
	p := q.process
	q.count(r)
	q.running[r] = true
	q.Syncs++
	p.World.Story.Tell(p.Name, "%s: syncs %s", q.name, r.Name)
	result, err := q.reconcile(context.Background(), r)
	delete(q.running, r)
	if p.dead || p.World.Broken() != "" {
		return
	}
	switch {
	case err != nil:
		p.World.Story.Tell(p.Name, "%s: %s failed: %v", q.name, r.Name, err)
		q.AddRateLimited(r)
	case result.RequeueAfter > 0:
		q.Forget(r)
		q.AddAfter(r, result.RequeueAfter)
	default:
		q.Forget(r)
	}
	if q.again[r] {
		delete(q.again, r)
		q.Add(r)
	}
	p.watchTimers()
}

// count finds a key that is worked on again and again though nothing changes.
func (q *Queue) count(r reconcile.Request) {
	p, s := q.process, q.spins[r]
	if s.did != p.did || s.saw != p.saw || p.World.now-s.since > time.Second {
		s = spin{did: p.did, saw: p.saw, since: p.World.now}
	}
	if s.n++; s.n > tooOften {
		p.World.Break("%s spins: %s was worked on %d times within a second in which nothing changed", q.name, r, s.n)
	}
	q.spins[r] = s
}

// Forget ends the delays after errors.
func (q *Queue) Forget(r reconcile.Request) { delete(q.fails, r) }

// NumRequeues is how many errors in a row a key has had.
func (q *Queue) NumRequeues(r reconcile.Request) int { return q.fails[r] }

// Len is how many keys wait.
func (q *Queue) Len() int { return len(q.at) }

// Done does nothing: the queue knows.
func (q *Queue) Done(reconcile.Request) {}

// ShutDown does nothing; kill the process.
func (q *Queue) ShutDown() {}

// ShutDownWithDrain does nothing; kill the process.
func (q *Queue) ShutDownWithDrain() {}

// ShuttingDown is never.
func (q *Queue) ShuttingDown() bool { return false }

// Get cannot be used: the queue is its own worker.
func (q *Queue) Get() (reconcile.Request, bool) { panic("sim: a queue is its own worker") }
