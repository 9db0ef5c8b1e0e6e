// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"
)

// CP-01 to CP-20, JOB-072 to JOB-079, JOB-112: every story ends the same when the controller dies after any one of its effects
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
