// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
)

// When is a Job synced? An event (handlers.go) asks for a sync now, soon or later; a sync asks for the next one by what
// it leaves undone (nextSync). Errors come back through the queue, later each time. Nothing else wakes a Job.

// syncWindow is the time in which a Job with this many pods is synced once at most (OPT-04). It grows with the Job: a
// sync looks at all of its pods, so a large one is looked at less often.
func (o Options) syncWindow(pods int) time.Duration {
	return min(o.WindowLeast+time.Duration(pods)*o.WindowPerPod, o.WindowMost)
}

// windowLeft is how long a sync that is wanted now waits for the end of the window that the last sync began: not at all
// after a quiet time. A clock that was set back delays by one window at most.
func (o Options) windowLeft(lastSync, now time.Time, pods int) time.Duration {
	if lastSync.IsZero() {
		return 0
	}
	window := o.syncWindow(pods)
	return min(max(0, window-now.Sub(lastSync)), window)
}

func syncNow(key types.NamespacedName, q queue) { q.Add(reconcile.Request{NamespacedName: key}) }

// syncSoon lets events that follow one another share one sync per window; there is always one after the last.
func (c *controller) syncSoon(key types.NamespacedName, uid types.UID, q queue) {
	last, pods := c.expectations.lastSync(uid)
	if wait := c.options.windowLeft(last, c.clock.Now(), pods); wait > 0 {
		q.AddAfter(reconcile.Request{NamespacedName: key}, wait)
		return
	}
	syncNow(key, q)
}

// syncLater is for events of which nothing but a number in the status depends: it lets more of them come together, and
// the write that follows has waited since now.
func (c *controller) syncLater(key types.NamespacedName, uid types.UID, q queue) {
	c.expectations.update(uid, func(e *jobExpectations) {
		if e.unwritten.IsZero() {
			e.unwritten = c.clock.Now()
		}
	})
	q.AddAfter(reconcile.Request{NamespacedName: key}, c.options.SyncPeriod)
}

// nextSync is what a sync leaves undone, and so why the Job is synced again although nothing happens to it.
type nextSync struct {
	// plan and statusPlan: time alone makes a difference then.
	plan, statusPlan time.Time
	// write: a status write is put off until then. finalizers: some that may go are looked at again then.
	write, finalizers time.Time
	// refused: pods that the server refused are tried again then.
	refused time.Time
	// more: there is more to do than one sync may, or the pods must be read anew.
	more time.Time
	// changed: an object was not as the plan found it, and its event may have come before.
	changed bool
}

// at is when to sync again; zero: when something happens.
func (n nextSync) at(now time.Time, o Options) (at time.Time) {
	if n.changed {
		at = now.Add(o.SyncPeriod)
	}
	for _, t := range []time.Time{n.plan, n.statusPlan, n.write, n.finalizers, n.more, n.refused} {
		at = job.Earlier(at, t)
	}
	return at
}

// continueIn has the Job synced again after the window of a Job with this many pods.
func (w *work) continueIn(pods int) {
	w.next.more = job.Earlier(w.next.more, w.now.Add(w.options.syncWindow(pods)))
}

// retryRefused has refused pods tried again: later each time, as after an error, and sooner if something else happens
// to the Job, such as the end of a pod that took up the quota. It returns errRefused for the metrics.
func (w *work) retryRefused() error {
	if !w.refused.Load() {
		w.carry.refusals = 0
		return nil
	}
	delay := w.options.RetryMax
	if n := w.carry.refusals; n < 32 {
		delay = min(w.options.RetryBase<<n, delay)
	}
	w.carry.refusals++
	w.next.refused = w.now.Add(delay)
	return errRefused
}

// wake sets the timer for the next sync, and gives the error that the queue is to try again after.
func (w *work) wake(err error) error {
	at := w.next.at(w.now, w.options)
	switch {
	case errors.Is(err, errRejected):
		// Reported already. Another event, or time, may bring another status.
		at, err = w.now.Add(w.options.RetryMax), nil
	case errors.Is(err, errGone):
		return nil
	}
	if !at.IsZero() {
		w.timers.Wake(w.key, at)
	}
	return err
}
