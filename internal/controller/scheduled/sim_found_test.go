// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// A start that succeeds at last ends the delays that its failures have made long: what fails after it, such as the
// write of its record, is tried again soon (guarantee 6, found by TestSimulation: a finished Job beyond the limit
// stayed for minutes, because its record met one error after a long time over quota).
func TestStartEndsItsDelays(t *testing.T) {
	w := newWorld(t, tick().Obj())
	quota := apierrors.NewForbidden(jobs, "tick-29631610", errors.New("exceeded quota"))
	for range 8 {
		w.fail("create", fault{err: quota})
		w.sync("12:10:00.1")
	}
	w.wantRetry(640 * time.Millisecond)
	w.fail("record", fault{err: broken})
	w.sync("12:10:00.2")
	w.wantRetry(5 * time.Millisecond)
}

// A child that is stopped with propagation Foreground is there until what it runs is gone, also for a sync that comes
// before the cache shows its finalizer (TG2, found by TestSimulationOfTimetables: the next time started beside it).
func TestStoppedIsThereBeforeTheCacheShowsIt(t *testing.T) {
	replace := func(spec *v1alpha1.TimetableSpec) { spec.Concurrency.Policy = v1alpha1.ReplaceConcurrent }
	serveTimetable(t, replace, func(w *timetabled) {
		w.sync()
		w.answer = notWritten
		w.next(1)
		time.Sleep(time.Minute)
		w.seeJobs()
		for range 2 { // the first one stops what runs; the cache stays as it was
			w.answer = notWritten
			if _, err := w.Reconcile(w.t.Context(), reconcile.Request{NamespacedName: tickKey}); err != nil {
				w.t.Fatal(err)
			}
			for w.statusQueue.waiting() > 0 {
				w.statusQueue.next(w.t.Context())
			}
		}
		var jobs batchv1.JobList
		if err := w.server.List(w.t.Context(), &jobs); err != nil {
			w.t.Fatal(err)
		}
		if len(jobs.Items) != 1 || jobs.Items[0].DeletionTimestamp == nil {
			w.t.Errorf("want the one Job that is being deleted, got %v", jobs.Items)
		}
	})
}
