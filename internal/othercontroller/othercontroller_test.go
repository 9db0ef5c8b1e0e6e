// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func sign(seconds int) Sign { return Sign{Manager: "other", Object: "ns/tick", Seen: at(seconds)} }

// A kind is served until another controller is seen, and again when that has let a due start pass in silence.
func TestAt(t *testing.T) {
	const quiet = time.Minute
	for name, c := range map[string]struct {
		signs []int
		due   int // 0: nothing is due
		now   int
		back  bool
		again int
	}{
		"nobody was seen":                              {due: 100, now: 100},
		"somebody was just seen":                       {signs: []int{90}, due: 100, now: 100, back: true, again: 160},
		"nothing is due, however long":                 {signs: []int{90}, now: 90000, back: true},
		"a start is due, not long enough":              {signs: []int{90}, due: 100, now: 159, back: true, again: 160},
		"a start is due, long enough":                  {signs: []int{90}, due: 100, now: 160},
		"it was heard of since that start was due":     {signs: []int{90, 130}, due: 100, now: 160, back: true, again: 190},
		"it has been silent since":                     {signs: []int{90, 130}, due: 100, now: 190},
		"the start had been due before it was seen":    {signs: []int{90}, due: 10, now: 120, back: true, again: 150},
		"signs that come out of order":                 {signs: []int{130, 90}, due: 100, now: 160, back: true, again: 190},
		"the clock was set back by an hour: as of now": {signs: []int{3700}, due: 100, now: 110, back: true, again: 170},
	} {
		t.Run(name, func(t *testing.T) {
			var s Pause
			for _, at := range c.signs {
				s = s.AfterSign(sign(at))
			}
			var due time.Time
			if c.due != 0 {
				due = at(c.due)
			}
			next, again := s.At(at(c.now), due, quiet)
			want := time.Time{}
			if c.again != 0 {
				want = at(c.again)
			}
			if next.Paused != c.back || !again.Equal(want) {
				t.Errorf("back %v, again %v; want %v, %v", next.Paused, again, c.back, want)
			}
			if !next.Paused && next != (Pause{}) {
				t.Errorf("something is left of the time before: %+v", next)
			}
		})
	}
}

// The first sign dates the state, the last one is told.
func TestSaw(t *testing.T) {
	s := Pause{}.AfterSign(sign(10)).AfterSign(sign(30)).AfterSign(sign(20))
	if !s.Paused || !s.Since.Equal(at(10)) || !s.Last.Seen.Equal(at(30)) {
		t.Errorf("%+v", s)
	}
}

// Whatever is seen: nothing is served within Quiet of a sign, every wait ends later than now, and who keeps looking at
// a due start in silence serves in the end.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Pause
		now, due := 0, 0
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now += rapid.IntRange(-30, 100).Draw(t, "passes")
			if rapid.Bool().Draw(t, "seen") {
				s = s.AfterSign(sign(now))
				continue
			}
			due = rapid.IntRange(now-300, now).Draw(t, "due")
			next, again := s.At(at(now), at(due), TakeoverAfter)
			if s.Paused && !next.Paused && at(now).Sub(s.Last.Seen) < TakeoverAfter {
				t.Fatalf("served %v after a sign", at(now).Sub(s.Last.Seen))
			}
			if next.Paused != !again.IsZero() || next.Paused && !again.After(at(now)) {
				t.Fatalf("back %v, again %v at %v", next.Paused, again, at(now))
			}
			s = next
		}
		for looks := 0; s.Paused; looks++ {
			if looks > 2 {
				t.Fatal("it never serves again")
			}
			var again time.Time
			if s, again = s.At(at(now), at(due), TakeoverAfter); s.Paused {
				now = int(again.Sub(noon) / time.Second)
			}
		}
	})
}

// A status that a person writes with kubectl, or one of us, is no other controller's.
func TestController(t *testing.T) {
	for manager, want := range map[string]bool{
		"kube-controller-manager": true, "vc-controller-manager": true, "manager": true, "main": true, "": true, "kubectlish": true,
		"carillon-manager": false, "kubectl": false, "kubectl-edit": false, "kubectl-client-side-apply": false, "kubectl-patch": false,
	} {
		t.Run(fmt.Sprintf("%q", manager), func(t *testing.T) {
			if got := Is(manager); got != want {
				t.Errorf("got %v", got)
			}
		})
	}
}
