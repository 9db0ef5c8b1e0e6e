// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

func terminating() error {
	err := apierrors.NewForbidden(jobs, "x", errors.New("unable to create new content in namespace batch because it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

var full = apierrors.NewForbidden(jobs, "x", errors.New("exceeded quota"))

// One sync makes exactly the calls that its situation asks for, in the order start, record, prune, and leaves the
// status, the events, the timer and the back-off that the contract names.
func TestSync(t *testing.T) {
	owner := tick().Obj()
	for name, test := range map[string]struct {
		owner  make.CronJobBuilder
		jobs   []client.Object
		unseen []client.Object // on the server, not in the cache
		faults map[string][]fault
		at     string

		calls  []string
		events []string
		last   string
		active []string
		wake   string
		retry  time.Duration
	}{
		"CJ-001 nothing is due": {owner: tick(), at: "12:07:00", wake: "12:10:00"},
		"CJ-002 due": {
			owner: tick(), at: "12:10:00.1",
			calls: []string{"create tick-29631610", "record"}, events: []string{"SuccessfulCreate: tick-29631610"},
			last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-003 due at this very instant, without a pad": {
			owner: tick(), at: "12:10:00",
			calls: []string{"create tick-29631610", "record"}, events: []string{"SuccessfulCreate"},
			last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-004 running and recorded": {
			owner: tick().LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:10:30",
			jobs: []client.Object{child(owner, "12:10:00").Obj()},
			last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-061 Forbid": {
			owner: tick().Policy(batchv1.ForbidConcurrent).LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:20:00.1",
			jobs:   []client.Object{child(owner, "12:10:00").Obj()},
			events: []string{"JobAlreadyActive"}, last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:30:00",
		},
		"CJ-065 Replace: the old one goes first": {
			owner: tick().Policy(batchv1.ReplaceConcurrent).LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:20:00.1",
			jobs:   []client.Object{child(owner, "12:10:00").Obj()},
			calls:  []string{"get tick-29631610", "delete tick-29631610", "create tick-29631620", "record"},
			events: []string{"SuccessfulDelete", "SuccessfulCreate"}, last: "12:20:00", active: []string{"tick-29631620"}, wake: "12:30:00",
		},
		"CJ-067 Replace, and the live look fails": {
			owner: tick().Policy(batchv1.ReplaceConcurrent).LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:20:00.1",
			jobs: []client.Object{child(owner, "12:10:00").Obj()}, faults: map[string][]fault{"get": {{err: broken}}},
			calls: []string{"get tick-29631610"}, events: []string{"FailedGet"},
			last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:30:00", retry: 5 * time.Millisecond,
		},
		"CJ-070 Replace, and the create fails": {
			owner: tick().Policy(batchv1.ReplaceConcurrent).LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:20:00.1",
			jobs: []client.Object{child(owner, "12:10:00").Obj()}, faults: map[string][]fault{"create": {{err: full}}},
			calls:  []string{"get tick-29631610", "delete tick-29631610", "create tick-29631620", "record"},
			events: []string{"SuccessfulDelete", "FailedCreate: exceeded quota"}, last: "12:10:00", wake: "12:30:00", retry: 5 * time.Millisecond,
		},
		"CJ-075 a crash before the record: adopted": {
			owner: tick(), at: "12:10:05", jobs: []client.Object{child(owner, "12:10:00").Obj()},
			calls: []string{"get tick", "record"}, events: []string{"UnexpectedJob"},
			last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-075 the same, and the cache has not even the Job": {
			owner: tick(), at: "12:10:05", unseen: []client.Object{child(owner, "12:10:00").Obj()},
			calls: []string{"create tick-29631610", "get tick-29631610", "record"},
			last:  "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-078 a foreign Job has the name (Q1)": {
			owner: tick(), at: "12:10:05", unseen: []client.Object{make.Job("batch", "tick-29631610").Obj()},
			calls: []string{"create tick-29631610", "get tick-29631610"}, events: []string{"FailedCreate: none"}, wake: "12:20:00",
		},
		"CJ-082 an active Job was deleted": {
			owner: tick().LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:10:05",
			calls: []string{"get tick-29631610", "record"}, events: []string{"MissingJob"}, last: "12:10:00", wake: "12:20:00",
		},
		"CJ-081 an active Job that only the server has": {
			owner: tick().LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:10:05",
			unseen: []client.Object{child(owner, "12:10:00").Obj()},
			calls:  []string{"get tick-29631610"}, last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-083 the live look fails": {
			owner: tick().LastSchedule(at("12:10:00")).Active(child(owner, "12:10:00").Obj()), at: "12:20:00.1",
			faults: map[string][]fault{"get": {{err: broken}}},
			calls:  []string{"get tick-29631610"}, last: "12:10:00", active: []string{"tick-29631610"}, wake: "12:30:00", retry: 5 * time.Millisecond,
		},
		"CJ-086 a conflict after the start": {
			owner: tick(), at: "12:10:00.1", faults: map[string][]fault{"record": {{err: conflict}}},
			calls: []string{"create tick-29631610", "record"}, events: []string{"SuccessfulCreate"},
			wake: "12:20:00", retry: 5 * time.Millisecond,
		},
		"CJ-088 the namespace is going": {
			owner: tick(), at: "12:10:00.1", faults: map[string][]fault{"create": {{err: terminating()}}},
			calls: []string{"create tick-29631610"}, wake: "12:20:00", retry: 5 * time.Millisecond,
		},
		"CJ-090 quota is full: history is pruned all the same": {
			owner: tick().History(0, 0).LastSchedule(at("12:10:00")), at: "12:20:00.1",
			jobs:   []client.Object{child(owner, "12:10:00").Started(at("12:10:00")).Complete(at("12:11:00")).Obj()},
			faults: map[string][]fault{"create": {{err: full}}},
			calls:  []string{"create tick-29631620", "record", "delete tick-29631610"}, events: []string{"FailedCreate: exceeded quota", "SuccessfulDelete"},
			last: "12:10:00", wake: "12:30:00", retry: 5 * time.Millisecond,
		},
		"B3 limit 0 after a crash: recorded before it is pruned": {
			owner: tick().History(0, 0), at: "12:12:00",
			jobs:  []client.Object{child(owner, "12:10:00").Started(at("12:10:00")).Complete(at("12:11:00")).Obj()},
			calls: []string{"record", "delete tick-29631610"}, events: []string{"SuccessfulDelete"}, last: "12:10:00", wake: "12:20:00",
		},
		"B3 the record fails: nothing that proves the run is pruned": {
			owner: tick().History(0, 0), at: "12:12:00", faults: map[string][]fault{"record": {{err: broken}}},
			jobs:  []client.Object{child(owner, "12:10:00").Started(at("12:10:00")).Complete(at("12:11:00")).Obj()},
			calls: []string{"record"}, wake: "12:20:00", retry: 5 * time.Millisecond,
		},
		"the answer to the create is lost: a look finds the Job": {
			owner: tick(), at: "12:10:00.1", faults: map[string][]fault{"create": {{err: apierrors.NewTimeoutError("late", 1), after: true}}},
			calls: []string{"create tick-29631610", "get tick-29631610", "record"},
			last:  "12:10:00", active: []string{"tick-29631610"}, wake: "12:20:00",
		},
		"CJ-120 suspended": {owner: tick().Suspend(true), at: "12:10:00.1"},
		"CJ-026 a schedule that never fires": {
			owner: tick().Schedule("0 0 30 2 *"), at: "12:10:00.1", events: []string{"InvalidSchedule"}, wake: "12:40:00.1", // it is told again
		},
		"CJ-031 a zone that does not exist": {
			owner: tick().TimeZone("Mars/Olympus"), at: "12:10:00.1", events: []string{"UnknownTimeZone: Mars/Olympus"}, wake: "12:40:00.1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append([]client.Object{test.owner.Obj()}, test.jobs...)...)
			for _, o := range test.unseen {
				uid := o.GetUID()
				o.SetResourceVersion("")
				if err := w.server.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				o.SetUID(uid)
				if err := w.server.Update(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			w.did()
			w.faults = map[string][]fault{}
			for call, faults := range test.faults {
				w.faults[call] = append([]fault(nil), faults...)
			}
			w.sync(test.at)
			w.wantCalls(test.calls...)
			w.wantEvents(test.events...)
			w.wantStatus(test.last, test.active...)
			w.wantWake(test.wake)
			w.wantRetry(test.retry)
		})
	}
}

// However far the cache is behind our own writes, the next syncs neither start nor record anything twice.
func TestOwnWritesAreRead(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.sync("12:10:00")
	w.wantCalls("create tick-29631610", "record")
	w.sync("12:10:01") // the cache has seen nothing
	w.seeOwners()
	w.sync("12:10:02")
	w.seeChildren()
	w.sync("12:10:03")
	w.wantCalls()
	w.complete("tick-29631610", "12:11:00")
	w.seeChildren()
	w.sync("12:11:01")
	w.wantCalls("record")
	w.sync("12:11:02") // our second status write is not in the cache yet
	w.wantCalls()
	w.sync("12:20:00")
	w.wantCalls("create tick-29631620", "record")
	w.wantStatus("12:20:00", "tick-29631620")
}

// A crash after the create loses the memory of this process and nothing else: one Job, listed once (R1, A3).
func TestCrashAfterCreate(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.fail("record", fault{err: conflict})
	w.sync("12:10:00")
	w.wantCalls("create tick-29631610", "record")
	var job batchv1.Job
	w.load("tick-29631610", &job)

	next := newWorld(t, tick().Obj(), &job) // a new process
	next.sync("12:10:05")
	next.wantCalls("get tick", "record")
	next.wantStatus("12:10:00", "tick-29631610")
	next.see()
	next.sync("12:10:06")
	next.wantCalls()
}

// Failures are tried again after 5, 10, 20 ms; a success resets that (CJ-169). The timer for the next scheduled time
// does not wait for the back-off.
func TestBackoff(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.fail("create", fault{err: broken}, fault{err: broken}, fault{err: broken}, fault{}, fault{err: broken})
	for _, want := range []time.Duration{5, 10, 20, 0} {
		w.sync("12:10:01")
		w.wantRetry(want * time.Millisecond)
		w.wantWake("12:20:00")
	}
	w.sync("12:20:01")
	w.wantRetry(5 * time.Millisecond)
}

// The same Warning for the same cause is told once, not at each try (B6).
func TestWarningsAreNotRepeated(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.fail("create", fault{err: broken}, fault{err: broken}, fault{err: broken})
	w.sync("12:10:01")
	w.sync("12:10:02")
	w.wantEvents("FailedCreate")
	w.sync("12:20:01")
	w.wantEvents("MissSchedule", "FailedCreate")
}

// A late start is not decided on a cache: what it shows may be older than a run that has come and gone since, with its
// Job, under another leader (guarantee 1). One that is in time costs no read.
func TestLateStartLooksAtTheServer(t *testing.T) {
	for name, test := range map[string]struct {
		served bool // by another process, and the cache does not know
		faults map[string][]fault
		calls  []string
		last   string
	}{
		"it ran already":           {served: true, calls: []string{"get tick"}, last: "12:10:00"},
		"it did not":               {calls: []string{"get tick", "create tick-29631610", "record"}, last: "12:10:00"},
		"nobody knows for a while": {faults: map[string][]fault{"get": {{err: broken}}}, calls: []string{"get tick"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tick().Obj())
			if test.served {
				var live batchv1.CronJob
				w.load("tick", &live)
				live.Status.LastScheduleTime = &metav1.Time{Time: at("12:10:00")}
				if err := w.raw.Status().Update(t.Context(), &live); err != nil {
					t.Fatal(err)
				}
			}
			w.faults = test.faults
			w.sync("12:10:11")
			w.wantCalls(test.calls...)
			var live batchv1.CronJob
			w.load("tick", &live)
			if got := live.Status.LastScheduleTime; (got == nil) != (test.last == "") || got != nil && !got.Time.Equal(at(test.last)) {
				t.Errorf("last is %v, want %q", got, test.last)
			}
			w.wantWake("12:20:00")
		})
	}
}

// A status write that hangs, and those of other CronJobs that wait behind it, delay no start (B4).
func TestHangingStatusWriteDelaysNoStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, tick().Obj())
		hang, release := context.WithCancel(t.Context())
		w.writer = hanging{w.writer, hang}
		ctx, stop := context.WithCancel(t.Context())
		var keeper sync.WaitGroup
		keeper.Go(func() { w.statusQueue.run(ctx, 1) })
		for _, clockTime := range []string{"12:10:00", "12:20:00", "12:30:00"} {
			w.time.SetTime(at(clockTime))
			w.ring([]types.NamespacedName{tickKey})
			if _, err := w.Reconcile(ctx, reconcile.Request{NamespacedName: tickKey}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		// A look makes sure that the run which is not recorded is our own.
		w.wantCalls("create tick-29631610", "get tick", "create tick-29631620", "get tick", "create tick-29631630")
		if w.gate.Busy() {
			t.Error("the starts are done; nothing may be held back for them")
		}
		release()
		synctest.Wait()
		stop()
		keeper.Wait()
	})
}

// hanging is a client whose status writes hang until the context ends.
type hanging struct {
	client.Client
	until context.Context
}

func (h hanging) SubResource(string) client.SubResourceClient { return hangingStatus{until: h.until} }

type hangingStatus struct {
	client.SubResourceClient
	until context.Context
}

func (h hangingStatus) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	select {
	case <-h.until.Done():
	case <-ctx.Done():
	}
	return broken
}

// While a second half is open, an event waits for its end and then calls for a sync of its own.
func TestEventsWaitForTheStatusQueue(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.time.SetTime(at("12:10:00"))
	request := reconcile.Request{NamespacedName: tickKey}
	for range 3 {
		if _, err := w.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	w.wantCalls("create tick-29631610")
	w.keepBooks()
	w.wantCalls("record")
	if len(w.queued.keys) != 1 {
		t.Errorf("%d syncs called for, want one", len(w.queued.keys))
	}
}

// A CronJob that goes between the halves of a sync is not talked about once more (B6).
func TestGoneBetweenTheHalves(t *testing.T) {
	owner := tick().Obj()
	done := child(owner, "12:10:00").Started(at("12:10:00")).Complete(at("12:11:00")).Obj()
	w := newWorld(t, tick().TimeZone("Mars/Olympus").LastSchedule(at("12:10:00")).Active(done).Obj(), done)
	w.time.SetTime(at("12:12:00"))
	for range 2 { // the first half of a sync; then the CronJob is gone
		if _, err := w.Reconcile(t.Context(), request(owner)); err != nil {
			t.Fatal(err)
		}
		w.indexers["CronJob"].Replace(nil, "")
		w.dueKeys.add([]types.NamespacedName{tickKey}) // no sync waits for the status queue
	}
	w.keepBooks()
	w.wantEvents()
}

// What is remembered about a CronJob goes with it, and one of the same name starts afresh (A16).
func TestRecreated(t *testing.T) {
	w := newWorld(t, tick().Obj())
	w.sync("12:10:00")
	w.did()
	w.indexers["CronJob"].Replace([]any{tick().UID("cj-2").Created(at("12:15:00")).Obj()}, "")
	w.sync("12:17:00")
	former := tick().Obj()
	former.ResourceVersion = "1"
	children, _ := w.child.writes.Merge("cj-1", nil)
	if _, own := w.ownWrites.Latest(former); own || len(children) > 0 {
		t.Errorf("writes of the former CronJob are remembered: its status %v, %d children", own, len(children))
	}
	w.wantWake("12:20:00")
	w.indexers["CronJob"].Replace(nil, "")
	w.sync("12:18:00")
	w.wantWake("")
	w.wantCalls()
}
