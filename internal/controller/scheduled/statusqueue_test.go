// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// slowQueue is a status queue whose second halves take a second each.
type slowQueue struct {
	*statusQueue
	mu      sync.Mutex
	done    []string // key and number of the sync within it
	running map[string]int
	most    int // second halves at the same time
	perKey  int // of one key
	called  []string
}

func newSlowQueue(gate *loadgate.Gate) *slowQueue {
	d := &slowQueue{running: map[string]int{}}
	d.statusQueue = newStatusQueue(gate, d.conclude, func(key types.NamespacedName) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.called = append(d.called, key.Name)
	})
	return d
}

func (d *slowQueue) conclude(_ context.Context, s *ongoingSync) {
	d.mu.Lock()
	d.running[s.key.Name]++
	total := 0
	for _, n := range d.running {
		total += n
	}
	d.most, d.perKey = max(d.most, total), max(d.perKey, d.running[s.key.Name])
	d.mu.Unlock()
	<-time.After(time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[s.key.Name]--
	d.done = append(d.done, fmt.Sprintf("%s%d", s.key.Name, s.steps))
}

// busy is how many CronJobs have been begun.
func (d *slowQueue) busy() int {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running)
}

func (d *slowQueue) take(name string, n int) {
	d.add(&ongoingSync{key: types.NamespacedName{Name: name}, steps: n})
}

// Several CronJobs are worked on at once, those of one CronJob in order, and everything that is open when the process
// is told to stop is still done.
func TestStatusQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlowQueue(nil)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.run(ctx, 3) })
		for _, name := range []string{"a", "b", "c", "d"} {
			d.take(name, 1)
		}
		d.take("a", 2)
		synctest.Wait()
		if d.pending(types.NamespacedName{Name: "z"}) || !d.pending(types.NamespacedName{Name: "a"}) || !d.pending(types.NamespacedName{Name: "a"}) {
			t.Error("a is open, z is not")
		}
		stop()
		running.Wait()
		if first, second := slices.Index(d.done, "a1"), slices.Index(d.done, "a2"); len(d.done) != 5 || first < 0 || second < first {
			t.Errorf("done: %v", d.done)
		}
		if d.most != 3 || d.perKey != 1 {
			t.Errorf("%d at a time, %d of one CronJob; want 3 and 1", d.most, d.perKey)
		}
		if len(d.called) != 1 || d.called[0] != "a" {
			t.Errorf("syncs called for: %v, want one for a", d.called)
		}
	})
}

// Status writes wait for starts, but not for ever; and a process that is told to stop does not linger.
func TestStatusQueueDefers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := loadgate.New(clock.RealClock{})
		gate.BeginUrgent(1)
		d := newSlowQueue(gate)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.run(ctx, 1) })
		for i := range 100 {
			d.take(fmt.Sprintf("key%d-", i), 1)
		}
		<-time.After(maxDefer - time.Millisecond)
		if d.busy() != 0 {
			t.Error("a status is written while a start is due")
		}
		<-time.After(2 * time.Millisecond)
		if d.busy() != 1 {
			t.Error("status writes must not wait for ever")
		}
		began := time.Now()
		stop()
		running.Wait()
		if took := time.Since(began); took < drainTimeout || took > drainTimeout+maxDefer+time.Second {
			t.Errorf("stopping took %v, want about %v", took, drainTimeout)
		}
	})
}

// Keys whose timer has fired hold the gate until their sync, however often it fires.
func TestDueKeysHoldTheGateOnce(t *testing.T) {
	var d dueKeys
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	if n := d.add([]types.NamespacedName{a, b}); n != 2 {
		t.Errorf("%d new, want 2", n)
	}
	if n := d.add([]types.NamespacedName{a}); n != 0 {
		t.Errorf("%d new, want 0", n)
	}
	if !d.take(a) || d.take(a) || !d.take(b) {
		t.Error("each key is taken once")
	}
}
