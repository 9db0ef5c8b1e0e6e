// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// minuteFormat shows a minute with its zone.
const minuteFormat = "2006-01-02 15:04 MST"

// How much of long lists is shown.
const (
	mostMakers  = 5
	mostLeftOut = 5
	mostEdits   = 5
)

// forecastText is a forecast for people.
type forecastText struct {
	*forecast.Forecast
	options forecast.Options
	now     time.Time
	zone    *time.Location
	width   int
	ascii   bool
	// oneNamespace: the objects are those that an API server has in one namespace.
	oneNamespace bool

	out strings.Builder
}

func (f *forecastText) String() string {
	s := f.Summary()
	f.head(s)
	if s.Total > 0 {
		chart := forecast.ChartOptions{Zone: f.zone, Width: f.width, ASCII: f.ascii}
		if minutes := f.ColumnMinutes(chart); minutes > 1 {
			f.say("Starts a minute; each column shows the fullest of its %d minutes.", minutes)
		}
		f.line("")
		for _, row := range f.Chart(chart) {
			f.line(row)
		}
		f.line("")
		f.summary(s)
	}
	f.assumptions()
	f.notCounted()
	f.worst()
	f.changes(s)
	return f.out.String()
}

func (f *forecastText) line(text string) { f.out.WriteString(console.EscapeControls(text) + "\n") }

// cut writes one line, of which no more is shown than has room.
func (f *forecastText) cut(text string) {
	more := "…"
	if f.ascii {
		more = "..."
	}
	if shown := []rune(console.EscapeControls(text)); len(shown) > f.width {
		text = string(shown[:f.width-utf8.RuneCountInString(more)]) + more
	}
	f.line(text)
}

// say writes words in lines no wider than the terminal; all but the first are indented by as much as the first begins
// with blanks or a number, a dot and a blank.
func (f *forecastText) say(format string, args ...any) {
	text := console.EscapeControls(fmt.Sprintf(format, args...))
	indent := len(text) - len(strings.TrimLeft(text, " 0123456789."))
	if !strings.HasPrefix(text, " ") {
		indent = 0
	}
	first := text[:len(text)-len(strings.TrimLeft(text, " "))]
	for _, line := range paragraph.Lines(first, strings.Repeat(" ", indent), text, f.width) {
		f.out.WriteString(line + "\n")
	}
}

func (f *forecastText) at(t time.Time) string { return t.In(f.zone).Format(minuteFormat) }

func (f *forecastText) head(s forecast.Summary) {
	o, length := f.Objects, lengthText(f.options.Length)
	switch {
	case o.Counted == 0:
		f.say("Nothing will start: no CronJob or Timetable counts.")
	case s.Total == 0:
		f.say("Nothing starts from %s on, for %s: %s no time in it.", f.at(f.From), length, counted(o.Counted, "object has", "objects have"))
	default:
		f.say("What %s from %s on, for %s:", counted(o.Counted, "object starts", "objects start"), f.at(f.From), length)
	}
	if f.oneNamespace {
		f.say("(one namespace; -A takes all)")
	}
}

func (f *forecastText) summary(s forecast.Summary) {
	empty := "every minute has one"
	if s.Empty > 0 {
		empty = fmt.Sprintf("none in %s of %s minutes", quantity.Grouped(int64(s.Empty)), quantity.Grouped(int64(len(f.Starts))))
	}
	f.say("%s: %s a minute on average, %s.", quantity.CountGrouped(int(s.Total), "start"), decimal(s.Mean), empty)
	ratio := ""
	if s.Starts.Number > 1 {
		ratio = fmt.Sprintf(", %s times the average", decimal(peakToMean(s)))
	}
	f.say("The fullest minute is %s (%s): %s%s.", f.at(s.Starts.At), duration.FromNow(s.Starts.At, f.now), quantity.CountGrouped(int(s.Starts.Number), "start"), ratio)
	f.say("Active at once: up to %s, at %s.", quantity.CountGrouped(int(s.Running.Number), "run"), f.at(s.Running.At))
}

// assumptions says what the numbers rest on.
func (f *forecastText) assumptions() {
	d, o := f.Durations, f.Objects
	var taken []string
	if d.Measured > 0 {
		taken = append(taken, fmt.Sprintf("the median of the last ones for %s", quantity.CountGrouped(d.Measured, "object")))
	}
	if d.Deadline > 0 {
		taken = append(taken, fmt.Sprintf("the deadline for %s", quantity.CountGrouped(d.Deadline, "object")))
	}
	if d.Assumed > 0 {
		taken = append(taken, fmt.Sprintf("%s for %s, which is assumed (--duration)", lengthText(f.options.Duration), quantity.CountGrouped(d.Assumed, "object")))
	}
	if len(taken) > 0 && o.Counted > o.Idle {
		f.say("A run is taken to last %s.", strings.Join(taken, ", "))
	}
	if o.Idle > 0 && o.Idle < o.Counted {
		f.say("%s in this time.", counted(o.Idle, "object starts nothing", "objects start nothing"))
	}
	if o.WithoutZone > 0 {
		f.say("%s no time zone: UTC is taken, the cluster's controller may take another.", counted(o.WithoutZone, "CronJob names", "CronJobs name"))
	}
	if o.Unanchored > 0 {
		f.say("%s to begin with the forecast.", counted(o.Unanchored, "CronJob with @every has not started yet: it is taken", "CronJobs with @every have not started yet: they are taken"))
	}
	if o.SuspendedUntil > 0 {
		f.say("%s suspended for a while: what comes after that counts.", counted(o.SuspendedUntil, "Timetable is", "Timetables are"))
	}
}

func (f *forecastText) notCounted() {
	o := f.Objects
	if o.Suspended > 0 {
		f.say("Not counted: %s suspended.", counted(o.Suspended, "object that is", "objects that are"))
	}
	if len(o.LeftOut) == 0 {
		return
	}
	f.say("Not counted: %s start:", counted(len(o.LeftOut), "object that cannot", "objects that cannot"))
	for n, l := range o.LeftOut {
		if n == mostLeftOut {
			f.say("  and %d more (-o json lists all)", len(o.LeftOut)-n)
			break
		}
		f.say("  %s: %s", objectName(l.Object), l.Why)
	}
}

func (f *forecastText) worst() {
	if len(f.Worst) == 0 {
		return
	}
	f.line("")
	f.line("THE FULLEST MINUTES")
	for n, w := range f.Worst {
		starts := fmt.Sprintf("  %s  %7s", f.at(w.At), quantity.Grouped(w.Starts))
		if n > 0 {
			f.cut(starts + "  " + shortMakers(w))
			continue
		}
		f.line(starts)
		for n, m := range w.By {
			if n == mostMakers {
				f.say("             %s by %s", quantity.Grouped(sumStarts(w.By[n:])), counted(len(w.By)-n, "other schedule", "other schedules"))
				break
			}
			f.cut(fmt.Sprintf("    %7s  %s", quantity.Grouped(m.Starts), m.Schedule))
			f.cut("             " + f.names(m.Names, f.width-13))
		}
	}
}

// shortMakers names the first of those who make a minute.
func shortMakers(w forecast.WorstMinute) string {
	switch len(w.By) {
	case 0:
		return ""
	case 1:
		return w.By[0].Schedule
	}
	return fmt.Sprintf("%s by %s, %s", quantity.Grouped(w.By[0].Starts), w.By[0].Schedule, quantity.CountGrouped(len(w.By)-1, "other"))
}

func sumStarts(makers []forecast.Maker) (sum int64) {
	for _, m := range makers {
		sum += m.Starts
	}
	return sum
}

// names are as many as fit, the first of them in any case, and how many more there are.
func (f *forecastText) names(names []string, width int) string {
	text := names[0]
	for n := 1; n < len(names); n++ {
		rest := ""
		if more := len(names) - n - 1; more > 0 {
			rest = fmt.Sprintf(" and %d more", more)
		}
		if len(text)+2+len(names[n])+len(rest) > width {
			return fmt.Sprintf("%s and %d more", text, len(names)-n)
		}
		text += ", " + names[n]
	}
	return text
}

// objectName names an object as messages do: by its place in a file, or by namespace and name.
func objectName(s *workload.Scheduled) string {
	if s.Source != "" {
		return s.String()
	}
	return fmt.Sprintf("%s %s/%s", s.Kind.Info().Owner.Kind, s.Owner.Namespace, s.Owner.Name)
}

func forecastObjectOf(s *workload.Scheduled) forecastObject {
	return forecastObject{Kind: s.Kind.Info().Owner.Kind, Namespace: cmp.Or(s.Owner.Namespace, s.Typed.GetNamespace()), Name: cmp.Or(s.Owner.Name, s.Typed.GetName()), Source: s.Source}
}

// counted is a number of things and what they do: "1 object starts", "1,412 objects start".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return quantity.Grouped(n) + " " + many
}

// decimal writes a number with as many digits as tell something.
func decimal(x float64) string {
	switch {
	case x >= 10:
		return quantity.Grouped(int64(x + 0.5))
	case x >= 0.1:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.4f", x)
}

// lengthText writes a duration without the zeros that Go appends: "24h", "1h30m", "7 days".
func lengthText(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return duration.Exact(d)
}
