// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// kept makes results that take long, beside the requests that ask for them, and keeps them for a while. Who asks for
// one that is a little old gets it while the next is made. Its methods may be called by several goroutines.
type kept[K comparable, V any] struct {
	site *page.Site
	// fresh is how long a result is not made anew. One that took long is kept for ten times as long as it took.
	fresh   time.Duration
	produce func(context.Context, K) (V, error)
	turn    chan struct{} // who makes one has it: results of all keys are made one after the other

	mu    sync.Mutex
	known map[K]*result[V]
}

type result[V any] struct {
	value V
	err   error
	// made is when it was made, zero if never, and took how long that was. used is when somebody asked for it last.
	made, used time.Time
	took       time.Duration
	// making is closed once it is made anew; nil if nobody does.
	making chan struct{}
}

const (
	// mostKept is how many results are kept: those that were not asked for for the longest time go.
	mostKept = 24
	// longestMaking is how long one may take.
	longestMaking = 2 * time.Minute
	// tooOld is the age from which a result is not shown any more.
	tooOld = 5 * time.Minute
	// faultFor is how long an error is kept.
	faultFor = 2 * time.Second
)

func newKept[K comparable, V any](s *page.Site, fresh time.Duration, produce func(context.Context, K) (V, error)) *kept[K, V] {
	return &kept[K, V]{site: s, fresh: fresh, produce: produce, turn: make(chan struct{}, 1), known: map[K]*result[V]{}}
}

// get gives a result; ready is false if it was not there within the time. The error is that of making it.
func (k *kept[K, V]) get(key K, within time.Duration) (value V, ready bool, err error) {
	k.begin(key)
	return k.wait(key, time.After(within))
}

// begin has a result made if there is no fresh one. That goes on when the request has ended, as long as the site lives.
func (k *kept[K, V]) begin(key K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.site.Clock()
	r := k.known[key]
	if r == nil {
		k.forget()
		r = &result[V]{}
		k.known[key] = r
	}
	r.used = now
	if r.making != nil || !r.made.IsZero() && now.Sub(r.made) < k.keepFor(r) {
		return
	}
	r.making = make(chan struct{})
	k.site.Beside.Go(func() { k.remake(key, r) })
}

func (k *kept[K, V]) keepFor(r *result[V]) time.Duration {
	if r.err != nil {
		return faultFor
	}
	return min(max(k.fresh, 10*r.took), tooOld)
}

func (k *kept[K, V]) remake(key K, r *result[V]) {
	k.turn <- struct{}{}
	defer func() { <-k.turn }()
	ctx, cancel := context.WithTimeout(k.site.Life, longestMaking)
	defer cancel()
	began := time.Now()
	var value V
	err := task.Do(k.site.Log, "counting for the fleet", func() (err error) {
		value, err = k.produce(ctx, key)
		return err
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	r.value, r.err, r.made, r.took = value, err, k.site.Clock(), time.Since(began)
	close(r.making)
	r.making = nil
}

// wait gives the result of a key for which making has begun, an earlier one if that is not too old, or waits for it
// until something comes from the channel; ready is false then.
func (k *kept[K, V]) wait(key K, until <-chan time.Time) (value V, ready bool, err error) {
	k.mu.Lock()
	r := k.known[key]
	if r == nil { // it was forgotten: many others were asked for meanwhile
		k.mu.Unlock()
		return value, false, nil
	}
	making := r.making
	if making != nil && (r.made.IsZero() || r.err != nil || k.site.Clock().Sub(r.made) > tooOld) {
		k.mu.Unlock()
		select {
		case <-making:
		case <-until:
			return value, false, nil
		}
		k.mu.Lock()
	}
	defer k.mu.Unlock()
	return r.value, true, r.err
}

// forget makes room for one more.
func (k *kept[K, V]) forget() {
	for len(k.known) >= mostKept {
		var oldest K
		found := false
		for key, r := range k.known {
			if r.making == nil && (!found || r.used.Before(k.known[oldest].used)) {
				oldest, found = key, true
			}
		}
		if !found {
			return // all are being made: they are few, one after the other
		}
		delete(k.known, oldest)
	}
}
