// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// roundsVariable says how often TestFrozenWhileStarting freezes a leader.
const roundsVariable = "CARILLON_FROZEN_ROUNDS"

// Leaders are frozen between the decision on a start and its request, for longer than their lease, again and again.
// Each time another process takes over, makes the Jobs, and prunes some of them, so that their names are free. When the
// first one goes on it sends nothing more: each scheduled time has exactly one Job, and no late one comes (timetable.md
// F1, docs/adr/0013).
func TestFrozenWhileStarting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes by the wall clock: a lease ends in each round")
	}
	rounds := 5
	if s := os.Getenv(roundsVariable); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatalf("%s: %v", roundsVariable, err)
		}
	}
	p := plane.Start(t)
	w := &world{T: t, plane: p, client: p.Client(), namespace: p.Namespace(t), clock: clocktesting.NewFakeClock(time.Now()), patience: 4 * time.Minute}
	leader := startHeldProcess(w)
	leader.readiness(http.StatusOK)

	// One scheduled time for each, in the past when its round begins. They are suspended until then.
	due := time.Now().Add(20 * time.Second).Truncate(time.Minute).Add(time.Minute).UTC()
	schedule := fmt.Sprintf("%d %d * * *", due.Minute(), due.Hour())
	all := make([][]*batchv1.CronJob, rounds)
	for round := range all {
		for i := range 10 {
			b := build.CronJob(w.namespace, fmt.Sprintf("kept-%d-%d", round, i)).History(10, 10)
			if i%2 == 0 {
				b = build.CronJob(w.namespace, fmt.Sprintf("pruned-%d-%d", round, i)).History(0, 0)
			}
			all[round] = append(all[round], w.createCronJob(b.Schedule(schedule).TimeZone("UTC").Suspend(true)))
		}
	}
	w.eventually("they are due", func(context.Context) error {
		if now := time.Now(); now.Before(due) {
			return fmt.Errorf("it is %v", now)
		}
		return nil
	})

	tried := 0
	processes := []*heldProcess{leader}
	for i, cronJobs := range all {
		standby := startHeldProcess(w)
		standby.readiness(http.StatusInternalServerError)
		tried += freezeWhileStarting(w, leader, standby, cronJobs)
		processes = append(processes, standby)
		leader = standby
		if t.Failed() {
			t.Fatalf("in round %d", i)
		}
	}
	t.Logf("%d starts of frozen leaders were refused and said so, of %d", tried, 10*rounds)

	made := map[string]int{}
	for _, p := range processes {
		for _, name := range p.made() {
			made[name]++
		}
	}
	for _, round := range all {
		for _, cj := range round {
			name := fmt.Sprintf("%s-%d", cj.Name, due.Unix()/60)
			if made[name] != 1 {
				t.Errorf("%s was created %d times", name, made[name])
			}
			delete(made, name)
		}
	}
	if len(made) > 0 {
		t.Errorf("created besides: %v", made)
	}
}

// freezeWhileStarting freezes the leader while it is about to start each of the CronJobs, until the standby has made
// their Jobs. It returns how many of the starts the leader tried afterwards, as far as it came to say so.
func freezeWhileStarting(w *world, leader, standby *heldProcess, cronJobs []*batchv1.CronJob) (tried int) {
	w.Helper()
	leader.starts.gate.shut()
	for _, cj := range cronJobs {
		w.eventually("resume "+cj.Name, func(ctx context.Context) error {
			_, err := w.client.BatchV1().CronJobs(w.namespace).Patch(ctx, cj.Name, types.MergePatchType, []byte(`{"spec":{"suspend":false}}`),
				metav1.PatchOptions{FieldManager: "resume"}) // another one than the schedule's, which is not edited
			return err
		})
	}
	w.eventually("the leader is about to create all Jobs", func(context.Context) error {
		if n := int(leader.starts.waiting.Load()); n != len(cronJobs) {
			return fmt.Errorf("%d of %d", n, len(cronJobs))
		}
		return nil
	})
	leader.signal(syscall.SIGSTOP)
	standby.readiness(http.StatusOK)
	w.eventually("the standby makes all Jobs, and prunes what has ended", func(ctx context.Context) error {
		for _, cj := range cronJobs {
			prune := strings.HasPrefix(cj.Name, "pruned")
			jobs := w.jobsOf(ctx, cj)
			for _, job := range jobs {
				if prune && len(job.Status.Conditions) == 0 {
					w.complete(&job)
				}
			}
			if status := w.cronJob(ctx, cj.Name).Status; status.LastScheduleTime == nil || prune == (len(jobs) > 0) {
				return fmt.Errorf("%s: %d Jobs, last scheduled %v", cj.Name, len(jobs), status.LastScheduleTime)
			}
		}
		return nil
	})
	leader.starts.gate.open() // what it waits for comes while it is frozen
	w.eventually("it is answered", func(context.Context) error {
		if n := leader.starts.waiting.Load(); n > 0 {
			return fmt.Errorf("%d starts wait", n)
		}
		return nil
	})

	thawed := time.Now()
	leader.signal(syscall.SIGCONT)
	select {
	case <-leader.ended:
	case <-time.After(patience):
		w.Fatal("the process that was frozen goes on")
	}
	if exit := new(exec.ExitError); !errors.As(leader.err, &exit) || exit.ExitCode() != 1 {
		w.Errorf("the process that was frozen ended with %v, want exit code 1", leader.err)
	}
	for _, write := range leader.in(w.namespace, nil) {
		if write.begun.After(thawed) && write.resource == "jobs" {
			w.Errorf("sent when it went on: %v", write)
		}
	}
	return strings.Count(leader.output.String(), "not sent: ")
}

// heldProcess is a process that can be held before it creates a Job.
type heldProcess struct {
	*process
	starts *starts
}

func startHeldProcess(w *world) *heldProcess {
	w.Helper()
	return startHeldProcessWith(w, []string{"--controllers", "cronjob"})
}

func startHeldProcessWith(w *world, arguments []string) *heldProcess {
	w.Helper()
	s := &starts{}
	server := httptest.NewServer(s)
	w.Cleanup(func() {
		s.gate.open()
		server.CloseClientConnections()
		server.Close()
	})
	return &heldProcess{startProcessWith(w, arguments, holdVariable+"="+server.URL), s}
}
