// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// waitRun waits for the end of one run.
type waitRun struct {
	source lookup.Source
	server *cluster.Server // nil: there is none now, and down says why
	down   func() error
	of     *subject
	pick   *pick
	text   string // of --run
	clock  func() time.Time
	// held is called when no run is active and none starts by itself, once at most, with why; nil says nothing.
	held func(why string)

	mu  sync.Mutex
	now *run.Run // as it is, for who looks; nil: it has not begun
}

// waitResult is what has become of waiting for a run.
type waitResult struct {
	of *subject
	// run is how it is, ended or not; nil if none has begun.
	run *run.Run
	// vanished: the object was deleted, and nobody saw it end.
	vanished bool
	err      error
}

// over tells whether what was waited for has come.
func (r *waitResult) over() bool {
	return r.err == nil && (r.vanished || r.run != nil && r.run.Outcome.Ended())
}

// When a watch was interrupted, something may have happened that it did not see: what remembers runs is asked then,
// again and again for a while, since it may learn of them late itself. So it is for one whose object is gone.
const (
	askAgain = 2 * time.Second
	askFor   = 2 * time.Minute
	// endKnownWithin is how long after the deletion of an object its end may become known.
	endKnownWithin = 3 * time.Second
)

// wait waits until the run has ended, or ctx has.
func (w *waitRun) wait(ctx context.Context) waitResult {
	if result, known := w.remembered(ctx); known {
		return result
	}
	if w.server == nil {
		return waitResult{of: w.of, err: w.down()}
	}
	ctx, stop := context.WithCancel(ctx)
	sightings := make(chan sighting)
	watched, err := watchRuns(ctx, w.server, w.of, func(s sighting) {
		select {
		case sightings <- s:
		case <-ctx.Done():
		}
	})
	if err != nil {
		stop()
		return waitResult{of: w.of, err: err}
	}
	defer watched()
	defer stop()
	return w.follow(ctx, sightings)
}

// follow waits, by what is seen.
func (w *waitRun) follow(ctx context.Context, sightings <-chan sighting) waitResult {
	ticks := time.NewTicker(askAgain)
	defer ticks.Stop()
	var interrupted time.Time
	for {
		select {
		case s := <-sightings:
			if s.interrupted != nil {
				interrupted = w.clock()
				continue
			}
			if w.pick.see(s) {
				w.show()
			}
			if s.synced && w.pick.chosen == nil {
				if result, over := w.absent(ctx); over {
					return result
				}
				if why := w.of.held(); why != "" && w.held != nil {
					w.held(why)
				}
			}
		case <-ticks.C:
			if lost := w.server.LastLost(); lost.After(interrupted) {
				interrupted = lost
			}
			if result, over := w.ask(ctx, !interrupted.IsZero() && w.clock().Sub(interrupted) < askFor); over {
				return result
			}
		case <-ctx.Done():
			return waitResult{of: w.of, run: w.pick.chosen, err: ctx.Err()}
		}
		if !w.pick.synced || w.pick.chosen == nil {
			continue
		}
		if w.pick.ended() && !w.triedAgain(ctx) {
			return w.final(ctx)
		}
		if w.pick.gone && !w.pick.ended() {
			return w.vanished(ctx)
		}
	}
}

// show lets others see how it is.
func (w *waitRun) show() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.pick.chosen
}

// current is how it is.
func (w *waitRun) current() *run.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// remembered tells of a run that has ended already, and of which there may be no object any more: that of a scheduled
// time, or a Job.
func (w *waitRun) remembered(ctx context.Context) (waitResult, bool) {
	var runs []run.Run
	var err error
	switch {
	case w.pick.at != nil:
		runs, err = runsIn(ctx, w.source, w.of, *w.pick.at)
	case w.pick.job && w.server == nil:
		q := w.of.query()
		q.Limit = 1
		runs, err = w.source.Runs(ctx, q)
	default:
		return waitResult{}, false
	}
	if err != nil {
		return waitResult{of: w.of, err: err}, true
	}
	if len(runs) == 0 || !runs[0].Outcome.Ended() || w.server != nil && w.mayBeTriedAgain(&runs[0]) {
		return waitResult{}, false
	}
	return waitResult{of: w.of, run: &runs[0]}, true
}

// absent says what is when all was seen and the run is not among it.
func (w *waitRun) absent(ctx context.Context) (waitResult, bool) {
	switch {
	case w.pick.job: // it was there when the command began, or is remembered
		q := w.of.query()
		q.Limit = 1
		runs, err := w.source.Runs(ctx, q)
		if err != nil || len(runs) == 0 {
			return waitResult{of: w.of, err: err, vanished: err == nil}, true
		}
		if runs[0].Outcome.Ended() {
			return waitResult{of: w.of, run: &runs[0]}, true
		}
		w.pick.chosen, w.pick.gone = &runs[0], true
		return w.vanished(ctx), true
	case w.pick.at != nil && w.pick.at.Until.Before(w.clock()):
		// A run that is due may be late, but then a schedule that was not met tells.
		if result, over := w.ask(ctx, true); over {
			return result, true
		}
		if w.clock().Sub(w.pick.at.Until) > askFor {
			return waitResult{of: w.of, err: absent(ctx, w.source, w.of, w.text, *w.pick.at, w.clock())}, true
		}
	}
	return waitResult{}, false
}

// ask asks what remembers runs for what the watch may not have seen.
func (w *waitRun) ask(ctx context.Context, missed bool) (waitResult, bool) {
	due := w.pick.at != nil && w.pick.at.Until.Before(w.clock())
	if !missed && (!due || w.pick.chosen != nil) {
		return waitResult{}, false
	}
	q := w.of.query()
	q.Limit = 50
	if w.pick.chosen != nil {
		q.UID = w.pick.chosen.UID
	}
	runs, err := w.source.Runs(ctx, q)
	if err != nil {
		return waitResult{}, false // the watch goes on
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if r := &runs[i]; w.pick.synced && (w.pick.chosen != nil || !w.pick.old[r.UID] && (!r.Created.Before(w.pick.since) || w.pick.at != nil)) {
			if w.pick.see(sighting{run: r}) {
				w.show()
			}
		}
	}
	if w.pick.chosen != nil || !due {
		return waitResult{}, false
	}
	omitted := journal.Query{Namespace: q.Namespace, OwnerKind: q.OwnerKind, OwnerName: q.OwnerName, From: w.pick.at.From, Until: w.pick.at.Until, Limit: 1}
	if omissions, err := w.source.Omissions(ctx, omitted); err == nil && len(omissions) > 0 {
		return waitResult{of: w.of, err: absent(ctx, w.source, w.of, w.text, *w.pick.at, w.clock())}, true
	}
	return waitResult{}, false
}

// vanished is the result when the object is gone and was not seen to end, if nobody else has seen it.
func (w *waitRun) vanished(ctx context.Context) waitResult {
	deadline := time.NewTimer(endKnownWithin)
	defer deadline.Stop()
	again := time.NewTicker(endKnownWithin / 6)
	defer again.Stop()
	q := w.of.query()
	q.UID, q.Limit = w.pick.chosen.UID, 1
	for waiting := true; waiting; {
		runs, err := w.source.Runs(ctx, q)
		if err == nil && len(runs) > 0 && runs[0].Outcome.Ended() {
			return waitResult{of: w.of, run: &runs[0], vanished: runs[0].Outcome != run.Succeeded && runs[0].Outcome != run.Failed}
		}
		select {
		case <-again.C:
		case <-deadline.C:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	r := *w.pick.chosen
	r.Gone(w.clock())
	return waitResult{of: w.of, run: &r, vanished: true}
}

// final is the result when the run has ended. What its attempts tell is added if it can be had.
func (w *waitRun) final(ctx context.Context) waitResult {
	r := *w.pick.chosen
	if attempts, err := w.source.Attempts(ctx, &r); err == nil {
		r.Sum(attempts)
	}
	return waitResult{of: w.of, run: &r}
}

// mayBeTriedAgain tells whether a run is one of a Timetable that tries again what fails.
func (w *waitRun) mayBeTriedAgain(r *run.Run) bool {
	if w.of.schedule == nil || r.Outcome == run.Succeeded || r.ScheduledTime.IsZero() {
		return false
	}
	tt := w.of.timetable()
	return tt != nil && tt.Spec.Retry != nil
}

// triedAgain tells whether a run that has failed is tried again: its Timetable lists its scheduled time as active until
// it is not. While the Timetable cannot be asked, nobody knows.
func (w *waitRun) triedAgain(ctx context.Context) bool {
	if !w.mayBeTriedAgain(w.pick.chosen) {
		return false
	}
	now, err := getSchedule(ctx, w.server, w.of.ref, w.of.namespace)
	switch {
	case err != nil:
		return true
	case now == nil || now.Owner.UID != w.of.schedule.Owner.UID:
		return false
	}
	return activeAt(now.Timetable(), w.pick.chosen.ScheduledTime)
}

// activeAt tells whether a Timetable has begun a scheduled time and not decided its result.
func activeAt(tt *v1alpha1.Timetable, scheduled time.Time) bool {
	for i := range tt.Status.Active {
		if tt.Status.Active[i].ScheduledTime.Time.Equal(scheduled) {
			return true
		}
	}
	return false
}
