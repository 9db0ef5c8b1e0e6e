// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// maxDefer is how long a status write waits for starts that are due before it is made all the same.
const maxDefer = 2 * time.Second

// drainTimeout is how long a process that is told to stop goes on with what is open.
const drainTimeout = 5 * time.Second

// statusQueue holds the second halves of syncs (record, prune, publish) until a worker gets to them. Those of one
// CronJob are done one after the other, in order.
type statusQueue struct {
	gate *loadgate.Gate
	// conclude does one second half; requeue calls for a new sync over the key, because events came in meanwhile.
	conclude func(context.Context, *ongoingSync)
	requeue  func(types.NamespacedName)

	mu    sync.Mutex
	open  map[types.NamespacedName]*openSyncs
	queue []types.NamespacedName
	work  *sync.Cond
	ended bool
}

// openSyncs are those of one CronJob whose second half is still to be done.
type openSyncs struct {
	syncs []*ongoingSync
	asked bool // a new sync was called for meanwhile
}

func newStatusQueue(gate *loadgate.Gate, conclude func(context.Context, *ongoingSync), requeue func(types.NamespacedName)) *statusQueue {
	q := &statusQueue{gate: gate, conclude: conclude, requeue: requeue, open: map[types.NamespacedName]*openSyncs{}}
	q.work = sync.NewCond(&q.mu)
	return q
}

// add takes over a sync whose first half is done.
func (q *statusQueue) add(s *ongoingSync) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if o := q.open[s.key]; o != nil {
		o.syncs = append(o.syncs, s)
		return
	}
	q.open[s.key] = &openSyncs{syncs: []*ongoingSync{s}}
	q.queue = append(q.queue, s.key)
	q.work.Signal()
}

// pending reports whether something is open for the key, and if so has a new sync called for when it is done.
func (q *statusQueue) pending(key types.NamespacedName) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	o := q.open[key]
	if o == nil {
		return false
	}
	o.asked = true
	return true
}

// has reports whether something is open for the key.
func (q *statusQueue) has(key types.NamespacedName) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[key] != nil
}

// run lets n workers work until ctx ends, and then for drainTimeout until nothing is open. What stays undone after
// that is found and written by the next process.
func (q *statusQueue) run(ctx context.Context, n int) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.ended = true
		q.work.Broadcast()
		time.AfterFunc(drainTimeout, cancel)
	})
	defer stop()
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for work.Err() == nil && q.next(work) {
			}
		})
	}
	workers.Wait()
}

// next does what is open for one key; false when the work has ended.
func (q *statusQueue) next(ctx context.Context) bool {
	q.mu.Lock()
	for len(q.queue) == 0 && !q.ended {
		q.work.Wait()
	}
	if len(q.queue) == 0 {
		q.mu.Unlock()
		return false
	}
	key := q.queue[0]
	q.queue = q.queue[1:]
	o := q.open[key]
	s := o.syncs[0]
	q.mu.Unlock()

	for s != nil {
		q.gate.WaitIdle(ctx, maxDefer)
		q.conclude(ctx, s)
		s = q.done(key, o)
	}
	return true
}

// done takes out the first sync that is open for the key and returns the next one, or nil when there is none.
func (q *statusQueue) done(key types.NamespacedName, o *openSyncs) *ongoingSync {
	q.mu.Lock()
	o.syncs = o.syncs[1:]
	if len(o.syncs) > 0 {
		defer q.mu.Unlock()
		return o.syncs[0]
	}
	delete(q.open, key)
	asked := o.asked
	q.mu.Unlock()
	if asked {
		q.requeue(key)
	}
	return nil
}
