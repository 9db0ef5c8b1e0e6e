// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// Whose Job it is: with another Job controller beside us only those that name
// us, exactly; alone also those that name nobody or the built-in one. What is
// not ours is not touched in any way, running, suspended, or deleted
// (JOB-330, JOB-331, JOB-332, JOB-334, JOB-335, JOB-337).
func TestManagedBy(t *testing.T) {
	for name, c := range map[string]struct {
		managedBy           *string
		managed, standalone bool // who takes it
	}{
		"nobody":            {nil, false, true},
		"the built-in":      {ptr.To(batchv1.JobControllerName), false, true},
		"us":                {ptr.To(ManagedBy), true, true},
		"somebody else":     {ptr.To("acme.io/jobs"), false, false},
		"us in upper case":  {ptr.To("Carillon.dev/job-controller"), false, false},
		"us with a suffix":  {ptr.To(ManagedBy + "2"), false, false},
		"a part of our own": {ptr.To("carillon.dev/job"), false, false},
	} {
		for mode, want := range map[bool]bool{false: c.managed, true: c.standalone} {
			t.Run(name, func(t *testing.T) {
				for _, suspended := range []bool{false, true} {
					w := newWorld(t, func(o *Options) { o.Standalone = mode })
					b := make.Job(ns, "j").Suspend(suspended)
					if c.managedBy != nil {
						b = b.ManagedBy(*c.managedBy)
					}
					j := b.Obj()
					w.add(j, make.Pod(ns, "theirs").Of(j).Obj())
					before := w.job("j").Status
					w.pass(5 * time.Second)
					w.finishAll(corev1.PodFailed)
					w.pass(5 * time.Second)
					w.edit("j", func(j *batchv1.Job) { j.Spec.BackoffLimit = ptr.To[int32](0) })
					w.pass(5 * time.Second)
					if took := w.writes() > 0; took != want {
						t.Errorf("standalone %v, suspended %v: touched %v, want %v: %v", mode, suspended, took, want, w.calls)
					}
					if !want {
						if diff := cmp.Diff(before, w.job("j").Status); diff != "" || len(w.said.reasons()) > 0 {
							t.Errorf("status or events changed: %s %v", diff, w.said.reasons())
						}
						if len(w.ctl.expectations.byJob) > 0 || w.count("", "") > 0 {
							t.Errorf("expectations %v, calls %v", w.ctl.expectations.byJob, w.calls)
						}
					}
				}
			})
		}
	}
}

// A Job that is replaced under its name by somebody else's, while a sync of it
// waits, is not touched by that sync (JOB-333).
func TestReplacedByAForeignJob(t *testing.T) {
	w := newWorld(t)
	w.add(make.Job(ns, "j").UID("ours").Obj())
	w.deliver()
	if len(w.main.due()) != 1 {
		t.Fatal("no sync waits")
	}
	must(t, w.api.Delete(context.Background(), w.job("j")))
	w.add(make.Job(ns, "j").UID("theirs").ManagedBy("acme.io/jobs").Obj())
	w.deliver()
	w.pass(time.Minute)
	if n := w.writes(); n != 0 {
		t.Errorf("calls %v", w.calls)
	}
}

// Jobs of others are counted once for each time that they appear (JOB-338).
func TestForeignJobsAreCounted(t *testing.T) {
	w := newWorld(t)
	counter := externalJobs.WithLabelValues("counted.example.com/jobs")
	w.add(make.Job(ns, "theirs").ManagedBy("counted.example.com/jobs").Obj(), make.Job(ns, "ours").Obj())
	w.pass(time.Minute)
	w.edit("theirs", func(j *batchv1.Job) { j.Spec.Parallelism = ptr.To[int32](3) })
	w.pass(time.Minute)
	if got := testutil.ToFloat64(counter); got != 1 {
		t.Errorf("counted %v times", got)
	}
	w.restart()
	w.pass(time.Minute)
	if got := testutil.ToFloat64(counter); got != 2 {
		t.Errorf("counted %v times after a restart", got)
	}
}
