// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Verdict is a status in one line.
type Verdict struct {
	// Wrong are the things that are not as they should be, each in a few words: "2 failing"; empty if all is well. What
	// failed or was not started counts for as long as Status.Since reaches back, what has succeeded since does not.
	Wrong []string
	// Rest says what runs and what comes: "3 running, 128 schedules, next in 4m".
	Rest string
}

// Well tells whether nothing is wrong.
func (v Verdict) Well() bool { return len(v.Wrong) == 0 }

// String is the line: "all is well: 3 running, …" or "2 failing, 1 late: 3 running, …".
func (v Verdict) String() string {
	if v.Well() {
		return "all is well: " + v.Rest
	}
	return strings.Join(v.Wrong, ", ") + ": " + v.Rest
}

// Verdict sums up.
func (s *Status) Verdict() Verdict {
	var v Verdict
	add := func(n int, what string) {
		if n > 0 {
			v.Wrong = append(v.Wrong, quantity.Grouped(n)+" "+what)
		}
	}
	for _, p := range s.Health {
		if p.State == Wrong {
			v.Wrong = append(v.Wrong, p.brief)
		}
	}
	add(count(s.Failed, func(f Failure) bool { return f.Persists() }), "failing")
	add(count(s.Running, func(r Running) bool { return r.Stuck }), "stuck")
	add(len(s.Late), "late")
	missed := int64(0)
	for _, o := range s.Missed {
		if o.Missed {
			missed += o.Count
		}
	}
	if missed > 0 {
		v.Wrong = append(v.Wrong, quantity.Grouped(missed)+" missed")
	}
	add(len(s.Blocked), "cannot run")
	add(count(s.Paused, func(p Paused) bool { return p.Cause == cron.PauseFailures }), "paused by failures")

	rest := []string{fmt.Sprintf("%s running", quantity.Grouped(len(s.Running)))}
	if s.Stopped && len(s.Running) == 0 {
		rest[0] = "nothing ran when Carillon stopped"
	} else if s.Stopped {
		rest[0] = quantity.Grouped(len(s.Running)) + " " + run.LeftWords
	} else if s.Unread.Runs != "" && len(s.Running) == 0 {
		rest[0] = "what runs is not known"
	} else if n := count(s.Running, func(r Running) bool { return r.Long }); n > 0 {
		rest[0] += fmt.Sprintf(" (%s longer than usual)", quantity.Grouped(n))
	}
	if s.Unread.Schedules != "" && s.Schedules == 0 {
		rest = append(rest, "schedules are not known")
	} else if s.Served {
		rest = append(rest, quantity.CountGrouped(s.Schedules, "schedule"))
		switch {
		case !s.Next.IsZero():
			rest = append(rest, "next "+duration.FromNow(s.Next, s.Now))
		case s.Schedules > 0:
			rest = append(rest, "none due")
		}
	}
	v.Rest = strings.Join(rest, ", ")
	return v
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}
