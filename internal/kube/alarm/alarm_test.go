// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package alarm_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/kube/alarm"
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

type ring struct {
	Keys  string
	After time.Duration // real time since the start
}

// Keys ring at their instant of the wall clock, whatever happens to that clock.
func TestClock(t *testing.T) {
	type C = alarm.Clock[string]
	for name, test := range map[string]struct {
		do     func(c *C, w *wall, start time.Time)
		want   []ring
		jumped []time.Duration
	}{
		"at the instant itself, without a pad (B5)": {
			do:   func(c *C, _ *wall, start time.Time) { c.Wake("a", start.Add(37*time.Second)) },
			want: []ring{{"a", 37 * time.Second}},
		},
		"all that is due at one instant rings together": {
			do: func(c *C, _ *wall, start time.Time) {
				for _, k := range []string{"a", "b", "c"} {
					c.Wake(k, start.Add(time.Minute))
				}
				c.Wake("d", start.Add(time.Minute+time.Nanosecond))
			},
			want: []ring{{"a b c", time.Minute}, {"d", time.Minute + time.Nanosecond}},
		},
		"a later wake-up never replaces an earlier one (CJ-049)": {
			do: func(c *C, _ *wall, start time.Time) {
				c.Wake("a", start.Add(60*time.Second))
				c.Wake("a", start.Add(3600*time.Second))
			},
			want: []ring{{"a", 60 * time.Second}},
		},
		"an earlier one does replace a later one": {
			do: func(c *C, _ *wall, start time.Time) {
				c.Wake("a", start.Add(3600*time.Second))
				<-time.After(5 * time.Second)
				c.Wake("a", start.Add(60*time.Second))
			},
			want: []ring{{"a", 60 * time.Second}},
		},
		"the past rings at once": {
			do:   func(c *C, _ *wall, start time.Time) { c.Wake("a", start.Add(-time.Hour)) },
			want: []ring{{"a", 0}},
		},
		"cancelled": {
			do: func(c *C, _ *wall, start time.Time) {
				c.Wake("a", start.Add(time.Minute))
				c.Wake("b", start.Add(2*time.Minute))
				c.Cancel("a")
				c.Cancel("never set")
			},
			want: []ring{{"b", 2 * time.Minute}},
		},
		"the clock is set forward: due keys ring within 15 s (B5)": {
			do: func(c *C, w *wall, start time.Time) {
				c.Wake("a", start.Add(time.Hour))
				<-time.After(3 * time.Second)
				w.move(3 * time.Hour)
			},
			want:   []ring{{"a", 10 * time.Second}},
			jumped: []time.Duration{3 * time.Hour},
		},
		"the clock is set back: nothing rings before its instant": {
			do: func(c *C, w *wall, start time.Time) {
				c.Wake("a", start.Add(time.Minute))
				<-time.After(55 * time.Second)
				w.move(-30 * time.Second)
			},
			want:   []ring{{"a", 90 * time.Second}},
			jumped: []time.Duration{-30 * time.Second},
		},
		"a small correction is no jump, and the rest is slept": {
			do: func(c *C, w *wall, start time.Time) {
				c.Wake("a", start.Add(time.Minute))
				<-time.After(55 * time.Second)
				w.move(-time.Second)
			},
			want: []ring{{"a", 61 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var (
					mu     sync.Mutex
					got    []ring
					jumped []time.Duration
					hands  = &wall{}
					start  = time.Now()
				)
				c := alarm.New(alarm.Options[string]{
					Clock: hands,
					Ring: func(due []string) {
						mu.Lock()
						defer mu.Unlock()
						slices.Sort(due)
						got = append(got, ring{strings.Join(due, " "), time.Since(start)})
					},
					Jumped: func(by time.Duration) { jumped = append(jumped, by) },
				})
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() { c.Run(ctx) })
				test.do(c, hands, start)
				<-time.After(4 * time.Hour)
				stop()
				running.Wait()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("rings (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.jumped, jumped); diff != "" {
					t.Errorf("jumps (-want +got):\n%s", diff)
				}
				if c.Len() != 0 {
					t.Errorf("%d keys left", c.Len())
				}
			})
		})
	}
}

// For every sequence of wakes and cancels each key rings exactly at the earliest instant that it was last given.
func TestClockAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type op struct {
			key    int
			at     time.Duration
			cancel bool
		}
		ops := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
			return op{rapid.IntRange(0, 9).Draw(t, "key"), time.Duration(rapid.IntRange(1, 100).Draw(t, "at")) * time.Second, rapid.IntRange(0, 4).Draw(t, "cancel") == 0}
		}), 1, 60).Draw(rt, "ops")
		want := map[int]time.Duration{}
		got := map[int]time.Duration{}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			c := alarm.New(alarm.Options[int]{Ring: func(due []int) {
				for _, k := range due {
					got[k] = time.Since(start)
				}
			}})
			for _, o := range ops {
				if o.cancel {
					c.Cancel(o.key)
					delete(want, o.key)
				} else {
					c.Wake(o.key, start.Add(o.at))
					if at, ok := want[o.key]; !ok || o.at < at {
						want[o.key] = o.at
					}
				}
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			c.Run(ctx)
		})
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("rings (-want +got):\n%s", diff)
		}
	})
}
