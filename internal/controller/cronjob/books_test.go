// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

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

// desk is a set of books whose second halves take a second each.
type desk struct {
	*books
	mu      sync.Mutex
	done    []string // key and number of the pass within it
	running map[string]int
	most    int // second halves at the same time
	perKey  int // of one key
	called  []string
}

func newDesk(gate *loadgate.Gate) *desk {
	d := &desk{running: map[string]int{}}
	d.books = newBooks(gate, d.conclude, func(key types.NamespacedName) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.called = append(d.called, key.Name)
	})
	return d
}

func (d *desk) conclude(_ context.Context, p *pass) {
	d.mu.Lock()
	d.running[p.key.Name]++
	total := 0
	for _, n := range d.running {
		total += n
	}
	d.most, d.perKey = max(d.most, total), max(d.perKey, d.running[p.key.Name])
	d.mu.Unlock()
	<-time.After(time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[p.key.Name]--
	d.done = append(d.done, fmt.Sprintf("%s%d", p.key.Name, p.steps))
}

// busy is how many CronJobs' books have been begun.
func (d *desk) busy() int {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.running)
}

func (d *desk) take(name string, n int) {
	d.add(&pass{key: types.NamespacedName{Name: name}, steps: n})
}

// Several CronJobs' books are kept at once, those of one CronJob in order, and everything that is open when the process
// is told to stop is still done.
func TestBooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(nil)
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
			t.Errorf("passes called for: %v, want one for a", d.called)
		}
	})
}

// Books stand back for starts, but not for ever; and a process that is told to stop does not linger.
func TestBooksYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := loadgate.New(clock.RealClock{})
		gate.Enter(1)
		d := newDesk(gate)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { d.run(ctx, 1) })
		for i := range 100 {
			d.take(fmt.Sprintf("key%d-", i), 1)
		}
		<-time.After(patience - time.Millisecond)
		if d.busy() != 0 {
			t.Error("books are kept while a start is due")
		}
		<-time.After(2 * time.Millisecond)
		if d.busy() != 1 {
			t.Error("books must not wait for ever")
		}
		began := time.Now()
		stop()
		running.Wait()
		if took := time.Since(began); took < farewell || took > farewell+patience+time.Second {
			t.Errorf("stopping took %v, the farewell is %v", took, farewell)
		}
	})
}

// Keys that the alarm rang for hold the gate until their pass, however often the alarm rings for them.
func TestDueKeysHoldTheGateOnce(t *testing.T) {
	var d due
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
