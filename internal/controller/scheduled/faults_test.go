// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// Whatever fails, lags, crashes or moves the clock, in any order: no scheduled time gets two Jobs (guarantee 1), Forbid
// and Replace never let two run at once (2), and when the trouble ends the latest scheduled time has been served and
// the status tells the truth (3, 5).
func TestGuaranteesUnderFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}).Draw(rt, "policy")
		keep := int32(rapid.IntRange(0, 2).Draw(rt, "history"))
		owner := tick().Policy(policy).History(keep, keep)
		w := newWorld(t, owner.Obj())
		w.log = logr.Discard()
		started := map[string]int{}
		w.onCreate = func(name string) {
			if started[name]++; started[name] > 1 {
				rt.Fatalf("%s was started twice", name)
			}
			if running := w.running(); policy != batchv1.AllowConcurrent && len(running) > 1 {
				rt.Fatalf("%v run at the same time under %s", running, policy)
			}
		}
		now := created
		syncOnce := func() {
			w.time.SetTime(now)
			if _, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: tickKey}); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(5, 60).Draw(rt, "steps") {
			switch step := rapid.SampledFrom([]string{
				"sync", "sync", "sync", "status", "status", "time", "time", "owners", "children", "complete", "fault", "fault", "crash", "clock",
			}).Draw(rt, "step"); step {
			case "sync":
				syncOnce()
			case "status":
				w.keepBooks()
			case "time":
				now = now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(rt, "seconds")) * time.Second)
			case "clock": // somebody sets the clock back
				now = now.Add(-time.Duration(rapid.IntRange(1, 900).Draw(rt, "back")) * time.Second)
			case "owners":
				w.seeOwners()
			case "children":
				w.seeChildren()
			case "complete":
				if running := w.running(); len(running) > 0 {
					w.complete(rapid.SampledFrom(running).Draw(rt, "which"), now.Format("15:04:05"))
				}
			case "fault":
				call := rapid.SampledFrom([]string{"create", "record", "delete", "get"}).Draw(rt, "call")
				w.fail(call, fault{
					err: rapid.SampledFrom([]error{broken, conflict, full, apierrors.NewTimeoutError("late", 1)}).Draw(rt, "error"),
					// An error of the quota or a conflict says for certain that nothing was done.
					after: rapid.Bool().Draw(rt, "after"),
				})
				faults := w.faults[call]
				if last := &faults[len(faults)-1]; errors.Is(last.err, full) || errors.Is(last.err, conflict) {
					last.after = false
				}
			case "crash": // a new process, with a fresh cache and no memory
				w.restart()
			}
		}

		// The trouble ends.
		clear(w.faults)
		for range 8 {
			w.see()
			syncOnce()
			w.keepBooks()
		}
		running := w.running()
		var cj batchv1.CronJob
		w.load("tick", &cj)
		active := []string{}
		for _, ref := range cj.Status.Active {
			active = append(active, ref.Name)
		}
		slices.Sort(active)
		if !slices.Equal(active, running) {
			rt.Fatalf("status.active is %v, but %v run", active, running)
		}
		if due := now.Truncate(10 * time.Minute); due.After(created) && policy != batchv1.ForbidConcurrent {
			if last := cj.Status.LastScheduleTime; last == nil || last.Time.Before(due) {
				rt.Fatalf("the run of %v is lost, last is %v", due, last)
			}
		}
		finished := 0
		var list batchv1.JobList
		if err := w.server.List(context.Background(), &list, client.InNamespace("batch")); err != nil {
			rt.Fatal(err)
		}
		for _, j := range list.Items {
			if len(j.Status.Conditions) > 0 {
				finished++
			}
		}
		if finished > int(keep) {
			rt.Fatalf("%d finished Jobs are kept, the limit is %d", finished, keep)
		}
	})
}

// running lists the unfinished Jobs of the server, sorted.
func (w *world) running() []string {
	w.Helper()
	var list batchv1.JobList
	if err := w.server.List(context.Background(), &list); err != nil {
		w.Fatal(err)
	}
	running := []string{}
	for _, j := range list.Items {
		if len(j.Status.Conditions) == 0 {
			running = append(running, j.Name)
		}
	}
	slices.Sort(running)
	return running
}

// Every failure of every single call, alone: the next syncs put it right (A3, A11).
func TestEverySingleFault(t *testing.T) {
	for _, policy := range []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent} {
		for _, call := range []string{"create", "record", "delete", "get"} {
			for nth := range 3 {
				for _, after := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, %s %d, done %v", policy, call, nth, after), func(t *testing.T) {
						w := newWorld(t, make.CronJob("batch", "tick").UID("cj-1").Created(created).Policy(policy).History(1, 1).Obj())
						faults := append(slices.Repeat([]fault{{}}, nth), fault{err: broken, after: after})
						w.fail(call, faults...)
						for _, clockTime := range []string{"12:10:00", "12:20:00", "12:30:00", "12:40:00"} {
							w.sync(clockTime)
							w.see()
							w.sync(clockTime + ".5")
							w.see()
							w.sync(clockTime + ".6")
							for _, name := range w.running() {
								w.complete(name, strings.Replace(clockTime, ":00", ":03", 1))
							}
							w.see()
							w.sync(strings.Replace(clockTime, "0:00", "5:00", 1))
							w.see()
						}
						w.wantStatus("12:40:00")
						creates := 0
						for _, c := range w.did() {
							if strings.HasPrefix(c, "create ") {
								creates++
							}
						}
						if creates < 4 || creates > 5 {
							t.Errorf("%d creates for four scheduled times and one fault", creates)
						}
					})
				}
			}
		}
	}
}
