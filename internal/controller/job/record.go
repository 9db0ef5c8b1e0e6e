// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/job"
)

// record writes down what a sync found, and removes the finalizers that may go
// after it. Pods that lost theirs are counted by the next sync. creating tells
// that the Job has more pods to create than one sync may.
func (w *work) record(ctx context.Context, record job.Record, creating bool) error {
	write := record.Write
	if until := w.putOff(write); until.After(w.now) {
		w.wakeAt(until)
		if !write.Lazy {
			return nil
		}
		w.memory.wrote(w.job.UID, write.Backoff, false)
	} else if err := w.write(ctx, write); err != nil {
		return err
	}
	refs := w.releasable(record, creating)
	removed, err := w.unfinalize(ctx, refs)
	switch {
	case err != nil && len(removed) == 0: // nothing to go on with before the retry, which comes later each time
	case record.Rest && len(refs) < len(record.Unfinalize): // it stands back with the others
	default:
		w.wakeAt(record.Wake)
	}
	return err
}

// putOff is until when a write can wait; zero: it is due. What nothing hangs on
// waits for company: a lazy write for a while, and mere progress the longer the
// larger the Job is, since each write carries the whole Job to the server and to
// everybody who watches. To put a write off is what a crash before it would do,
// the next sync finds everything again and more. What changes how the Job goes
// on, and what others wait for, is never put off.
func (w *work) putOff(write job.Write) time.Time {
	uid := w.job.UID
	switch {
	case write.Status == nil:
		w.memory.reported(uid)
		return time.Time{}
	case write.Begins && w.gate.Busy():
		return w.memory.unreported(uid, w.now).Add(beginPatience)
	case urgent(w.job, write):
		return time.Time{}
	case write.Lazy:
		return w.memory.unreported(uid, w.now).Add(w.options.SyncPeriod)
	case write.Alone:
		return time.Time{}
	}
	every := time.Duration(w.memory.size(uid)-1) * w.options.ReportPerPod
	return w.memory.unreported(uid, w.now).Add(min(max(0, every), w.options.ReportMost))
}

func urgent(j *batchv1.Job, write job.Write) bool {
	old, status := &j.Status, write.Status
	if write.Finished || j.DeletionTimestamp != nil || ptr.Deref(j.Spec.Suspend, false) ||
		!old.StartTime.Equal(status.StartTime) || len(old.Conditions) != len(status.Conditions) {
		return true
	}
	for i := range old.Conditions {
		if old.Conditions[i].Type != status.Conditions[i].Type || old.Conditions[i].Status != status.Conditions[i].Status {
			return true
		}
	}
	return false
}

// write sends one status. Nothing that it reports is spoken or counted before
// the server took it.
func (w *work) write(ctx context.Context, write job.Write) error {
	uid := w.job.UID
	if write.Status == nil {
		w.memory.wrote(uid, write.Backoff, false)
		w.countFacts(write.Metrics)
		w.speak(write.Events)
		return nil
	}
	// The whole Job goes, though the server takes nothing but status and metadata from it: of metadata
	// all that counts, and not the managed fields, which the cache may have trimmed.
	next := w.job.DeepCopy()
	next.Status = *write.Status
	if broken := job.CheckStatus(w.job, next); len(broken) > 0 {
		w.rejected("check", fmt.Sprint(broken))
		return errRejected
	}
	answered := w.gate.Call()
	err := w.client.Status().Update(ctx, next)
	answered()
	switch {
	case err == nil:
		statusWrites.WithLabelValues("success").Inc()
	case apierrors.IsConflict(err):
		statusWrites.WithLabelValues("conflict").Inc()
		w.memory.doubt(uid)
		return fmt.Errorf("Job %s changed while its status was written: %w", w.key, err)
	case apierrors.IsNotFound(err):
		statusWrites.WithLabelValues("error").Inc()
		return errGone
	case apierrors.IsInvalid(err):
		statusWrites.WithLabelValues("error").Inc()
		w.rejected("server", err.Error())
		return errRejected
	default:
		statusWrites.WithLabelValues("error").Inc()
		return fmt.Errorf("writing the status of Job %s: %w", w.key, err)
	}
	w.ownWrites.Updated(uid, next)
	w.memory.wrote(uid, write.Backoff, write.Finished)
	if !write.More {
		w.memory.reported(uid) // else the rest has waited long enough, too
	}
	w.mem.known, w.mem.complaint = &next.Status, ""
	w.countFacts(write.Metrics)
	w.job = next
	w.speak(write.Events)
	return nil
}

var (
	// errRejected: the status is invalid. It was reported; trying the same again helps nobody.
	errRejected = errors.New("the status is invalid")
	// errRefused: pods were refused, and the user told why. The next try comes by itself.
	errRefused = errors.New("pods were refused")
	// errGone: the Job does not exist any more.
	errGone = errors.New("the Job is gone")
)

// rejected reports a status that must not, or could not, be written. That is
// always a bug of ours, so it is told loudly, but once.
func (w *work) rejected(by, why string) {
	statusRejected.WithLabelValues(by).Inc()
	if w.mem.complaint == why {
		return
	}
	w.mem.complaint = why
	w.speak([]job.Event{{
		Type:    corev1.EventTypeWarning,
		Reason:  "InvalidStatus",
		Message: "The status computed for this Job is invalid, so the Job does not go on; please report this: " + why,
	}})
}
