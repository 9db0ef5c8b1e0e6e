// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// startsView is what the page shows of what is to come.
type startsView struct {
	From, Until time.Time
	// Known are the schedules there are, Counted those whose starts count.
	Known, Counted int
	Total          int
	// Peak is the fullest minute, and Midnight the first minute of the next day; their Starts may be 0.
	Peak, Midnight minuteRow
	// Running is the most runs at once, RunningAt when, and RunningURL who starts then.
	Running    int
	RunningAt  time.Time
	RunningURL string
	// Worst are the fullest minutes.
	Worst   []minuteRow
	Picture startsPicture
	Changes []changeRow
	// Suspended are not counted, and LeftOut cannot start; of these the first few are named.
	Suspended int
	LeftOut   int
	Wrong     []wrong
	// Data is where a script finds the numbers.
	Data string
}

// Next are the fullest minutes after the first that have more than one start.
func (v *startsView) Next() []minuteRow {
	var next []minuteRow
	for _, w := range v.Worst[min(1, len(v.Worst)):min(3, len(v.Worst))] {
		if w.Starts > 1 {
			next = append(next, w)
		}
	}
	return next
}

// minuteRow is one minute, in a table.
type minuteRow struct {
	At              time.Time
	URL             string
	Starts, Running int
	By              []maker
	// More is how many schedules make the rest of it, MoreStarts how much that is.
	More, MoreStarts int
}

// Others says who starts beside the first.
func (r minuteRow) Others() string {
	rest := r.MoreStarts
	for _, m := range r.By[min(1, len(r.By)):] {
		rest += m.Starts
	}
	if rest == 0 {
		return ""
	}
	return fmt.Sprintf("and %s with %s", quantity.CountGrouped(rest, "start"), quantity.CountGrouped(len(r.By)-1+r.More, "other schedule"))
}

// Lead are those who make the most of it: schedules that several have, or else the first.
func (r minuteRow) Lead() minuteRow {
	n := 0
	for n < len(r.By) && (n == 0 || r.By[n].Objects > 1) {
		n++
	}
	lead := r
	lead.By = r.By[:n]
	for _, m := range r.By[n:] {
		lead.More++
		lead.MoreStarts += m.Starts
	}
	return lead
}

// maker are the objects with one schedule that start in a minute.
type maker struct {
	Schedule        string
	Objects, Starts int
	// Name is the object's if it is one.
	Name string
}

// wrong is a schedule that starts nothing.
type wrong struct{ Name, URL, Why string }

// changeRow is another set of schedules, and what it would bring.
type changeRow struct {
	Text, How       string
	Before, After   int
	Running         int
	ExampleURL      string
	Example, Edited string
}

const (
	// shownMakers is how many schedules of a minute are named in a table, shownWrong how many that cannot start.
	shownMakers = 3
	shownWrong  = 5
)

func minuteURL(c choice, at time.Time) string {
	return c.url("/fleet/minute", "at", at.UTC().Format("2006-01-02T15:04Z"))
}

func startsOf(k *coming, c choice, now time.Time, zone *time.Location) *startsView {
	f, s := k.Forecast, k.Summary
	v := &startsView{From: f.From, Until: f.Until(), Known: k.Known, Counted: f.Objects.Counted, Total: int(s.Total), Running: int(s.Running.Number), RunningAt: s.Running.At,
		RunningURL: minuteURL(c, s.Running.At), Suspended: f.Objects.Suspended, LeftOut: len(f.Objects.LeftOut), Data: c.url("/fleet/starts.json")}
	for i := range f.Worst {
		v.Worst = append(v.Worst, minuteRowOf(&f.Worst[i], c))
	}
	v.Peak = minuteRow{At: s.Starts.At, Starts: int(s.Starts.Number), URL: minuteURL(c, s.Starts.At)}
	if len(v.Worst) > 0 {
		v.Peak = v.Worst[0]
	}
	midnight := nextMidnight(f.From, zone)
	v.Midnight = minuteRow{At: midnight, URL: minuteURL(c, midnight)}
	if n := int(midnight.Sub(f.From) / time.Minute); n >= 0 && n < len(f.Starts) {
		v.Midnight.Starts, v.Midnight.Running = int(f.Starts[n]), int(f.Running[n])
	}
	for _, l := range f.Objects.LeftOut[:min(shownWrong, len(f.Objects.LeftOut))] {
		info := l.Object.Kind.Info().Owner
		v.Wrong = append(v.Wrong, wrong{l.Object.Owner.Namespace + "/" + l.Object.Owner.Name,
			page.ScheduleURL(info.GroupVersion().String(), info.Kind, l.Object.Owner.Namespace, l.Object.Owner.Name), l.Why})
	}
	v.Changes = changesOf(k, zone)
	v.Picture = startsPictureOf(f.Starts, f.From, now, v.Worst, c, zone)
	return v
}

func minuteRowOf(w *forecast.WorstMinute, c choice) minuteRow {
	r := minuteRow{At: w.At, URL: minuteURL(c, w.At), Starts: int(w.Starts), Running: int(w.Running)}
	for n := range w.By {
		m := &w.By[n]
		if n >= shownMakers {
			r.More++
			r.MoreStarts += int(m.Starts)
			continue
		}
		row := maker{Schedule: m.Schedule, Objects: m.Objects, Starts: int(m.Starts)}
		if len(m.Names) == 1 {
			row.Name = m.Names[0]
		}
		r.By = append(r.By, row)
	}
	return r
}

// nextMidnight is the first beginning of a day in a zone that is not before t.
func nextMidnight(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	if today := history.Midnight(y, m, d, zone); !today.Before(t) {
		return today
	}
	return history.Midnight(y, m, d+1, zone)
}

// changesOf tells what would help, the most useful first.
func changesOf(k *coming, zone *time.Location) []changeRow {
	var all []changeRow
	for i := range k.Forecast.Changes {
		c := &k.Forecast.Changes[i]
		if !c.Helps(k.Summary) {
			continue
		}
		row := changeRow{Text: changeText(c), How: changeHow(c), Before: int(k.Summary.Starts.Number), After: int(c.Starts.Number), Running: int(c.Running.Number)}
		if len(c.Edits) > 0 {
			e := &c.Edits[0]
			row.Example, row.Edited = e.Object.Owner.Namespace+"/"+e.Object.Owner.Name+": "+e.From, e.To
			row.ExampleURL = simulateURL(e.To, e.Object.Policy.Timing.ZoneName, zone)
		}
		all = append(all, row)
	}
	return all
}

func changeText(c *forecast.Change) string {
	objects := quantity.CountGrouped(c.Objects, "schedule")
	switch c.ID {
	case forecast.ChangeHash:
		if c.Objects == 1 {
			return "Another minute for 1 schedule"
		}
		return "A minute of its own for each of " + objects
	case forecast.ChangeJitter:
		return fmt.Sprintf("A jitter of 15m for %s", objects)
	}
	return fmt.Sprintf("Minute %s for the %s with %s", c.Minute, objects, c.Schedule)
}

// changeHow says how a change is made.
func changeHow(c *forecast.Change) string {
	switch {
	case c.ID == forecast.ChangeJitter && c.CronJobs == 0:
		return "Set spec.jitter: 15m in each."
	case c.ID == forecast.ChangeJitter && c.CronJobs == c.Objects:
		return "Only Timetables have spec.jitter: carillon convert makes them from CronJobs."
	case c.ID == forecast.ChangeJitter:
		return fmt.Sprintf("Set spec.jitter: 15m in each Timetable. %s no jitter: carillon convert makes Timetables of them.", cronJobsHave(c.CronJobs))
	case c.ID == forecast.ChangeHash && c.CronJobs < c.Objects:
		return "In a Timetable H stands for such a minute; a CronJob has it written out."
	case c.ID == forecast.ChangeHash:
		return "The minute follows from the name, so that it stays. The list of a minute shows what each would get."
	}
	return "Runs that rely on others to be done by their time must be moved with them."
}

func cronJobsHave(n int) string {
	if n == 1 {
		return "1 is a CronJob, and has"
	}
	return quantity.Grouped(n) + " are CronJobs, and have"
}

// simulateURL is the address at which a schedule can be tried, as far as it is one expression.
func simulateURL(expression, zoneName string, viewer *time.Location) string {
	if strings.Contains(expression, " | ") {
		expression, _, _ = strings.Cut(expression, " | ")
	}
	if zoneName == "" {
		zoneName = "UTC"
	}
	return choice{}.url("/simulate", "schedule", expression, "zone", zoneName)
}
