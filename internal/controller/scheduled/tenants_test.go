// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// A tenant whose ten thousand Timetables are all to be looked at, because what they wait for has changed, holds up nobody
// else: what is due is taken out of the queue before them.
func TestDueBeforeWhatWaits(t *testing.T) {
	var q queue = priorityqueue.New[reconcile.Request]("tenants")
	defer q.ShutDown()
	r := &reconciler{gate: loadgate.New(clock.RealClock{})}
	r.queue.Store(&q)
	const waiting = 10_000
	for i := range waiting {
		q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "many", Name: fmt.Sprint(i)}})
	}
	due := []types.NamespacedName{{Namespace: "other", Name: "a"}, {Namespace: "other", Name: "b"}}
	r.ring(due)
	for range due {
		got, _ := q.Get()
		if got.Namespace != "other" || !r.dueKeys.take(got.NamespacedName) {
			t.Errorf("%s comes before what is due", got)
		}
		q.Done(got)
	}
	if left := q.Len(); left != waiting {
		t.Errorf("%d are left", left)
	}
}

// The runs of others are hardly later for a tenant with ten thousand Timetables whose times wait, and which are looked at
// again and again: of hundred starts of another tenant the latest but one takes less than twice as long (TT-212). A sync that
// finds nothing to do costs a millisecond here, and one that starts something five, which is kind to the busy tenant.
func TestLatenessBesideABusyTenant(t *testing.T) {
	const workers, idle, start = 4, time.Millisecond, 5 * time.Millisecond
	p99 := func(waiting int) (latest time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var q queue = priorityqueue.New[reconcile.Request]("tenants")
			r := &reconciler{gate: loadgate.New(clock.RealClock{})}
			r.queue.Store(&q)
			for i := range waiting {
				q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "many", Name: fmt.Sprint(i)}})
			}
			var mu sync.Mutex
			var late []time.Duration
			rung := map[types.NamespacedName]time.Time{}
			var running sync.WaitGroup
			for range workers {
				running.Go(func() {
					for {
						got, shutdown := q.Get()
						if shutdown {
							return
						}
						if r.dueKeys.take(got.NamespacedName) {
							time.Sleep(start)
							r.gate.EndUrgent()
							mu.Lock()
							late = append(late, time.Since(rung[got.NamespacedName]))
							mu.Unlock()
							q.Done(got)
							continue
						}
						time.Sleep(idle)
						q.Done(got)
						q.Add(got)
					}
				})
			}
			for i := range 100 {
				time.Sleep(97*time.Millisecond + time.Duration(i)*13*time.Microsecond)
				key := types.NamespacedName{Namespace: "other", Name: fmt.Sprint(i)}
				mu.Lock()
				rung[key] = time.Now()
				mu.Unlock()
				r.ring([]types.NamespacedName{key})
			}
			time.Sleep(time.Second)
			q.ShutDown()
			running.Wait()
			if len(late) != 100 {
				t.Fatalf("%d of 100 have started", len(late))
			}
			slices.Sort(late)
			latest = late[98]
		})
		return latest
	}
	alone, beside := p99(0), p99(10_000)
	if beside >= 2*alone {
		t.Errorf("it takes %v beside a busy tenant, and %v without", beside, alone)
	}
}
