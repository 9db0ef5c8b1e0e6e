// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// patience is how long a bookkeeper stands back for starts before it writes all the same.
const patience = 2 * time.Second

// farewell is how long the bookkeepers of a process that is told to stop go on with what is open.
const farewell = 5 * time.Second

// books holds the second halves of passes until a bookkeeper gets to them. Those of one CronJob are done one after the
// other, in order.
type books struct {
	gate *loadgate.Gate
	// conclude does one second half; again calls for a new pass over the key, because events came in meanwhile.
	conclude func(context.Context, *pass)
	again    func(types.NamespacedName)

	mu    sync.Mutex
	open  map[types.NamespacedName]*page
	queue []types.NamespacedName
	work  *sync.Cond
	ended bool
}

// page is what is open for one CronJob.
type page struct {
	passes []*pass
	asked  bool // a pass was called for meanwhile
}

func newBooks(gate *loadgate.Gate, conclude func(context.Context, *pass), again func(types.NamespacedName)) *books {
	b := &books{gate: gate, conclude: conclude, again: again, open: map[types.NamespacedName]*page{}}
	b.work = sync.NewCond(&b.mu)
	return b
}

// add takes over a pass whose first half is done.
func (b *books) add(p *pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if pg := b.open[p.key]; pg != nil {
		pg.passes = append(pg.passes, p)
		return
	}
	b.open[p.key] = &page{passes: []*pass{p}}
	b.queue = append(b.queue, p.key)
	b.work.Signal()
}

// pending reports whether something is open for the key, and if so has a new pass called for when it is done.
func (b *books) pending(key types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	pg := b.open[key]
	if pg == nil {
		return false
	}
	pg.asked = true
	return true
}

// run lets n bookkeepers work until ctx ends, and then for a farewell until nothing is open. What stays undone after
// that is found and written by the next process.
func (b *books) run(ctx context.Context, n int) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended = true
		b.work.Broadcast()
		time.AfterFunc(farewell, cancel)
	})
	defer stop()
	var keepers sync.WaitGroup
	for range n {
		keepers.Go(func() {
			for work.Err() == nil && b.next(work) {
			}
		})
	}
	keepers.Wait()
}

// next does what is open for one key; false when the work has ended.
func (b *books) next(ctx context.Context) bool {
	b.mu.Lock()
	for len(b.queue) == 0 && !b.ended {
		b.work.Wait()
	}
	if len(b.queue) == 0 {
		b.mu.Unlock()
		return false
	}
	key := b.queue[0]
	b.queue = b.queue[1:]
	pg := b.open[key]
	p := pg.passes[0]
	b.mu.Unlock()

	for p != nil {
		b.gate.Wait(ctx, patience)
		b.conclude(ctx, p)
		p = b.done(key, pg)
	}
	return true
}

// done closes the first pass of the page and returns the next one, or nil when the page is closed.
func (b *books) done(key types.NamespacedName, pg *page) *pass {
	b.mu.Lock()
	pg.passes = pg.passes[1:]
	if len(pg.passes) > 0 {
		defer b.mu.Unlock()
		return pg.passes[0]
	}
	delete(b.open, key)
	asked := pg.asked
	b.mu.Unlock()
	if asked {
		b.again(key)
	}
	return nil
}
