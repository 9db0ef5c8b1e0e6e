// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// Until when each urgency lets a status write be put off.
func TestPutOffWrite(t *testing.T) {
	o := Options{ProgressDeferPerPod: 5 * time.Millisecond, ProgressDeferMost: 10 * time.Second, SyncPeriod: time.Second}
	for name, test := range map[string]struct {
		urgency job.Urgency
		waited  time.Duration
		pods    int
		busy    bool
		want    time.Duration // from when there was something to write; 0: write now
	}{
		"an end":                                      {urgency: job.UrgencyImmediate, pods: 1000},
		"an end, and the server is busy":              {urgency: job.UrgencyImmediate, pods: 1000, busy: true},
		"a start":                                     {urgency: job.UrgencyStart, pods: 1000},
		"a start, and the server is busy":             {urgency: job.UrgencyStart, busy: true, want: startMaxDefer},
		"a start, and the server stays busy":          {urgency: job.UrgencyStart, busy: true, waited: startMaxDefer},
		"progress of one pod":                         {urgency: job.UrgencyProgress, pods: 1},
		"progress of a Job that has no pod any more":  {urgency: job.UrgencyProgress, pods: 0},
		"progress of a hundred":                       {urgency: job.UrgencyProgress, pods: 101, want: 500 * time.Millisecond},
		"progress of a hundred that has waited a bit": {urgency: job.UrgencyProgress, pods: 101, waited: 499 * time.Millisecond, want: 500 * time.Millisecond},
		"progress of a hundred that has waited":       {urgency: job.UrgencyProgress, pods: 101, waited: 500 * time.Millisecond},
		"progress of very many":                       {urgency: job.UrgencyProgress, pods: 1000000, want: 10 * time.Second},
		"readiness":                                   {urgency: job.UrgencyLazy, pods: 1, want: time.Second},
		"readiness that has waited":                   {urgency: job.UrgencyLazy, pods: 1, waited: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			now := start.Add(test.waited)
			want := time.Time{}
			if test.want > 0 {
				want = start.Add(test.want)
			}
			if got := o.deferWriteUntil(test.urgency, start, now, test.pods, test.busy); !got.Equal(want) {
				t.Errorf("put off until %v, want %v", got, want)
			}
			if test.waited == 0 && !o.deferWriteUntil(test.urgency, time.Time{}, now, test.pods, test.busy).Equal(want) {
				t.Error("what is found now has not waited")
			}
		})
	}
}

// What a new process finds of a Job whose beginning was not written yet is a Job
// that begins.
func TestRestartBeforeTheBeginningIsWritten(t *testing.T) {
	w := newWorld(t)
	busy(w)
	w.add(make.Job(ns, "one").Obj())
	w.run()
	w.restart()
	w.finishAll(corev1.PodSucceeded)
	w.pass(time.Minute)
	w.wantStatus("one", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) && s.Succeeded == 1 }, "complete")
	if n := len(w.pods()); n != 1 {
		t.Errorf("%d pods, want 1", n)
	}
	w.wantHeld(0)
}

// A progress write never waits for company that cannot come: when all pods ended
// at once, the Job ends at once, however many there are and whatever its mode.
func TestEndDoesNotWait(t *testing.T) {
	for name, mode := range map[string]func(make.JobBuilder) make.JobBuilder{
		"NonIndexed": func(b make.JobBuilder) make.JobBuilder { return b.Completions(60) },
		"Indexed":    func(b make.JobBuilder) make.JobBuilder { return b.Indexed(60) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.MaxUncounted, o.ProgressDeferPerPod = 7, time.Second })
			w.add(mode(make.Job(ns, "wide")).Parallelism(60).Obj())
			w.pass(time.Hour)
			before := w.count("status", "Job")
			w.finishAll(corev1.PodSucceeded)
			w.pass(w.opts.withDefaults().WindowMost)
			w.wantStatus("wide", func(s batchv1.JobStatus) bool { return condition(s, batchv1.JobComplete) && s.Succeeded == 60 }, "complete")
			if n := w.count("status", "Job") - before; n != 1 {
				t.Errorf("%d status writes to end the Job, want 1", n)
			}
			w.pass(time.Minute)
			w.wantHeld(0)
		})
	}
}

// What did not fit into a write has waited long enough: it follows at once.
func TestRestOfALimitedWriteFollowsAtOnce(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxUncounted, o.ProgressDeferPerPod = 10, time.Second })
	w.add(make.Job(ns, "wide").Completions(60).Parallelism(60).Obj())
	w.pass(time.Hour)
	for _, pod := range w.pods()[:50] {
		w.finish(pod, corev1.PodSucceeded)
	}
	w.pass(w.opts.withDefaults().ProgressDeferMost + 5*time.Second)
	w.wantStatus("wide", func(s batchv1.JobStatus) bool { return s.Succeeded >= 40 && s.Active == 10 }, "nearly all of what ended counted")
}
