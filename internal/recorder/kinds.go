// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// kinds are those that are followed: what the built-in kinds of CronJob start, and what Timetables do as far as it is
// known.
type kinds struct {
	recorder *Recorder
	// changed has a token when a kind may be served that was not.
	changed chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	wanted map[string]*wanted
	// started: it was looked once which kinds are served.
	started bool
	// omitted are the fingerprints of the omissions in the status of each Timetable.
	omitted map[types.UID][]uint64
}

// follow follows all kinds until ctx ends.
func (k *kinds) follow(ctx context.Context) {
	defer k.running.Wait()
	for _, w := range k.atOnce(ctx) {
		k.want(w)
	}
	// What was defined a moment ago is served a little later, so it is looked for some times more.
	const tries = 4
	left, again := tries, time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.changed:
			left = tries
		case <-again.C:
		}
		all, err := k.start(ctx)
		if ctx.Err() != nil {
			continue
		}
		if err != nil { // nobody knows what is served; without an error it need not have been asked
			k.recorder.reached(err)
			left = tries
		}
		every := k.recorder.o.LookForKinds
		switch left--; {
		case !all && left > 0:
			again.Reset(time.Second << (tries - 1 - left))
		case every > 0: // a kind that is followed may cease to be served, too
			again.Reset(every)
		}
		k.tellListed()
	}
}

// want has a kind followed from now on, if it is not yet.
func (k *kinds) want(w *wanted) {
	key := w.gvk.String()
	if w.seen != nil {
		key += " beside" // beside those that are runs
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.wanted[key] == nil {
		k.wanted[key] = w
		signal(k.changed)
	}
}

// start follows the wanted kinds that are served and are not followed; true if nothing is left to be followed. The
// error says that what is served could not be found out.
func (k *kinds) start(ctx context.Context) (all bool, failed error) {
	all = true
	k.mu.Lock()
	defer k.mu.Unlock()
	k.started = true
	for _, w := range k.wanted {
		if w.follower != nil {
			continue
		}
		if _, err := k.recorder.o.Client.RESTMapper().RESTMapping(w.gvk.GroupKind(), w.gvk.Version); err != nil {
			all = false
			if !meta.IsNoMatchError(err) {
				failed = err
			}
			continue
		}
		w.follower = k.newFollower(ctx, w)
		k.running.Go(func() {
			err := w.follower.run(ctx)
			k.mu.Lock()
			w.follower, w.listedOnce = nil, true
			k.mu.Unlock()
			k.tellListed()
			if ctx.Err() == nil {
				k.recorder.o.Logger.V(1).Info("A kind is not served any more", "kind", w.gvk.String(), "reason", err.Error())
			}
		})
	}
	return all, failed
}

func (k *kinds) newFollower(ctx context.Context, w *wanted) *follower {
	r := k.recorder
	f := &follower{
		client: r.o.Client, list: w.list, choose: w.choose, log: r.o.Logger.WithValues("kind", w.gvk.String()), again: make(chan struct{}, 1),
		seen: w.seen, gone: w.gone, listing: func() {}, listed: func() {}, reached: r.reached,
		forbidden: func(err error) {
			r.o.Warn(fmt.Sprintf("%s may not be read and are left out until they may be: %v", w.gvk.GroupKind(), err))
		},
	}
	if r.o.Namespace != "" && w.gvk != definitionKind {
		f.choose = append(slices.Clip(f.choose), client.InNamespace(r.o.Namespace))
	}
	if w.read == nil {
		return f
	}
	f.listing = func() { r.listing(w) }
	f.listed = func() {
		r.listed(w)
		k.mu.Lock()
		w.listedOnce = true
		k.mu.Unlock()
		k.tellListed()
	}
	f.seen = func(object client.Object) {
		state, ok := w.read(ctx, object)
		if !ok {
			return
		}
		var containers run.Containers
		if w.containers != nil {
			containers = w.containers(object)
		}
		r.seen(w, state, containers)
	}
	f.gone = func(object client.Object) {
		if state, ok := w.read(ctx, object); ok {
			r.gone(w, state)
		}
	}
	return f
}

// tellListed closes listedOnce when all kinds of runs that are followed have been listed, after the first look at which
// of them are served.
func (k *kinds) tellListed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.started || isClosed(k.recorder.listedOnce) {
		return
	}
	for _, w := range k.wanted {
		if w.read != nil && w.follower != nil && !w.listedOnce {
			return
		}
	}
	close(k.recorder.listedOnce)
}

// followsNames tells whether a kind is followed whose Pods tell no more than the name.
func (k *kinds) followsNames() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.wanted {
		if w.podsByName && w.follower != nil {
			return true
		}
	}
	return false
}

// lookAgain has all objects of all kinds seen again.
func (k *kinds) lookAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.wanted {
		if w.follower != nil {
			signal(w.follower.again)
		}
	}
}
