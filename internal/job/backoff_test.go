// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"
	"time"
)

// JOB-125: the delay doubles up to its limit.
func TestDelayFor(t *testing.T) {
	t.Parallel()
	base, limit := 5*time.Second, 700*time.Second
	for n, want := range map[int]time.Duration{
		-1: 0, 0: 0, 1: base, 2: 2 * base, 3: 4 * base, 8: 640 * time.Second, 9: limit, 10: limit, 1 << 40: limit,
	} {
		if got := delayFor(n, base, limit); got != want {
			t.Errorf("after %d failures %s, want %s", n, got, want)
		}
	}
	o := Options{}.withDefaults()
	for n, want := range []time.Duration{0, 10, 20, 40, 80, 160, 320, 600, 600} {
		if got := delayFor(n, o.BackoffBase, o.BackoffMax); got != want*time.Second {
			t.Errorf("after %d failures %s, want %s", n, got, want*time.Second)
		}
	}
	b := Backoff{Failures: 1, LastFailure: now}
	for elapsed, want := range map[time.Duration]time.Duration{-time.Hour: 10 * time.Second, 0: 10 * time.Second, 4 * time.Second: 6 * time.Second, 10 * time.Second: 0, time.Hour: 0} {
		if got := b.remaining(now.Add(elapsed), o); got != want {
			t.Errorf("%s after the failure %s remain, want %s", elapsed, got, want)
		}
	}
}

// JOB-126: what the back-off remembers.
func TestBackoffAfter(t *testing.T) {
	t.Parallel()
	at := func(seconds ...int) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, now.Add(time.Duration(s)*time.Second))
		}
		return times
	}
	tests := map[string]struct {
		before              Backoff
		successes, failures []time.Time
		want                Backoff
	}{
		"nothing new":                          {Backoff{2, at(0)[0]}, nil, nil, Backoff{2, at(0)[0]}},
		"two failures":                         {Backoff{}, nil, at(2, 1), Backoff{2, at(2)[0]}},
		"failures, then a success":             {Backoff{}, at(3), at(1, 2), Backoff{}},
		"fail, fail, success, fail, fail":      {Backoff{}, at(3), at(1, 2, 4, 5), Backoff{2, at(5)[0]}},
		"success and failure at the same time": {Backoff{}, at(1), at(1), Backoff{}},
		"one more":                             {Backoff{2, at(1)[0]}, nil, at(4), Backoff{3, at(4)[0]}},
		"one more, seen late":                  {Backoff{2, at(9)[0]}, nil, at(4), Backoff{3, at(9)[0]}},
		"a success":                            {Backoff{2, at(1)[0]}, at(4), nil, Backoff{}},
		"a failure in the future is now":       {Backoff{}, nil, at(3600), Backoff{1, at(10)[0]}},
		"in the future the order still counts": {Backoff{}, at(3600), at(3599, 3601, 3602), Backoff{2, at(10)[0]}},
		"the clock went back meanwhile":        {Backoff{2, at(3600)[0]}, nil, nil, Backoff{2, at(10)[0]}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.before.after(test.successes, test.failures, now.Add(10*time.Second)); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// JOB-130: two pods that fail together wait twice as long; the wait ends when it says.
func TestTwoPodsFailTogether(t *testing.T) {
	t.Parallel()
	j := aJob("p2 c2", started(time.Hour))
	pods := somePods("a failed end0", "b failed end0")
	p := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	if len(p.Create) != 0 || !p.Wake.Equal(now.Add(20*time.Second)) {
		t.Fatalf("want a wait of 20s: %s", p)
	}
	p = Decide(Snapshot{Job: j, Pods: pods, Now: p.Wake, PodsCurrent: true, Options: Options{Standalone: true}})
	if len(p.Create) != 2 {
		t.Errorf("want two pods when the wait is over: %s", p)
	}
}

// A node whose clock is an hour ahead does not hold up a replacement for an hour, neither the Job's nor that of one
// index, in whatever order the times are.
func TestFailureInTheFuture(t *testing.T) {
	t.Parallel()
	for name, shorthand := range map[string]string{"the Job's delay": "p1 c1", "the delay of an index": "p1 c1 indexed blpi5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(aJob(shorthand))
			w.settle(time.Second)
			w.start(w.order[0])
			w.clockAhead = time.Hour
			w.end(w.order[0], 1)
			failed := w.now
			w.settle(30 * time.Second)
			if len(w.order) != 2 {
				t.Fatalf("%d pods %s after the failure, want a replacement: %s", len(w.order), w.now.Sub(failed), strings.Join(w.log, "\n"))
			}
			if wait := w.pods[w.order[1]].CreationTimestamp.Sub(failed); wait != 10*time.Second {
				t.Errorf("replaced after %s, want 10s", wait)
			}
		})
	}
}
