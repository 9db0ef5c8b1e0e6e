// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package now

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// failure is an object of which runs failed, in words.
type failure struct {
	*status.Failure
	// Reason says why the newest one failed, Row how often it was so; "" if once.
	Reason, Row string
	// Better says what has come since; "" if nothing has.
	Better string
}

// Quiet tells that nobody needs to care any more.
func (f failure) Quiet() bool { return !f.Persists() && !f.Retrying }

func failuresOf(s *status.Status) []failure {
	all := make([]failure, len(s.Failed))
	for i := range s.Failed {
		f := &s.Failed[i]
		one := failure{Failure: f, Reason: reasonOf(&f.Run)}
		if f.InARow > 1 {
			one.Row = quantity.Grouped(f.InARow)
			if f.More {
				one.Row = "at least " + one.Row
			}
			one.Row += " times in a row"
		}
		switch {
		case f.Retrying:
			one.Better = "it is tried again"
		case f.Deleted:
			one.Better = "its schedule was deleted since"
		case !f.Recovered.IsZero():
			one.Better = "it succeeded again " + duration.FromNow(f.Recovered, s.Now)
		}
		all[i] = one
	}
	return all
}

// reasonOf says in a sentence why a run failed.
func reasonOf(r *run.Run) string {
	text, _ := page.Ending(r)
	if text == "" {
		text = "nobody said why"
	}
	if code := r.ExitCode; code != nil && *code != 0 {
		text = fmt.Sprintf("exit code %d; %s", *code, text)
	}
	return paragraph.Capital(text)
}

// running is a run that has not ended, with its age beside what is usual.
type running struct {
	*status.Running
	// Note says what is special about it; "" if nothing is. Class is the colour of that.
	Note, Class string
	// Bar compares its age with what is usual; nil if that is not known.
	Bar *bar
}

// bar is an age beside the usual durations, in a picture 100 wide.
type bar struct {
	// Age is how far it has come, Median and Most where the others ended.
	Age, Median, Most float64
	// Long: it takes longer than all others did.
	Long bool
	Text string
}

func runningOf(s *status.Status) []running {
	all := make([]running, len(s.Running))
	for i := range s.Running {
		r := &s.Running[i]
		one := running{Running: r}
		switch {
		case r.Stuck:
			one.Note, one.Class = "stuck: "+r.Waits, "bad"
		case r.Waits != "":
			one.Note, one.Class = r.Waits, "waits"
		case r.Long:
			one.Note, one.Class = "longer than usual: "+duration.Short(r.Usual.Most)+" at most so far", "waits"
		}
		if r.Usual.Runs > 0 && r.Usual.Median > 0 && !s.Stopped {
			most := max(r.Usual.Most, r.Usual.Median)
			scale := 100 / float64(max(most, r.Age))
			one.Bar = &bar{Age: max(1, float64(r.Age)*scale), Median: float64(r.Usual.Median) * scale, Most: float64(most) * scale, Long: r.Long,
				Text: duration.Short(r.Age) + " so far; usually " + duration.Short(r.Usual.Median) + ", at most " + duration.Short(most)}
		}
		all[i] = one
	}
	return all
}

// paused is a pause in words.
type paused struct {
	*status.Paused
	// Why says more than that it is paused or suspended; "" if nobody told.
	Why string
	// For says how long it has been so; "" if that is not known.
	For string
	// Bad: nobody asked for it.
	Bad bool
}

func pausedOf(s *status.Status, zone *time.Location) []paused {
	all := make([]paused, len(s.Paused))
	for i := range s.Paused {
		p := &s.Paused[i]
		one := paused{Paused: p}
		if !p.Since.IsZero() {
			one.For = "for " + duration.Short(s.Now.Sub(p.Since))
			if p.AtLatest {
				one.For = strings.Replace(one.For, "for ", "for at least ", 1)
			}
		}
		if !p.Until.IsZero() {
			one.Why = fmt.Sprintf("until %s (%s)", p.Until.In(zone).Format("2 Jan 2006 15:04"), duration.FromNow(p.Until, s.Now))
		}
		if p.Cause == cron.PauseFailures {
			one.Why, one.Bad = "because too many runs in a row failed", true
			if p.Failures > 0 {
				one.Why = fmt.Sprintf("because %s in a row failed", quantity.Count(p.Failures, "run"))
			}
		}
		if p.By != "" {
			one.Why = strings.TrimPrefix(one.Why+", written by "+p.By, ", ")
		}
		one.Why = paragraph.Capital(one.Why)
		all[i] = one
	}
	return all
}
