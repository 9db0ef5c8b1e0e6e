// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// perPage is how many lines of what happens a page has.
const perPage = 50

// line is a run, or a time that does not start.
type line struct {
	// Scheduled is the time, the first if there are several: Last is the last one then.
	Scheduled, Last time.Time
	Started, Ended  time.Time
	Took            time.Duration
	Class           string
	Icon, Outcome   string
	Note            string
}

// list is a page of lines.
type list struct {
	Lines []line
	Total int
	Pager page.Pager
}

// listOf gives what happens, in the order of scheduled times, on the page that is asked for.
func listOf(r *simulation.Result, f *form) list {
	all := make([]line, 0, len(r.Runs)+len(r.NotStarted)+len(r.Waiting))
	for i := range r.Runs {
		all = append(all, lineOfRun(&r.Runs[i]))
	}
	for i := range r.NotStarted {
		all = append(all, lineOfOmission(&r.NotStarted[i]))
	}
	for _, w := range r.Waiting {
		all = append(all, line{Scheduled: w.Scheduled, Class: "waiting", Icon: "clock", Outcome: "waits", Note: simulation.ReasonText(w.Reason)})
	}
	slices.SortStableFunc(all, func(a, b line) int { return a.Scheduled.Compare(b.Scheduled) })
	pages := max(1, (len(all)+perPage-1)/perPage)
	number := min(max(f.Page, 1), pages)
	from, to := (number-1)*perPage, min(number*perPage, len(all))
	l := list{Lines: all[from:to], Total: len(all)}
	at := func(n int) string {
		other := *f
		other.Page = n
		return other.URL() + "#happened"
	}
	if number > 1 {
		l.Pager.Previous = at(number - 1)
	}
	if number < pages {
		l.Pager.Next = at(number + 1)
	}
	l.Pager.Text = fmt.Sprintf("%s to %s of %s", quantity.Grouped(from+1), quantity.Grouped(to), quantity.Grouped(len(all)))
	return l
}

func lineOfRun(r *simulation.Run) line {
	l := line{Scheduled: r.Scheduled, Started: r.Started, Ended: r.Ended}
	if !r.Ended.IsZero() {
		l.Took = r.Ended.Sub(r.Started)
	}
	var notes []string
	switch r.Outcome {
	case simulation.Succeeded:
		l.Class, l.Icon, l.Outcome = "succeeded", "check", "succeeds"
	case simulation.Failed:
		l.Class, l.Icon, l.Outcome = "failed", "cross", "fails"
	case simulation.Stopped:
		l.Class, l.Icon, l.Outcome = "cancelled", "stop", "is stopped"
	default:
		l.Class, l.Icon, l.Outcome = "active", "play", "still runs"
	}
	if r.Reason != "" && r.Outcome != simulation.Succeeded {
		notes = append(notes, simulation.ReasonText(r.Reason))
	}
	if r.Wait > 0 {
		waited := "waits " + duration.Short(r.Wait)
		if r.WaitedFor != "" {
			waited += " (" + simulation.ReasonWord(r.WaitedFor) + ")"
		}
		notes = append(notes, waited)
	}
	if r.CatchUp {
		notes = append(notes, "makes up for a time that was found late")
	}
	if r.Attempts > 1 {
		notes = append(notes, quantity.Count(int(r.Attempts), "attempt"))
	}
	l.Note = strings.Join(notes, "; ")
	return l
}

func lineOfOmission(n *simulation.NotStarted) line {
	l := line{Scheduled: n.First, Class: "skipped", Icon: "skip", Outcome: "skipped", Note: simulation.ReasonText(n.Reason)}
	if n.Missed {
		l.Class, l.Icon, l.Outcome = "missed", "warning", "missed"
	}
	if n.Count > 1 {
		l.Last = n.Last
		l.Outcome = quantity.Grouped(n.Count) + "× " + l.Outcome
	}
	return l
}
