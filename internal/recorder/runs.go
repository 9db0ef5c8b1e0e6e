// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"hash/maphash"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// known is what is remembered of a run whose object is there: how it was seen last, and whether the journal has that.
type known struct {
	// of is the kind that it was seen by, round the list of that kind in or after which it was.
	of    *wanted
	round uint32
	// seen is the fingerprint of what was seen, ended whether it had ended then, and durable whether it is in the
	// journal. stopping: it was seen while somebody deleted it to end it.
	seen                     uint64
	ended, durable, stopping bool
	// containers are those of its Pods, name is its own where Pods tell that alone.
	containers run.Containers
	name       types.NamespacedName
}

// seed makes fingerprints; they are compared within one process only.
var seed = maphash.MakeSeed()

// fingerprint is equal for states of a run of which the second need not be recorded: while it is active its Pods come
// and go, and no journal keeps that it is being stopped.
func fingerprint(r run.Run) uint64 {
	r.Stopping = false
	if !r.Outcome.Ended() {
		r.PodsSucceeded, r.PodsRunning = 0, 0
	}
	return maphash.Comparable(seed, r)
}

// seen takes in the state of a run whose object is there.
func (r *Recorder) seen(of *wanted, state run.Run, containers run.Containers) {
	if state.UID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known[state.UID]
	r.tellStop(k, &state)
	mark := fingerprint(state)
	if k == nil {
		k = &known{containers: containers}
		r.known[state.UID] = k
		if of.podsByName {
			k.name = types.NamespacedName{Namespace: state.Namespace, Name: state.Name}
			r.jobNames[k.name] = named{uid: state.UID}
			signal(r.named)
		}
	}
	k.of, k.round, k.stopping = of, of.round, k.stopping || state.Stopping
	if k.seen == mark {
		return
	}
	k.seen, k.ended, k.durable = mark, state.Outcome.Ended(), false
	r.enqueue(state)
}

// gone takes in the last state of a run whose object was deleted.
func (r *Recorder) gone(of *wanted, state run.Run) {
	if state.UID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known[state.UID]
	if !state.Outcome.Ended() {
		state.Gone(time.Now())
	}
	r.tellStop(k, &state)
	r.forget(state.UID)
	if k != nil && k.ended && k.seen == fingerprint(state) {
		return // it is in the journal, or on its way
	}
	r.enqueue(state)
}

// tellStop makes the state of a run that was stopped before its end what it is, and says why it was as far as that is
// known. k is nil for one that was not known before. The caller holds the lock.
func (r *Recorder) tellStop(k *known, state *run.Run) {
	if k != nil && k.stopping {
		state.FailedByStop()
	}
	if state.Outcome != run.Cancelled {
		return
	}
	switch r.stopping[state.UID].reason {
	case cron.RunReplaced:
		state.Reason, state.Message = "Replaced", "it was stopped for its successor"
	case cron.RunTimeout:
		state.Outcome, state.Reason, state.Message = run.Failed, "Timeout", "it had not ended in time, and was stopped"
	}
}

// forget drops what is known of a run whose object is gone; its name stays for a while, for its last containers. The
// caller holds the lock.
func (r *Recorder) forget(uid types.UID) {
	if k := r.known[uid]; k != nil && k.name.Name != "" {
		now := time.Now()
		maps.DeleteFunc(r.jobNames, func(_ types.NamespacedName, n named) bool {
			return !n.gone.IsZero() && now.Sub(n.gone) >= namedWithin
		})
		if r.jobNames[k.name].uid == uid { // and not one that has the name now
			r.jobNames[k.name] = named{uid: uid, gone: now}
		}
	}
	delete(r.known, uid)
	delete(r.asked, uid)
	delete(r.stopping, uid)
}

// listing begins another round of a kind.
func (r *Recorder) listing(of *wanted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of.round++
}

// listed forgets what a list of a kind did not show any more, and has it looked for in the journal.
func (r *Recorder) listed(of *wanted) {
	r.mu.Lock()
	for uid, k := range r.known {
		if k.of == of && k.round != of.round {
			r.forget(uid)
		}
	}
	r.mu.Unlock()
	signal(r.look)
}

// written marks what is in the journal now. The caller holds the lock.
func (r *Recorder) written(states []run.Run) {
	for i := range states {
		if k := r.known[states[i].UID]; k != nil && k.seen == fingerprint(states[i]) {
			k.durable = true
		}
	}
}

// isKnown tells whether a run's object is there, or its last state is on its way into the journal.
func (r *Recorder) isKnown(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[uid] != nil || r.pending.has(uid)
}
