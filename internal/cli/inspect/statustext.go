// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/cli/table"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

// statusText is the screen for people.
type statusText struct {
	known *known
	// zone is that of times; nil is that of each schedule.
	zone *time.Location
	// columns and rows are the size of the screen, 0 for any. Without rows sections have usualItems items, or all of
	// them if all says so.
	columns, rows int
	all, color    bool
}

const (
	usualItems = 10
	// roomy is from how many rows on sections are set apart.
	roomy = 30
	// proseWidth bounds lines of text where the screen does not.
	proseWidth = 120
)

// String gives the screen, each line with its end.
func (t *statusText) String() string {
	s := t.known.status
	var head, foot []string
	head = append(head, t.verdict(s.Verdict())...)
	sections := t.sections()
	spaced := t.spaced()
	head = append(head, t.health(s.Health)...)
	foot = append(foot, t.quiet()...)
	foot = append(foot, t.sources()...)
	t.fill(sections, len(head)+len(foot))

	var b strings.Builder
	write := func(lines []string) {
		if spaced && b.Len() > 0 && len(lines) > 0 {
			b.WriteByte('\n')
		}
		for _, line := range lines {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	write(head)
	for i := range sections {
		write(sections[i].lines(t))
	}
	write(foot)
	return b.String()
}

// verdict is the first line.
func (t *statusText) verdict(v status.Verdict) []string {
	if v.Well() {
		return []string{table.Green.Paint("all is well", t.color) + ": " + v.Rest}
	}
	lines := t.prose("", "  ", v.String())
	wrong := strings.Join(v.Wrong, ", ")
	if rest, ok := strings.CutPrefix(lines[0], wrong); ok {
		lines[0] = table.Red.Paint(wrong, t.color) + rest
	} else {
		lines[0] = table.Red.Paint(lines[0], t.color)
	}
	return lines
}

// prose breaks text into lines.
func (t *statusText) prose(first, rest, text string) []string {
	width := t.columns
	if width <= 0 {
		width = proseWidth
	}
	return paragraph.Lines(first, rest, console.EscapeControls(text), width)
}

// health tells of each part. Where there is little room it tells of those that are not well, in few lines, and of one
// what to do.
func (t *statusText) health(parts []status.Part) []string {
	var lines, well []string
	name := 0
	for _, p := range parts {
		name = max(name, len(p.Name))
	}
	for _, p := range parts {
		color, mark := table.Green, "ok"
		switch p.State {
		case status.Wrong:
			color, mark = table.Red, "!!"
		case status.Unknown:
			color, mark = table.Dim, "?"
		default:
			if !t.spaced() {
				well = append(well, p.Name)
				continue
			}
		}
		told := t.part(fmt.Sprintf("%-*s  %-2s ", name, p.Name, mark), "", p.Text)
		told[0] = strings.Replace(told[0], "  "+mark, "  "+color.Paint(mark, t.color), 1)
		if p.Cure != "" && p.State == status.Wrong && (t.spaced() || !strings.Contains(strings.Join(lines, ""), cureMark)) {
			told = append(told, t.part(strings.Repeat(" ", name+5), cureMark, p.Cure)...)
		}
		lines = append(lines, told...)
	}
	if len(well) > 0 {
		lines = append(lines, t.prose("well: ", "  ", strings.Join(well, ", "))...)
	}
	if t.spaced() && len(lines) > 0 {
		lines = append([]string{""}, lines...)
	}
	return lines
}

// cureMark begins what to do.
const cureMark = "→ "

// part tells of one part, in two lines at most where there is little room.
func (t *statusText) part(begin, mark, text string) []string {
	const most = 2
	lines := t.prose(begin+mark, strings.Repeat(" ", len(begin)+2*min(len(mark), 1)), text)
	if !t.spaced() && len(lines) > most {
		lines = lines[:most]
		lines[most-1] = table.Shorten(lines[most-1]+" …", max(t.columns, 1))
	}
	return lines
}

// quiet names in one sentence what there is none of.
func (t *statusText) quiet() []string {
	s := t.known.status
	var none []string
	add := func(n int, text string) {
		if n == 0 {
			none = append(none, text)
		}
	}
	lately := "in the last " + duration.Short(s.Now.Sub(s.Since))
	if s.Served && s.Schedules == 0 {
		none = append(none, "there is no CronJob and no Timetable yet (carillon kubectl apply -f FILE makes those of a file)")
	}
	add(len(s.Running), "nothing runs")
	switch {
	case len(s.Failed) == 0 && len(s.Missed) == 0:
		none = append(none, "nothing failed or was missed "+lately)
	default:
		add(len(s.Failed), "nothing failed "+lately)
		add(len(s.Missed), "nothing was missed "+lately)
	}
	if s.Served && s.Schedules > 0 {
		add(len(s.Due), "nothing is due in the next hour")
		add(len(s.Paused), "nothing is suspended or paused")
	}
	if len(none) == 0 {
		return nil
	}
	return t.dim(t.prose("", "", paragraph.Capital(strings.Join(none, "; "))+"."))
}

// sources say where what is told comes from, and what could not be read.
func (t *statusText) sources() []string {
	lines := t.dim(t.prose("Runs: ", "  ", t.known.origin+"."))
	for _, note := range t.known.notes {
		for _, line := range t.prose("Note: ", "  ", note) {
			lines = append(lines, table.Yellow.Paint(line, t.color))
		}
	}
	return lines
}

func (t *statusText) dim(lines []string) []string {
	for i := range lines {
		lines[i] = table.Dim.Paint(lines[i], t.color)
	}
	return lines
}

// fill says how many items each section shows, so that all of it fits the screen: each has one, and then one after the
// other gets another one until there is no room or there are no more. Where there is no room for one of each, the last
// sections are one line each, which says how much there is.
func (t *statusText) fill(sections []section, used int) {
	room := t.rows - 1 - used // the line on which the shell goes on
	if t.spaced() {
		room -= len(sections) + 1
	}
	for i := range sections {
		s := &sections[i]
		s.shown = len(s.rows)
		switch {
		case t.all:
		case t.rows <= 0:
			s.shown = min(s.shown, usualItems)
		default:
			s.shown = 1
			room -= 2 + s.cost(0) // its header, and the command that leads on
		}
	}
	if t.rows <= 0 || t.all {
		return
	}
	for i := len(sections) - 1; i > 0 && room < 0; i-- {
		sections[i].shown = 0
		room += 1 + sections[i].cost(0)
	}
	for grown := true; grown; {
		grown = false
		for i := range sections {
			s := &sections[i]
			if s.shown > 0 && s.shown < len(s.rows) && s.cost(s.shown) <= room {
				room -= s.cost(s.shown)
				s.shown++
				grown = true
			}
		}
	}
}

// spaced tells whether sections are set apart.
func (t *statusText) spaced() bool { return t.all || t.rows <= 0 || t.rows >= roomy }
