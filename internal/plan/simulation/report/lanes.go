// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// The marks of the two lines. Of several things in one column the first of marks is shown.
const (
	idle, running, outage                            = '.', '#', '~'
	edited, failed, missed, skipped, replaced, waits = '|', 'F', 'm', 's', 'r', 'w'
	heldBack                                         = '-'
)

var marks = []rune{edited, failed, missed, replaced, skipped, waits, heldBack}

var legend = map[rune]string{
	running: "# a run", '2': "2-9 as many at once", '+': "+ more", outage: "~ no controller",
	edited: "| an edit or a pause", failed: "F failed", missed: "m missed", skipped: "s skipped", replaced: "r replaced", waits: "w waits",
	heldBack: "- held back",
}

// lanes draws the time line of an object.
func (r *Report) lanes(result *simulation.Result) string {
	const margin = "  "
	a := newAxis(result.Span, zoneOf(result), r.width()-2*len(margin))
	runs, others := drawRuns(result, a), drawOthers(result, a)

	top, ticks := []rune(strings.Repeat(" ", a.columns+a.spacing())), []rune(strings.Repeat(" ", a.columns))
	texts, columns := a.labels()
	for i, column := range columns {
		if label := []rune(texts[i]); len(margin)+column+len(label) <= r.width() { // the last one may begin at the edge
			copy(top[column:], label)
		}
		ticks[column] = '|'
	}
	lines := []string{string(top), string(ticks), string(runs)}
	if strings.TrimSpace(string(others)) != "" {
		lines = append(lines, string(others))
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(margin+line, " ") + "\n")
	}
	var used []string
	for _, mark := range []rune{running, '2', '+', outage, edited, failed, missed, skipped, replaced, waits, heldBack} {
		seen := strings.ContainsRune(string(others), mark)
		switch mark {
		case running, '+', outage:
			seen = strings.ContainsRune(string(runs), mark)
		case '2':
			seen = strings.ContainsAny(string(runs), "23456789")
		}
		if seen {
			used = append(used, legend[mark])
		}
	}
	used = append(used, fmt.Sprintf("one column is %s", shortDuration(a.cell)))
	b.WriteString(wrapped(margin, strings.Join(used, ", "), r.width()))
	return b.String()
}

// drawRuns shows for each column how many runs went on at once at most.
func drawRuns(result *simulation.Result, a axis) []rune {
	line := []rune(strings.Repeat(string(idle), a.columns))
	for _, o := range result.Outages {
		for column := a.column(o.From); column < a.columns && a.at(column).Before(o.To); column++ {
			line[column] = outage
		}
	}
	for column, n := range atOnce(result, a) {
		switch {
		case n == 0:
		case n == 1:
			line[column] = running
		case n < 10:
			line[column] = rune('0' + n)
		default:
			line[column] = '+'
		}
	}
	return line
}

// atOnce is for each column the greatest number of runs that went on at the same time in it.
func atOnce(result *simulation.Result, a axis) []int {
	most := make([]int, a.columns)
	var ends endings
	column := 0
	carry := func(to int) { // into the columns up to that one, what goes on from before
		for ; column < to && column+1 < a.columns; column++ {
			ends.until(a.at(column + 1))
			most[column+1] = max(most[column+1], len(ends))
		}
	}
	for i := range result.Runs {
		run := &result.Runs[i]
		started, ended := run.Started, run.Ended
		if started.Before(a.span.From) {
			started = a.span.From
		}
		if ended.IsZero() || ended.After(a.span.To) {
			ended = a.span.To
		}
		carry(min(a.column(started), a.columns-1))
		ends.until(started)
		ends.add(ended)
		most[column] = max(most[column], len(ends))
	}
	carry(a.columns - 1)
	return most
}

// endings are when runs end that go on, the first one last.
type endings []time.Time

func (e *endings) until(now time.Time) {
	for n := len(*e); n > 0 && !(*e)[n-1].After(now); n = len(*e) {
		*e = (*e)[:n-1]
	}
}

func (e *endings) add(end time.Time) {
	*e = append(*e, end)
	for i := len(*e) - 1; i > 0 && (*e)[i-1].Before((*e)[i]); i-- {
		(*e)[i-1], (*e)[i] = (*e)[i], (*e)[i-1]
	}
}

// drawOthers shows what did not go as it was scheduled.
func drawOthers(result *simulation.Result, a axis) []rune {
	line := []rune(strings.Repeat(" ", a.columns))
	rank := func(mark rune) int { return strings.IndexRune(string(marks), mark) }
	set := func(column int, mark rune) {
		if column >= 0 && column < a.columns && (line[column] == ' ' || rank(mark) < rank(line[column])) {
			line[column] = mark
		}
	}
	for _, run := range result.Runs {
		switch run.Outcome {
		case simulation.Failed:
			set(a.column(run.Ended), failed)
		case simulation.Stopped:
			set(a.column(run.Ended), replaced)
		}
		if run.Wait > 0 {
			for column := a.column(run.Scheduled); column < a.columns && a.at(column).Before(run.Started); column++ {
				set(column, waits)
			}
		}
	}
	for _, n := range result.NotStarted {
		mark := skipped
		if n.Missed {
			mark = missed
		}
		if n.Count > 0 {
			eachTime(result, n, func(t time.Time) { set(a.column(t), mark) })
		}
	}
	for _, w := range result.Waiting {
		for column := a.column(w.Scheduled); column < a.columns; column++ {
			set(column, waits)
		}
	}
	if h := result.Held; h != nil {
		for column := max(0, a.column(h.First)); column < a.columns && !a.at(column).After(h.Last); column++ {
			set(column, heldBack)
		}
	}
	for _, c := range result.Changes {
		set(a.column(c.At), edited)
	}
	return line
}

// mostMarks is how many times of one entry are marked one by one: more of them fill the columns anyhow.
const mostMarks = 2000

// eachTime calls do with the times of an entry, as far as the timing that the object has at the beginning names them,
// and with the first and the last.
func eachTime(result *simulation.Result, n simulation.NotStarted, do func(time.Time)) {
	do(n.First)
	do(n.Last)
	times := result.Object.Policy.Timing.Times
	if n.Count < 3 || times == nil {
		return
	}
	for at, k := times.Next(n.First), 0; !at.IsZero() && at.Before(n.Last) && k < mostMarks; at, k = times.Next(at), k+1 {
		do(at)
	}
}
