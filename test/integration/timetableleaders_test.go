// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kube/fence"
	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
)

// A leader is stopped between its decision on the runs of Timetables and the creates. Another one takes over and makes
// the runs, which end; the objects of some are gone by then, so that their names are free. When the first one goes on
// it sends nothing (timetable.md F1, TT-190).
func TestFrozenWhileStartingTimetables(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute by the wall clock: a lease ends")
	}
	w := newTimetableAPI(t)
	w.clock, w.patience = clocktesting.NewFakeClock(time.Now()), 4*time.Minute
	arguments := []string{"--controllers", "cronjob", "--kinds", "timetable"}
	leader := startHeldProcessWith(w, arguments)
	leader.readiness(http.StatusOK)

	due := time.Now().Add(20 * time.Second).Truncate(time.Second).UTC()
	names := []string{"kept-0", "kept-1", "gone-0", "gone-1"}
	for _, name := range names {
		w.createTimetable(name, fmt.Sprintf("schedules: [{name: main, at: [%q]}]", due.Format(time.RFC3339)))
		w.eventually(name+" is tried", func(ctx context.Context) error { // by a dry run, which is not to be held
			if s, err := w.timetableStatus(ctx, name); err != nil || s.CheckedTemplate == "" {
				return fmt.Errorf("status %+v: %w", s, err)
			}
			return nil
		})
	}
	leader.starts.gate.shut()
	standby := startHeldProcessWith(w, arguments)
	standby.readiness(http.StatusInternalServerError)
	w.eventually("the leader is about to create all Jobs", func(context.Context) error {
		if n := int(leader.starts.waiting.Load()); n != len(names) {
			return fmt.Errorf("%d of %d", n, len(names))
		}
		return nil
	})
	leader.signal(syscall.SIGSTOP)
	standby.readiness(http.StatusOK)
	for _, name := range names {
		w.eventually("the run of "+name+" begins", func(ctx context.Context) error {
			jobs, err := w.jobsLabelled(ctx, name)
			if err != nil || len(jobs) != 1 {
				return fmt.Errorf("%d Jobs: %w", len(jobs), err)
			}
			w.clock.SetTime(time.Now())
			w.complete(&jobs[0])
			return nil
		})
		w.ended(name, 1)
		if strings.HasPrefix(name, "gone") {
			w.deleteJobs(name)
		}
	}
	leader.starts.gate.open()
	w.eventually("it is answered", func(context.Context) error {
		if n := leader.starts.waiting.Load(); n > 0 {
			return fmt.Errorf("%d starts wait", n)
		}
		return nil
	})

	thawed := time.Now()
	leader.signal(syscall.SIGCONT)
	select {
	case <-leader.process.ended:
	case <-time.After(patience):
		t.Fatal("the process that was frozen goes on")
	}
	if exit := new(exec.ExitError); !errors.As(leader.err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("the process that was frozen ended with %v, want exit code 1", leader.err)
	}
	for _, write := range leader.in(w.namespace, nil) {
		if write.begun.After(thawed) && (write.resource == "jobs" || strings.HasPrefix(write.resource, "timetables")) {
			t.Errorf("sent when it went on: %v", write)
		}
	}
	if made := leader.made(); len(made) > 0 {
		t.Errorf("the first one has made %v", made)
	}
	if made := standby.made(); len(made) != len(names) {
		t.Errorf("the second one has made %v", made)
	}
	for _, name := range names {
		w.ended(name, 1)
	}
}

// A leader that cannot renew its lease, but reaches the API server otherwise, starts nothing from the moment on at
// which another one may soon lead, and gives up (timetable.md F1, TT-191).
func TestLeaderThatCannotRenewStartsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute by the wall clock: a lease is given up")
	}
	w := newTimetableAPI(t)
	var seen traffic
	var cut atomic.Bool
	seen.interfere(func(_ *http.Request, write write) error {
		if cut.Load() && write.resource == "leases" {
			return errors.New("cut off")
		}
		return nil
	})
	m, err := manager.New(manager.Options{Config: seen.on(w.plane.Config()), Clock: clock.RealClock{}, Controllers: []string{manager.Timetable}, Logger: logr.Discard(),
		TimetableMinInterval: time.Second, LeaderElect: true, LeaderElectionNamespace: w.namespace})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	w.createTimetable("tick", "{schedules: [{name: main, every: 1s}], concurrency: {policy: Allow}}")
	creates := func() []write {
		return seen.in(w.namespace, func(w write) bool { return w.verb == "create" && w.resource == "jobs" && w.accepted() })
	}
	w.eventually("it starts runs", func(context.Context) error {
		if n := len(creates()); n < 5 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	cut.Store(true)
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended as if it had been told to")
		}
	case <-time.After(patience):
		t.Fatal("it goes on without a lease")
	}
	renewals := seen.in(w.namespace, func(w write) bool { return w.resource == "leases" && w.accepted() })
	last := renewals[len(renewals)-1].begun
	after := creates()
	if i := slices.IndexFunc(after, func(w write) bool { return w.begun.Sub(last) > fence.MaxRenewalAge+time.Second }); i >= 0 {
		t.Errorf("%v was sent %v after the last renewal", after[i], after[i].begun.Sub(last))
	}
	tried := seen.in(w.namespace, func(w write) bool { return w.resource == "leases" && !w.accepted() })
	if len(tried) == 0 || tried[len(tried)-1].begun.Sub(last) < fence.MaxRenewalAge+2*time.Second {
		t.Errorf("it gave up too early to show anything: %v", tried)
	}
}

// A manager of Timetables that takes over while its caches show nothing of a run that has come and gone waits until
// they are as new as its leadership, and starts that no second time (timetable.md F2, TT-192).
func TestTakeoverOfTimetablesWithOldCaches(t *testing.T) {
	w := newTimetableAPI(t)
	w.clock = clocktesting.NewFakeClock(time.Now())
	var firstWrites, secondWrites traffic
	watches := &laggingWatches{}
	options := func(config *rest.Config) manager.Options {
		return manager.Options{Config: config, Clock: w.clock, Zone: time.UTC, Controllers: []string{manager.Timetable}, LeaderElect: true, LeaderElectionNamespace: w.namespace}
	}
	stopFirst := w.run(options(firstWrites.on(w.plane.Config())))
	second, _ := w.launch(options(watches.on(secondWrites.on(w.plane.Config()))))
	w.createTimetable("tick", "{}")
	for _, name := range []string{"first-" + w.namespace, "second-" + w.namespace} { // the latter after the list that fills the caches
		w.createTimetable("timetable-"+name, "{suspend: true}")
		job := build.Job(w.namespace, "job-"+name).New()
		job.Labels = map[string]string{v1alpha1.LabelTimetableUID: "another"}
		if _, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.eventually(name+" is told of", func(context.Context) error { return watches.toldOf("timetable-"+name, "job-"+name) })
	}
	watches.gate.shut()

	w.pass(1)
	w.eventually("the run begins", func(ctx context.Context) error {
		jobs, err := w.jobsLabelled(ctx, "tick")
		if err != nil || len(jobs) != 1 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		w.complete(&jobs[0])
		return nil
	})
	w.ended("tick", 1)
	w.deleteJobs("tick")
	stopFirst()
	w.eventually("the second one leads, and asks how new its caches have to be", func(context.Context) error {
		select {
		case <-second.Ready():
		default:
			return errors.New("it does not lead")
		}
		if n := watches.asked.Load(); n < 2 {
			return errors.New("it does not ask")
		}
		return nil
	})
	made := func(by *traffic) (names []string) {
		for _, write := range by.in(w.namespace, func(w write) bool { return w.verb == "create" && w.resource == "jobs" && w.accepted() }) {
			names = append(names, write.name)
		}
		return names
	}
	if early := made(&secondWrites); len(early) > 0 {
		t.Errorf("started before its caches are new: %v", early)
	}
	watches.gate.open()
	w.pass(1)
	w.eventually("the next run begins, and the answer is noted", func(ctx context.Context) error {
		if jobs, err := w.jobsLabelled(ctx, "tick"); err != nil || len(jobs) != 1 || len(made(&secondWrites)) == 0 {
			return fmt.Errorf("%d Jobs: %w", len(jobs), err)
		}
		return nil
	})
	if a, b := made(&firstWrites), made(&secondWrites); len(a) != 1 || len(b) != 1 || a[0] == b[0] {
		t.Errorf("made %v, and then %v, want one Job for each of two scheduled times", a, b)
	}
}
