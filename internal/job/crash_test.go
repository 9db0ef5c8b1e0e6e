// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// CP-01 to CP-20, JOB-072 to JOB-079: every story ends the same when the controller dies after any one of its effects
// and another one takes over.
func TestStoriesWithOneCrash(t *testing.T) {
	t.Parallel()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(name, "JOB-127") {
				t.Skip("the backoff is forgotten in a crash (JOB-133), so pods come earlier")
			}
			effects := s.play(nil).effects
			stride := 1 + effects/100 // of long stories a sample
			if effects > 900 {
				stride = effects / 6
			}
			s.more = nil // what was made on the way may differ
			for k := 1; k <= effects; k += stride {
				w := s.play(func(w *world) { w.crashAfter = k })
				if s.check(t, w); t.Failed() {
					t.Fatalf("crash after effect %d", k)
				}
			}
		})
	}
}

// JOB-088: every second call is refused.
func TestStoriesWithRefusals(t *testing.T) {
	t.Parallel()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.more = nil
			if strings.Contains(s.want, "start=") {
				t.Skip("times differ")
			}
			s.check(t, s.play(func(w *world) {
				w.refuse = func(string) bool { return w.calls%2 == 0 }
			}))
		})
	}
}

// JOB-089, CP-02, CP-18, CP-20: answers get lost, so every call may have happened although the controller thinks that
// it failed.
func TestStoriesWithLostAnswers(t *testing.T) {
	t.Parallel()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.more = nil
			n := 0
			s.check(t, s.play(func(w *world) {
				w.lose = func(string) bool { n++; return n%3 == 0 }
			}))
		})
	}
}

// The crash points of the contract, one by one: the controller dies right after the effect named, and another takes
// over.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	after := func(prefix string, nth int) func(*world) {
		return func(w *world) {
			n := 0
			w.crashOn = func(effect string) bool {
				if strings.Contains(effect, prefix) {
					n++
				}
				return n == nth && strings.Contains(effect, prefix)
			}
		}
	}
	tests := map[string]struct {
		story string
		crash func(*world)
		more  func(*testing.T, *world)
	}{
		"CP-01 JOB-072 one of two pods made": {"JOB-003 four successes, two at a time", after("create", 1), func(t *testing.T, w *world) {
			if len(w.order) != 4 {
				t.Errorf("%d pods made for 4 completions", len(w.order))
			}
		}},
		"CP-03 JOB-073 nothing recorded":               {"JOB-003 four successes, two at a time", after("create", 3), nil},
		"CP-04 JOB-074 recorded, no finalizer removed": {"JOB-003 four successes, two at a time", after("uncounted [u", 1), nil},
		"CP-04 JOB-077 the verdict is written":         {"JOB-294 FailJob stops the sibling", after("FailureTarget=True", 1), nil},
		"CP-05 JOB-075 half of the finalizers removed": {"JOB-003 four successes, two at a time", after("remove finalizer", 1), nil},
		"CP-06 JOB-076 all finalizers removed":         {"JOB-003 four successes, two at a time", after("remove finalizer", 2), nil},
		"CP-07 the end is written": {"JOB-003 four successes, two at a time", after("Complete=True", 1), func(t *testing.T, w *world) {
			if slices.Contains(w.events, "Completed") {
				t.Error("the event was told although the controller died before")
			}
		}},
		"CP-08 one of the siblings is stopped":        {"JOB-123 siblings are stopped and count", after("delete", 1), nil},
		"CP-09 finalizer removed, pod not deleted":    {"JOB-013 a work queue is resized", after("to delete it", 1), nil},
		"CP-10 replacement made, old pod not counted": {"JOB-230 odd indexes fail", after("create job-1-", 2), nil},
		"CP-11 failed, no replacement yet":            {"JOB-242 each index waits for itself", after("active 1,", 1), nil},
		"CP-16 half suspended":                        {"JOB-171 suspended", after("delete", 1), nil},
		"CP-17 resumed, not written":                  {"JOB-170 created suspended, then resumed", after("create", 2), nil},
		"CP-19 the success is written":                {"JOB-311 one success is enough, the others are stopped", after("SuccessCriteriaMet=True", 1), nil},
		"CP-19 some are stopped":                      {"JOB-311 one success is enough, the others are stopped", after("delete", 2), nil},
		"CP-15 JOB-112 ended, a finalizer left":       {"JOB-003 four successes, two at a time", after("Complete=True", 1), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := stories[test.story]
			if !ok {
				t.Fatalf("no story %q", test.story)
			}
			s.more = test.more
			w := s.play(test.crash)
			if w.crashOn != nil {
				t.Fatalf("the effect to crash after never came:\n%s", strings.Join(w.log, "\n"))
			}
			s.check(t, w)
		})
	}
}

// JOB-083 (A2): a new controller whose pods are older than the Job must not count a recorded pod as released before it
// can know.
func TestARecordedPodThatIsNotSeenYet(t *testing.T) {
	t.Parallel()
	w := newWorld(aJob("p1 c3"))
	w.settle(time.Hour)
	first := w.order[0]
	w.end(first, 0)
	w.crashOn = func(effect string) bool { return strings.HasPrefix(effect, "write") }
	if _, _, crashed := w.sync(); !crashed {
		t.Fatal("nothing was written")
	}
	w.crashOn = nil
	w.restart()
	seen := w.cache[first]
	delete(w.cache, first)
	w.unseen[first] = []*corev1.Pod{seen}
	plan, _, _ := w.sync()
	if !plan.RelistPods || w.job.Status.Succeeded != 0 {
		t.Errorf("counted %d without knowing: %s", w.job.Status.Succeeded, plan)
	}
	untilDone(0)(w)
	w.settle(time.Hour)
	if w.job.Status.Succeeded != 3 || len(w.broken) > 0 {
		t.Errorf("succeeded %d, want 3; broken %v", w.job.Status.Succeeded, w.broken)
	}
}
