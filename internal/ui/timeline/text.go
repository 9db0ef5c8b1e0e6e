// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"cmp"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// words writes what a chart shows, in the zone of the viewer.
type words struct {
	zone *time.Location
	now  time.Time
}

// clock writes a time with its day, and its seconds if it has any.
func (w words) clock(t time.Time) string {
	local := t.In(w.zone)
	layout := "Mon 2 Jan 15:04"
	if local.Second() != 0 {
		layout += ":05"
	}
	if local.Year() != w.now.In(w.zone).Year() {
		layout = strings.Replace(layout, "Jan", "Jan 2006", 1)
	}
	return local.Format(layout)
}

// span writes two times, the day of the second only if it is another one.
func (w words) span(from, until time.Time) string {
	a, b := from.In(w.zone), until.In(w.zone)
	if a.Year() == b.Year() && a.YearDay() == b.YearDay() {
		return w.clock(from) + "–" + b.Format("15:04")
	}
	return w.clock(from) + " – " + w.clock(until)
}

// run tells of a run in one line.
func (w words) run(r *run.Run) string {
	parts := []string{r.Name + " " + page.OutcomeOf(r).Text}
	switch {
	case !r.ScheduledTime.IsZero():
		parts = append(parts, "scheduled "+w.clock(r.ScheduledTime))
	case r.Trigger == run.Manual:
		parts = append(parts, "started by hand "+w.clock(r.Begun()))
	default:
		parts = append(parts, "created "+w.clock(r.Created))
	}
	switch late := r.Begun().Sub(r.ScheduledTime); {
	case r.Retry > 1:
		parts = append(parts, "try "+quantity.Grouped(r.Retry)+" "+w.clock(r.Begun()))
	case r.Started.IsZero() && r.Left:
		parts = append(parts, "not started")
	case r.Started.IsZero() && !r.Outcome.Ended():
		parts = append(parts, "not started yet")
	case !r.ScheduledTime.IsZero() && late >= latenessSeen:
		parts = append(parts, "started "+duration.Short(late)+" late")
	case !r.ScheduledTime.IsZero():
		parts = append(parts, "started in time")
	}
	switch {
	case r.Left: // how long it went on nobody knows
	case !r.Outcome.Ended():
		parts = append(parts, "for "+duration.Short(r.Duration(w.now))+" now")
	case !r.Ended.IsZero():
		parts = append(parts, "took "+duration.Short(r.Duration(w.now)))
	}
	if words, _ := page.Ending(r); r.Outcome == run.Failed && words != "" {
		parts = append(parts, words)
	}
	return strings.Join(parts, ", ")
}

// omission tells of times without a run in one line.
func (w words) omission(o *run.Omission) string {
	text := w.clock(o.ScheduledTime)
	if o.Count > 1 {
		text += " to " + w.clock(ordering.Later(o.ScheduledTime, o.Until)) + ", " + quantity.Grouped(o.Count) + " times"
	}
	return omittedWord(o) + ": " + text + ", " + cmp.Or(o.Message, o.Reason)
}

func omittedWord(o *run.Omission) string {
	if o.Missed {
		return "missed"
	}
	return "skipped"
}

func (w words) waiting(t *Waiting) string {
	return "waiting: " + w.clock(t.At) + ", for " + duration.Short(w.now.Sub(t.At)) + " now" + after(", ", cmp.Or(t.Message, t.Reason))
}

func (w words) future(f *Future) string {
	if f.Excluded {
		return "excluded: " + w.clock(f.At) + ", nothing will start"
	}
	return "due: " + w.clock(f.At) + ", " + duration.FromNow(f.At, w.now)
}

func (w words) cell(c *Cell) string { return w.span(c.From, c.Until) + ": " + c.Text() }

// Text writes counts: "58 succeeded, 2 failed"; "nothing" if there is nothing.
func (c *Counts) Text() string {
	var parts []string
	for _, p := range c.Parts() {
		parts = append(parts, quantity.Grouped(p.Count)+" "+p.Word)
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

// pausedWord says why nothing started.
func pausedWord(reason string) string {
	if reason == "Paused" {
		return "paused after failures"
	}
	return "suspended"
}

func pauseWords(p *status.Paused) string {
	text := "suspended"
	if p.Cause == cron.PauseFailures {
		text = "paused after " + quantity.Count(p.Failures, "failure")
		if p.Failures == 0 {
			text = "paused after failures"
		}
	}
	return text + after(" by ", p.By)
}
