// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/job"
)

// applyStatus writes down what a sync found, and removes the finalizers that may go after it. Pods that lost theirs are
// counted by the next sync. creating tells that the Job has more pods to create than one sync may.
func (w *work) applyStatus(ctx context.Context, plan job.StatusPlan, creating bool) error {
	write := plan.Write
	if w.deferWrite(write) {
		if write.Urgency != job.UrgencyLazy {
			return nil
		}
		w.carry.backoff = write.Backoff
	} else {
		if err := w.writeStatus(ctx, write); err != nil {
			return err
		}
		if write.Status == nil || plan.Remainder != job.RemainderUncounted { // else the rest has waited long enough, too
			w.expectations.update(w.job.UID, func(e *jobExpectations) { e.unwritten = time.Time{} })
		}
	}
	refs := w.removableFinalizers(plan, creating)
	removed, err := w.unfinalize(ctx, refs)
	switch {
	case err != nil && len(removed) == 0: // nothing to go on with before the retry, which comes later each time
	case plan.Remainder == job.RemainderFinalizers && len(refs) < len(plan.Unfinalize): // put off with the others
	default:
		w.next.statusPlan = plan.Wake
	}
	return err
}

// deferWrite reports whether a write is left out of this sync, and has the Job woken when it is due.
func (w *work) deferWrite(write job.StatusWrite) bool {
	if write.Status == nil {
		return false
	}
	busy := w.gate.Busy()
	w.expectations.update(w.job.UID, func(e *jobExpectations) {
		w.next.write = w.options.deferWriteUntil(write.Urgency, e.unwritten, w.now, e.pods, busy)
		if !w.next.write.IsZero() && e.unwritten.IsZero() {
			e.unwritten = w.now
		}
	})
	return !w.next.write.IsZero()
}

// writeStatus sends one status. Nothing that it reports is published or counted before the server took it.
func (w *work) writeStatus(ctx context.Context, write job.StatusWrite) error {
	if write.Status == nil {
		w.wrote(write)
		return nil
	}
	// The whole Job goes, though the server takes nothing but status and metadata from it: of metadata all that counts,
	// and not the managed fields, which the cache may have trimmed.
	next := w.job.DeepCopy()
	next.Status = *write.Status
	if broken := job.CheckStatus(w.job, next); len(broken) > 0 {
		w.rejected("check", fmt.Sprint(broken))
		return errRejected
	}
	answered := w.gate.BeginCall()
	err := w.client.Status().Update(ctx, next)
	answered()
	result := outcome(err, "success", "error")
	if apierrors.IsConflict(err) {
		result = "conflict"
	}
	statusWrites.WithLabelValues(result).Inc()
	switch {
	case err == nil:
	case apierrors.IsConflict(err):
		w.expectations.update(w.job.UID, func(e *jobExpectations) { e.otherWriter = true })
		return fmt.Errorf("Job %s changed while its status was written: %w", w.key, err)
	case apierrors.IsNotFound(err):
		return errGone
	case apierrors.IsInvalid(err):
		w.rejected("server", err.Error())
		return errRejected
	default:
		return fmt.Errorf("writing the status of Job %s: %w", w.key, err)
	}
	w.expectations.ownWrites.Updated(w.job.UID, next)
	w.job, w.carry.status, w.carry.complaint = next, &next.Status, ""
	w.wrote(write)
	return nil
}

// wrote carries out what a write that succeeded, or had nothing to write, brings with it.
func (w *work) wrote(write job.StatusWrite) {
	w.carry.backoff, w.carry.ended = write.Backoff, w.carry.ended || write.Finished
	w.countMetrics(write.Metrics)
	w.publish(write.Events)
}

var (
	// errRejected: the status is invalid. It was reported; trying the same again helps nobody.
	errRejected = errors.New("the status is invalid")
	// errRefused: pods were refused, and the user hears why by an event. The next try comes by itself.
	errRefused = errors.New("pods were refused")
	// errGone: the Job does not exist any more.
	errGone = errors.New("the Job is gone")
)

// rejected reports a status that must not, or could not, be written. That is always a bug of ours, so it is
// reported loudly, but once.
func (w *work) rejected(by, why string) {
	statusRejected.WithLabelValues(by).Inc()
	if w.carry.complaint == why {
		return
	}
	w.carry.complaint = why
	w.publish([]job.Event{{
		Type:    corev1.EventTypeWarning,
		Reason:  "InvalidStatus",
		Message: "The status computed for this Job is invalid, so the Job does not go on; please report this: " + why,
	}})
}
