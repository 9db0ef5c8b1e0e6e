// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package wallclock_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kube/wallclock"
)

// wall is a clock whose hands can be moved: Now is the real (in a bubble: simulated) time plus the offset, while
// timers run on as they do when somebody sets the machine's clock.
type wall struct {
	clock.RealClock
	mu     sync.Mutex
	offset time.Duration
}

func (w *wall) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

func (w *wall) move(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += by
}

type firing struct {
	Keys  string
	After time.Duration // real time since the start
}

func key(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// Keys fire at their instant of the wall clock, whatever happens to that clock.
func TestTimers(t *testing.T) {
	type T = wallclock.Timers
	for name, test := range map[string]struct {
		do     func(timers *T, w *wall, start time.Time)
		want   []firing
		jumped []time.Duration
	}{
		"at the instant itself, without a pad (B5)": {
			do:   func(timers *T, _ *wall, start time.Time) { timers.Wake(key("a"), start.Add(37*time.Second)) },
			want: []firing{{"a", 37 * time.Second}},
		},
		"all that is due at one instant fires together": {
			do: func(timers *T, _ *wall, start time.Time) {
				for _, k := range []string{"a", "b", "c"} {
					timers.Wake(key(k), start.Add(time.Minute))
				}
				timers.Wake(key("d"), start.Add(time.Minute+time.Nanosecond))
			},
			want: []firing{{"a b c", time.Minute}, {"d", time.Minute + time.Nanosecond}},
		},
		"a later wake-up never replaces an earlier one (CJ-049)": {
			do: func(timers *T, _ *wall, start time.Time) {
				timers.Wake(key("a"), start.Add(60*time.Second))
				timers.Wake(key("a"), start.Add(3600*time.Second))
			},
			want: []firing{{"a", 60 * time.Second}},
		},
		"an earlier one does replace a later one": {
			do: func(timers *T, _ *wall, start time.Time) {
				timers.Wake(key("a"), start.Add(3600*time.Second))
				<-time.After(5 * time.Second)
				timers.Wake(key("a"), start.Add(60*time.Second))
			},
			want: []firing{{"a", 60 * time.Second}},
		},
		"the past fires at once": {
			do:   func(timers *T, _ *wall, start time.Time) { timers.Wake(key("a"), start.Add(-time.Hour)) },
			want: []firing{{"a", 0}},
		},
		"cancelled": {
			do: func(timers *T, _ *wall, start time.Time) {
				timers.Wake(key("a"), start.Add(time.Minute))
				timers.Wake(key("b"), start.Add(2*time.Minute))
				timers.Cancel(key("a"))
				timers.Cancel(key("never set"))
			},
			want: []firing{{"b", 2 * time.Minute}},
		},
		"the clock is set forward: due keys fire within 15 s (B5)": {
			do: func(timers *T, w *wall, start time.Time) {
				timers.Wake(key("a"), start.Add(time.Hour))
				<-time.After(3 * time.Second)
				w.move(3 * time.Hour)
			},
			want:   []firing{{"a", 10 * time.Second}},
			jumped: []time.Duration{3 * time.Hour},
		},
		"the clock is set back: nothing fires before its instant": {
			do: func(timers *T, w *wall, start time.Time) {
				timers.Wake(key("a"), start.Add(time.Minute))
				<-time.After(55 * time.Second)
				w.move(-30 * time.Second)
			},
			want:   []firing{{"a", 90 * time.Second}},
			jumped: []time.Duration{-30 * time.Second},
		},
		"a small correction is no jump, and the rest is slept": {
			do: func(timers *T, w *wall, start time.Time) {
				timers.Wake(key("a"), start.Add(time.Minute))
				<-time.After(55 * time.Second)
				w.move(-time.Second)
			},
			want: []firing{{"a", 61 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					mu     sync.Mutex
					got    []firing
					jumped []time.Duration
					hands  = &wall{}
					start  = time.Now()
				)
				timers := wallclock.NewTimers(hands)
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() {
					timers.Run(ctx, func(due []types.NamespacedName) {
						mu.Lock()
						defer mu.Unlock()
						var names []string
						for _, k := range due {
							names = append(names, k.Name)
						}
						slices.Sort(names)
						got = append(got, firing{strings.Join(names, " "), time.Since(start)})
					}, func(by time.Duration) { jumped = append(jumped, by) })
				})
				test.do(timers, hands, start)
				<-time.After(4 * time.Hour)
				stop()
				running.Wait()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("firings (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.jumped, jumped); diff != "" {
					t.Errorf("jumps (-want +got):\n%s", diff)
				}
				if timers.Len() != 0 {
					t.Errorf("%d keys left", timers.Len())
				}
			})
		})
	}
}

// What is due goes to the queue of the controller that watches the source, for as long as that runs.
func TestSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := wallclock.NewTimers(clock.RealClock{})
		queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		defer queue.ShutDown()
		ctx, stop := context.WithCancel(t.Context())
		if err := timers.Source().Start(ctx, queue); err != nil {
			t.Fatal(err)
		}
		timers.Wake(key("a"), time.Now().Add(time.Minute))
		timers.Wake(key("b"), time.Now().Add(time.Hour))
		<-time.After(time.Minute)
		synctest.Wait()
		if n := queue.Len(); n != 1 {
			t.Errorf("%d keys in the queue, want a", n)
		}
		if got, _ := queue.Get(); got.NamespacedName != key("a") {
			t.Errorf("%v in the queue, want a", got)
		}
		stop()
	})
}

// For every sequence of wakes and cancels each key fires exactly at the earliest instant that it was last given.
func TestTimersAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type op struct {
			key    types.NamespacedName
			at     time.Duration
			cancel bool
		}
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
			return op{key(rapid.StringMatching(`[a-j]`).Draw(t, "key")), time.Duration(rapid.IntRange(1, 100).Draw(t, "at")) * time.Second, rapid.IntRange(0, 4).Draw(t, "cancel") == 0}
		}), 1, 60).Draw(rt, "ops")
		want := map[types.NamespacedName]time.Duration{}
		got := map[types.NamespacedName]time.Duration{}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			timers := wallclock.NewTimers(clock.RealClock{})
			for _, o := range ops {
				if o.cancel {
					timers.Cancel(o.key)
					delete(want, o.key)
				} else {
					timers.Wake(o.key, start.Add(o.at))
					if at, ok := want[o.key]; !ok || o.at < at {
						want[o.key] = o.at
					}
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			timers.Run(ctx, func(due []types.NamespacedName) {
				for _, k := range due {
					got[k] = time.Since(start)
				}
			}, nil)
		})
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("firings (-want +got):\n%s", diff)
		}
	})
}
