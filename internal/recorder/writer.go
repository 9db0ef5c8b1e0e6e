// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

const (
	// batchSize is how much is written at once.
	batchSize = 500
	// maxPending is how many runs, and how many omissions, wait in memory while the journal cannot be written to.
	maxPending = 10_000
)

// queue holds what is to be written, each run once in its last state.
type queue struct {
	runs      map[types.UID]*run.Run
	order     []types.UID
	omissions []run.Omission
	// writing are the runs of the batch that is being written.
	writing map[types.UID]bool
	// lost counts what found no room; told says that the user knows.
	lost int
	told bool
}

func (q *queue) has(uid types.UID) bool { return q.runs[uid] != nil || q.writing[uid] }

// enqueue has a state of a run written. The caller holds the lock.
func (r *Recorder) enqueue(state run.Run) {
	q := &r.pending
	if q.runs[state.UID] == nil {
		if len(q.order) >= maxPending {
			delete(q.runs, q.order[0])
			q.order = q.order[1:]
			q.lost++
		}
		q.order = append(q.order, state.UID)
	}
	q.runs[state.UID] = &state
	signal(r.wake)
}

// omitted has omissions written.
func (r *Recorder) omitted(omissions []run.Omission) {
	if len(omissions) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.pending
	q.omissions = append(q.omissions, omissions...)
	if more := len(q.omissions) - maxPending; more > 0 {
		q.omissions = slices.Clone(q.omissions[more:])
		q.lost += more
	}
	signal(r.wake)
}

// batch takes what is to be written next. Nothing is left if both are empty.
func (r *Recorder) batch() (states []run.Run, omissions []run.Omission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.pending
	n := min(batchSize, len(q.order))
	q.writing = make(map[types.UID]bool, n)
	for _, uid := range q.order[:n] {
		states = append(states, *q.runs[uid])
		delete(q.runs, uid)
		q.writing[uid] = true
	}
	q.order = q.order[n:]
	if len(q.order) == 0 {
		q.order = nil // lets go of what was there
	}
	n = min(batchSize, len(q.omissions))
	omissions = slices.Clone(q.omissions[:n])
	q.omissions = q.omissions[n:]
	if len(q.omissions) == 0 {
		q.omissions = nil
	}
	return states, omissions
}

// putBack puts what was not written at the head again, but for runs of which something newer is there.
func (r *Recorder) putBack(states []run.Run, omissions []run.Omission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := &r.pending
	q.writing = nil
	var again []types.UID
	for i := range states {
		if uid := states[i].UID; q.runs[uid] == nil {
			q.runs[uid] = &states[i]
			again = append(again, uid)
		}
	}
	q.order = append(again, q.order...)
	q.omissions = append(omissions, q.omissions...)
}

// write writes until ctx ends.
func (r *Recorder) write(ctx context.Context) {
	var wait backoff
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		for ctx.Err() == nil {
			err := r.writeRest(ctx)
			r.setUnavailable(ctx, err)
			if err == nil {
				wait.reset()
				break
			}
			if !pause(ctx, wait.after()) {
				return
			}
		}
	}
}

// writeRest writes all that is there.
func (r *Recorder) writeRest(ctx context.Context) error {
	for {
		states, omissions := r.batch()
		if len(states) == 0 && len(omissions) == 0 {
			r.recovered()
			return nil
		}
		if err := r.writeBatch(ctx, states, omissions); err != nil {
			r.putBack(states, omissions)
			return err
		}
		r.mu.Lock()
		r.pending.writing = nil
		r.written(states)
		r.mu.Unlock()
	}
}

// writeBatch writes a batch. What the journal refuses, for a reason that lies in it, is left out and told: it must not
// keep everything else from being written.
func (r *Recorder) writeBatch(ctx context.Context, states []run.Run, omissions []run.Omission) error {
	err := r.o.Journal.Record(ctx, states, omissions)
	if err == nil || later(ctx, err) {
		return err
	}
	if len(states)+len(omissions) == 1 {
		r.o.Logger.Error(err, "The journal refuses something", "runs", states, "omissions", omissions)
		return nil
	}
	for i := range states {
		if err := r.writeBatch(ctx, states[i:i+1], nil); err != nil {
			return err
		}
	}
	for i := range omissions {
		if err := r.writeBatch(ctx, nil, omissions[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// later tells whether an error of the journal says nothing of what was to be written.
func later(ctx context.Context, err error) bool {
	return errors.Is(err, journal.ErrUnavailable) || ctx.Err() != nil
}

// setUnavailable remembers whether the journal can be written to.
func (r *Recorder) setUnavailable(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	changed := r.unavailable != (err != nil)
	r.unavailable = err != nil
	waiting := len(r.pending.order)
	r.mu.Unlock()
	switch {
	case changed && err != nil: // the journal tells the user
		r.o.Logger.Info("The journal cannot be written to; runs go on, and what is to be written waits", "reason", err.Error(), "runs", waiting)
	case changed:
		r.o.Logger.Info("The journal is written to again")
	}
	r.tellLost()
}

// tellLost warns once when so much waits that some of it had to be dropped.
func (r *Recorder) tellLost() {
	r.mu.Lock()
	tell := r.pending.lost > 0 && !r.pending.told
	r.pending.told = r.pending.told || tell
	r.mu.Unlock()
	if tell {
		r.o.Warn(fmt.Sprintf("the journal could not be written to for so long that more than %d runs wait for it: the oldest of them are not recorded", maxPending))
	}
}

// recovered has all objects looked at again after something was dropped that may still be there.
func (r *Recorder) recovered() {
	r.mu.Lock()
	lost := r.pending.lost
	r.pending.lost, r.pending.told = 0, false
	if lost > 0 {
		for _, k := range r.known {
			if !k.durable {
				k.seen = 0
			}
		}
	}
	r.mu.Unlock()
	if lost > 0 {
		r.o.Logger.Info("Runs were not recorded while the journal could not be written to", "count", lost)
		r.kinds.lookAgain()
	}
}
