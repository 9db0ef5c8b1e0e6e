// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"
)

// The order of the writes when one of them fails.
func TestFailingWrites(t *testing.T) {
	t.Parallel()
	ready := func() *world {
		w := newWorld(aJob("p2 c4"))
		w.settle(time.Hour)
		endAll(0)(w)
		return w
	}
	t.Run("JOB-064 JOB-071 no status, no finalizer", func(t *testing.T) {
		t.Parallel()
		w := ready()
		w.refuse = func(call string) bool { return call == "status" }
		if _, err, _ := w.sync(); err == nil || w.released.Len() != 0 {
			t.Fatalf("error %v, %d finalizers removed although nothing was recorded", err, w.released.Len())
		}
		w.refuse = nil
		untilDone(0)(w)
		if w.job.Status.Succeeded != 4 || len(w.broken) > 0 {
			t.Errorf("succeeded %d, broken %v", w.job.Status.Succeeded, w.broken)
		}
	})
	t.Run("JOB-065 no finalizer can be removed", func(t *testing.T) {
		t.Parallel()
		w := ready()
		w.refuse = func(call string) bool { return call == "unfinalize" }
		if _, err, _ := w.sync(); err == nil {
			t.Fatal("no error")
		}
		u := w.job.Status.UncountedTerminatedPods
		if len(u.Succeeded) != 2 || w.job.Status.Succeeded != 0 || w.expectations.Unfinalizing.Len() != 0 {
			t.Fatalf("recorded %v, counted %d, lastBackoff %v", u.Succeeded, w.job.Status.Succeeded, w.expectations.Unfinalizing)
		}
		w.refuse = nil
		untilDone(0)(w)
		if w.job.Status.Succeeded != 4 || len(w.broken) > 0 {
			t.Errorf("succeeded %d, broken %v", w.job.Status.Succeeded, w.broken)
		}
	})
	t.Run("JOB-111 CP-15 a finished Job's finalizers are tried again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(aJob("p2 c2"))
		w.settle(time.Hour)
		endAll(0)(w)
		n := 0
		w.refuse = func(call string) bool { n++; return call == "unfinalize" && n < 5 }
		w.settle(time.Hour)
		if !Finished(w.job) || w.holders() != 0 {
			t.Errorf("finished %t, %d hold the finalizer", Finished(w.job), w.holders())
		}
	})
}

// JOB-266: a pod that never reached a node cannot end by itself; somebody must say that it failed.
func TestAnUnscheduledPodIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(aJob("prp=Failed"))
	w.settle(time.Hour)
	w.remove(w.order[0])
	w.settle(time.Hour)
	if len(w.order) != 1 || *w.job.Status.Terminating != 1 {
		t.Fatalf("%d pods made, terminating %d: want to wait", len(w.order), *w.job.Status.Terminating)
	}
	w.end(w.order[0], 1) // as the pod garbage collector does
	w.settle(time.Hour)
	if len(w.order) != 2 || w.job.Status.Failed != 1 {
		t.Errorf("%d pods made, failed %d: want a replacement", len(w.order), w.job.Status.Failed)
	}
}
