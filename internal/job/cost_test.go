// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// JOB-374, JOB-375 and the goals of job.md 11.4: how much a Job costs the API server.
func TestCallsPerJob(t *testing.T) {
	t.Parallel()
	t.Run("one pod: four writes and two events", func(t *testing.T) {
		t.Parallel()
		w := newWorld(aJob(""))
		w.settle(time.Second)
		startAll(w)
		// The kubelet's news of a ready pod does not make a write of its own: it is lazy.
		plan, _, _ := func() (Plan, error, bool) {
			return Decide(Snapshot{Job: w.job, Pods: w.cached(), PodsCurrent: true, Now: w.now, Expectations: w.expectations, Options: w.options}), nil, false
		}()
		if r := plan.PlanStatus(Results{}); r.Write.Urgency != UrgencyLazy {
			t.Errorf("a ready pod alone causes a write: %s", r)
		}
		endAll(0)(w)
		w.settle(time.Hour)
		if w.effects != 4 || len(w.events) != 2 {
			t.Errorf("%d writes and %d events:\n%s\n%v", w.effects, len(w.events), strings.Join(w.log, "\n"), w.events)
		}
	})
	t.Run("two thousand Indexed pods that end at once: one write and the finalizers", func(t *testing.T) {
		t.Parallel()
		const n = 2000
		w := newWorld(aJob(fmt.Sprintf("p%d c%d indexed", n, n)))
		w.settle(time.Hour)
		before := w.writes
		endAll(0)(w)
		w.settle(time.Hour)
		if w.writes-before != 1 || !Finished(w.job) || w.holders() > 0 || w.broken != nil {
			t.Errorf("%d status writes to end it, finished %t, %d hold the finalizer, broken %v", w.writes-before, Finished(w.job), w.holders(), w.broken)
		}
		if w.effects != 2*n+w.writes {
			t.Errorf("%d writes, %d of the status", w.effects, w.writes)
		}
	})
	t.Run("a thousand Indexed pods: 2N and a few", func(t *testing.T) {
		t.Parallel()
		const n = 1000
		w := newWorld(aJob(fmt.Sprintf("p%d c%d indexed", n, n)))
		w.settle(time.Hour)
		untilDone(0)(w)
		if extra := w.effects - 2*n; extra > 10 || w.broken != nil {
			t.Errorf("%d writes beyond 2N, broken %v", extra, w.broken)
		}
	})
	t.Run("JOB-377 a finished Job: none", func(t *testing.T) {
		t.Parallel()
		w := stories["JOB-003 four successes, two at a time"].play(nil)
		before := w.calls
		w.settle(time.Hour)
		if w.calls != before {
			t.Errorf("%d calls for a Job that has ended", w.calls-before)
		}
	})
}

func (w *world) cached() (pods []*corev1.Pod) {
	for _, pod := range w.cache {
		pods = append(pods, pod)
	}
	return pods
}
