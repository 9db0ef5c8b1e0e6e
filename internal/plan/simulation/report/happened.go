// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// entry is one thing that happened, or several that are alike and follow each other.
type entry struct {
	at    time.Time
	order int
	// first and last are the scheduled times that it is about.
	first, last time.Time
	count       int
	// attempt: it is a further attempt of a run that is listed. run: it is a run.
	attempt, run bool
	// text says what happened; several says it of more than one. What has the same text and may be joined is.
	text, several string
}

// entries are all that happened, in the order in which it did. Things that are alike are taken together where nothing
// else happened between them, unless all is true.
func entries(result *simulation.Result, all bool) []entry {
	var list []entry
	zone := zoneOf(result)
	span := result.Span.To.Sub(result.Span.From)
	later := func(t time.Time) string { return t.In(zone).Format(dayLayout(span) + clockOf(t)) }
	i := 0
	others := otherEntries(result, later)
	if !all { // their runs say how many attempts there were
		others = slices.DeleteFunc(others, func(e entry) bool { return e.attempt })
	}
	join := func(e entry) {
		if last := len(list) - 1; !all && last >= 0 && e.several != "" && list[last].several == e.several {
			list[last].count += e.count
			list[last].last = e.last
			return
		}
		list = append(list, e)
	}
	for k := range result.Runs {
		run := &result.Runs[k]
		for ; i < len(others) && !others[i].at.After(run.Started); i++ {
			join(others[i])
		}
		text, several := ofRun(run, later)
		join(entry{at: run.Started, first: run.Scheduled, last: run.Scheduled, count: 1, run: true, text: text, several: several})
	}
	for ; i < len(others); i++ {
		join(others[i])
	}
	return list
}

// ofRun says what became of a run; several is the same of many, "" if there is too much to say of each.
func ofRun(run *simulation.Run, clock func(time.Time) string) (text, several string) {
	begun, beginnings := "started", "started on time"
	switch {
	case run.CatchUp:
		begun = "made up for at " + clock(run.Started) + ", " + shortDuration(run.Wait) + " late"
		beginnings = "made up for"
	case run.Wait > 0:
		begun = "started at " + clock(run.Started) + ", " + shortDuration(run.Wait) + " late"
		if run.WaitedFor != "" {
			begun += " (" + simulation.ReasonWord(run.WaitedFor) + ")"
		}
		beginnings = "started late"
	}
	attempts := ""
	if run.Attempts > 1 {
		attempts = fmt.Sprintf(" in %d attempts", run.Attempts)
	}
	took := shortDuration(run.Ended.Sub(run.Started))
	switch run.Outcome {
	case simulation.Succeeded:
		return begun + ", succeeded after " + took + attempts, beginnings + ", succeeded" + attempts
	case simulation.Failed:
		return begun + ", failed after " + took + attempts + " (" + simulation.ReasonWord(run.Reason) + ")",
			beginnings + ", failed" + attempts + " (" + simulation.ReasonWord(run.Reason) + ")"
	case simulation.Stopped:
		return begun + ", stopped after " + took + " (" + simulation.ReasonWord(run.Reason) + ")",
			beginnings + ", stopped (" + simulation.ReasonWord(run.Reason) + ")"
	}
	return begun + ", still runs at the end", beginnings + ", still run at the end"
}

// otherEntries are all but runs.
func otherEntries(result *simulation.Result, clock func(time.Time) string) []entry {
	var list []entry
	add := func(e entry) {
		e.order = len(list)
		list = append(list, e)
	}
	for _, o := range result.Outages {
		add(entry{at: o.From, text: "the controller goes down"})
		if o.To.Before(result.Span.To) {
			add(entry{at: o.To, text: "a controller is back"})
		}
	}
	for _, c := range result.Changes {
		add(entry{at: c.At, text: string(c.Kind) + detail(c.Text, string(c.Kind))})
	}
	for _, r := range result.Retries {
		text := fmt.Sprintf("attempt %d begins at %s", r.Attempt, clock(r.At))
		add(entry{at: r.At, first: r.Scheduled, last: r.Scheduled, count: 1, text: text, attempt: true})
	}
	for _, n := range result.NotStarted {
		if n.Count == 0 {
			continue
		}
		text := "skipped"
		if n.Missed {
			text = "missed"
		}
		text += " (" + simulation.ReasonWord(n.Reason) + ")"
		if n.WaitedFor != "" && n.WaitedFor != n.Reason {
			text += ", after it waited (" + simulation.ReasonWord(n.WaitedFor) + ")"
		}
		add(entry{at: n.At, first: n.First, last: n.Last, count: n.Count, text: text, several: text})
	}
	for _, w := range result.Waiting {
		add(entry{at: result.Span.To, first: w.Scheduled, last: w.Scheduled, count: 1, text: "still waits at the end (" + simulation.ReasonWord(w.Reason) + ")"})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.order, b.order)) })
	return list
}

func detail(text, kind string) string {
	if text == "" || text == kind {
		return ""
	}
	return ": " + strings.TrimPrefix(text, kind+": ")
}

// dayLayout is the layout of a day before a time of day: none within a day.
func dayLayout(span time.Duration) string {
	switch {
	case span > 366*24*time.Hour:
		return "2006-01-02 "
	case span > 24*time.Hour:
		return "Jan _2 "
	}
	return ""
}

const (
	// firstLines and lastLines are what is shown of a list that is too long.
	firstLines, lastLines = 14, 4
	allButFew             = 3 // lines more are not worth leaving out
)

// until writes the end of a range, without a day that is that of the beginning.
func until(first, last time.Time, layout string) string {
	if first.YearDay() == last.YearDay() && first.Year() == last.Year() {
		layout = ""
	}
	return last.Format(layout + clockOf(last))
}

// happened lists what happened.
func (r *Report) happened(result *simulation.Result) string {
	list := entries(result, r.AllEvents)
	zone, layout := zoneOf(result), dayLayout(result.Span.To.Sub(result.Span.From))
	clock := func(t time.Time) string { return t.In(zone).Format(layout + clockOf(t)) }
	column := 0
	lines := make([][2]string, 0, min(len(list), 64))
	skipped := 0
	for i, e := range list {
		if !r.AllEvents && len(list) > firstLines+lastLines+allButFew && i >= firstLines && i < len(list)-lastLines {
			skipped++
			continue
		}
		if skipped > 0 {
			lines = append(lines, [2]string{"…", fmt.Sprintf("%s more lines like these: --events shows them all", quantity.Grouped(skipped))})
			skipped = 0
		}
		when, text := clock(e.at), e.text
		switch {
		case e.count > 1:
			noun := " times "
			if e.run {
				noun = " runs "
			}
			when, text = clock(e.first)+" to "+until(e.first.In(zone), e.last.In(zone), layout), quantity.Grouped(e.count)+noun+e.several
		case e.count == 1:
			when = clock(e.first)
		}
		column = max(column, len(when))
		lines = append(lines, [2]string{when, text})
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(wrapped(fmt.Sprintf("    %-*s  ", column+len(line[0])-len([]rune(line[0])), line[0]), line[1], r.width()))
	}
	return b.String()
}
