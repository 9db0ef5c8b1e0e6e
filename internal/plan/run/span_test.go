// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Where attempts are known a run is as long as they are; where they cannot be meant, as its object tells.
func TestRefine(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	after := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	attempt := func(from, to float64) run.Attempt {
		return run.Attempt{Role: run.Main, Mains: 1, Started: after(from), Ended: after(to)}
	}
	sleep := []run.Attempt{attempt(0.4, 3.4)}
	one := func(r run.Run) run.Run { r.Completions = 1; return r }
	with := func(code, mains int32) []run.Attempt {
		a := sleep[0]
		a.ExitCode, a.Mains = code, mains
		return []run.Attempt{a}
	}
	as := func(o run.Outcome, started, ended time.Time) run.Run {
		return run.Run{Outcome: o, Created: noon, Started: started, Ended: ended}
	}
	for name, test := range map[string]struct {
		run            run.Run
		attempts       []run.Attempt
		started, ended time.Time
	}{
		"no attempts":                       {as(run.Succeeded, noon, after(3)), nil, noon, after(3)},
		"whole seconds":                     {as(run.Succeeded, noon, after(4)), sleep, after(0.4), after(3.4)},
		"told late":                         {as(run.Succeeded, after(2), after(5)), sleep, after(0.4), after(3.4)},
		"the beginning told very late":      {as(run.Succeeded, after(600), after(4)), sleep, after(0.4), after(3.4)},
		"never told that it began":          {as(run.Failed, time.Time{}, after(4)), sleep, after(0.4), after(3.4)},
		"it waited for its image":           {as(run.Succeeded, noon, after(43)), []run.Attempt{attempt(40, 43.4)}, noon, after(43.4)},
		"its success told very late":        {one(as(run.Succeeded, noon, after(600))), sleep, after(0.4), after(3.4)},
		"a success that is not its last":    {one(as(run.Succeeded, noon, after(600))), with(1, 1), after(0.4), after(600)},
		"a success of half a Pod":           {one(as(run.Succeeded, noon, after(600))), with(0, 2), after(0.4), after(600)},
		"a success of some Pods":            {as(run.Succeeded, noon, after(600)), sleep, after(0.4), after(600)},
		"a failure told very late":          {one(as(run.Failed, noon, after(600))), with(1, 1), after(0.4), after(600)},
		"two seconds":                       {as(run.Succeeded, noon, after(7)), []run.Attempt{attempt(2, 5)}, noon, after(5)},
		"something else has ended it":       {as(run.Failed, noon, after(10)), sleep, after(0.4), after(10)},
		"its Pods outlived it":              {as(run.Cancelled, noon, after(3)), []run.Attempt{attempt(0.4, 33)}, after(0.4), after(3)},
		"it began before it was made":       {as(run.Succeeded, after(1), after(4)), []run.Attempt{attempt(-0.9, 3.4)}, after(-0.9), after(3.4)},
		"another clock":                     {as(run.Succeeded, after(1), after(4)), []run.Attempt{attempt(-1.1, 3.4)}, after(1), after(3.4)},
		"of several":                        {as(run.Succeeded, noon, after(9)), []run.Attempt{attempt(4, 8.5), attempt(0.2, 3), {Ended: after(1)}}, after(0.2), after(8.5)},
		"nobody tells what a container is":  {as(run.Succeeded, noon, after(4)), []run.Attempt{{Started: after(0.4), Ended: after(3.4)}}, after(0.4), after(3.4)},
		"a sidecar begins it only":          {as(run.Succeeded, noon, after(4)), []run.Attempt{sleep[0], {Role: run.Sidecar, Started: after(0.1), Ended: after(5)}}, after(0.1), after(3.4)},
		"it runs":                           {as(run.Active, after(2), time.Time{}), []run.Attempt{{Started: after(0.4)}}, after(0.4), time.Time{}},
		"nobody knows when it ended":        {as(run.Unknown, after(2), time.Time{}), sleep, after(0.4), time.Time{}},
		"it never began, says its attempt":  {as(run.Failed, time.Time{}, after(4)), []run.Attempt{{Ended: after(3.4)}}, time.Time{}, after(3.4)},
		"it would end before it began":      {as(run.Failed, after(5), after(4)), []run.Attempt{{Ended: after(3.4)}}, after(5), after(4)},
		"known by nothing but its attempts": {run.Run{Outcome: run.Unknown}, sleep, after(0.4), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := test.run
			r.Sum(test.attempts)
			if !r.Started.Equal(test.started) || !r.Ended.Equal(test.ended) {
				t.Errorf("from %s to %s, want from %s to %s", r.Started, r.Ended, test.started, test.ended)
			}
			if test.ended.IsZero() && r.Outcome.Ended() && r.Duration(after(60)) != 0 {
				t.Errorf("it took %s, and nobody knows", r.Duration(after(60)))
			}
		})
	}
}

// Refined twice by the same attempts a run stays as it is.
func TestRefineAgain(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) time.Time {
			return noon.Add(time.Duration(rapid.IntRange(-40, 40).Draw(t, label)) * 100 * time.Millisecond)
		}
		r := run.Run{Outcome: run.Succeeded, Created: noon, Started: draw("started"), Ended: draw("ended"), Completions: 1}
		var s run.Span
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			s.Add(&run.Attempt{Started: draw("from"), Ended: draw("to"), Role: run.Main, Mains: rapid.Int32Range(1, 2).Draw(t, "mains")})
		}
		r.Refine(s)
		once := r
		if r.Refine(s); r != once {
			t.Errorf("%+v, and then %+v", once, r)
		}
	})
}
