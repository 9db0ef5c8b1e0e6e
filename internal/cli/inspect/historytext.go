// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// writeText writes one object's history for people.
func (h *historyCommand) writeText(a *historyAnswer) error {
	p := &textPrinter{w: h.streams.Out, width: min(h.width, widestText), color: h.color}
	title := fmt.Sprintf("%s in namespace %s", a.of.ref, a.of.namespace)
	if a.deleted {
		title += ", which is deleted"
	}
	p.title(title + periodText(a.period, a.zone) + "; times in " + a.zone.String())
	if len(a.history.Entries) == 0 {
		p.line("")
		p.paragraph(h.nothing(a))
	} else {
		p.line("")
		p.table(h.entries(a), h.tableWidth())
		if hidden := len(a.history.Entries) - a.listed; hidden > 0 {
			p.paragraph(fmt.Sprintf("… and %s before, which are summed up below (--last, --month and --since choose).", quantity.Grouped(hidden)))
		}
		if len(a.attempts) > 0 {
			p.line("")
			p.line("Attempts, in order of their end:")
			p.table(attemptsTable(a), h.tableWidth())
		}
		if a.of.ref.Kind != "job" || len(a.runs) > 1 {
			p.line("")
			p.items(summaryItems(&a.history.Summary, a.zone))
		}
	}
	p.line("")
	p.paragraph("From " + a.origin + ".")
	return p.err
}

// widestText is the widest that sentences are easily read at.
const widestText = 100

// nothing says that no run was found.
func (h *historyCommand) nothing(a *historyAnswer) string {
	text := "No run of " + a.of.ref.String() + " is known"
	if h.period.named() {
		text += " in that time"
	}
	if outcomes, _ := h.outcomes(); len(outcomes) > 0 { // which was checked
		var words []string
		for _, o := range outcomes {
			words = append(words, strings.ToLower(string(o)))
		}
		text += " that is " + strings.Join(words, " or ")
	}
	if r := a.nearest; r != nil {
		text += "; the newest one of all is that of " + clockIn(r.Time(), a.zone) + " (" + duration.FromNow(r.Time(), a.now) + ", " + strings.ToLower(string(r.Outcome)) + ")"
	}
	return text + "."
}

// periodText says which span of time was asked for.
func periodText(p history.Period, zone *time.Location) string {
	switch {
	case p.From.IsZero() && p.Until.IsZero():
		return ""
	case p.Until.IsZero():
		return ", from " + boundary(p.From, zone) + " to now"
	case p.From.IsZero():
		return ", before " + boundary(p.Until, zone)
	}
	return ", from " + boundary(p.From, zone) + " until " + boundary(p.Until, zone)
}

// boundary writes where a span begins or ends: a day, or a time.
func boundary(t time.Time, zone *time.Location) string {
	if local := t.In(zone); local.Hour() == 0 && local.Minute() == 0 && local.Second() == 0 {
		return local.Format(time.DateOnly)
	}
	return t.In(zone).Format("2006-01-02 15:04")
}

// clockIn writes an instant in a zone that is named elsewhere.
func clockIn(t time.Time, zone *time.Location) string {
	layout := "Mon 2006-01-02 15:04"
	if t.Second() != 0 {
		layout += ":05"
	}
	return t.In(zone).Format(layout)
}

// took writes how long something lasted: in full seconds where that is what is known.
func took(d time.Duration) string {
	switch {
	case d == 0:
		return "0s"
	case d%time.Second == 0:
		return duration.Short(d)
	}
	return console.FormatDuration(d)
}
