// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/internal/ui/entry"
)

// asked is what is asked, read.
type asked struct {
	timetable bool
	lines     []string
	zone      *time.Location // nil if none is named
	span      simulation.Span
	model     simulation.Model
	outages   []simulation.Span
	// deadline is nil if there is none.
	deadline *time.Duration
	policy   string
}

// read reads all fields, and notes what is wrong with each.
func (f *form) read(now time.Time, viewer *time.Location) asked {
	a := asked{policy: f.Policy}
	var err error
	a.lines, a.timetable, err = f.schedules()
	f.fault("schedule", err)
	if f.Zone != "" {
		a.zone, err = entry.Zone(f.Zone)
		f.fault("zone", err)
	}
	if f.Faults["schedule"] == "" && len(a.lines) > 1 && work(a.lines, now) > mostWork {
		f.fault("schedule", fmt.Errorf("that many schedules that come that often would take long to look at; leave out some lines, or let them come less often"))
	}
	zone := cmp.Or(a.zone, time.UTC)
	if f.From != "" && f.Zone == "" {
		zone = viewer // whoever writes no zone means his own clock
	}
	a.span.From = now.UTC().Truncate(time.Second)
	if f.From != "" {
		if a.span.From, err = simulation.ParseInstant(f.From, a.span.From, zone); err != nil {
			f.fault("from", err)
		} else if a.span.From.Before(time.Unix(0, 0)) || a.span.From.Year() > 9000 {
			f.fault("from", fmt.Errorf("%q lies outside of the years 1970 to 9000", f.From))
		}
	}
	lasts := usualSpan
	if f.For != "" {
		lasts, err = simulation.ParseDuration(f.For)
		f.fault("for", err)
	}
	if err == nil && (lasts < time.Minute || lasts > longestSpan) {
		f.fault("for", fmt.Errorf("%q: from a minute (1m) to a year (366d) can be simulated", f.For))
	}
	a.span.To = a.span.From.Add(min(max(lasts, time.Minute), longestSpan))
	a.model.Stopping = 5 * time.Second
	a.model.Durations, err = simulation.ParseDurations(cmp.Or(f.Duration, "5m"))
	f.fault("duration", err)
	a.model.Fail, err = simulation.ParseProbability(cmp.Or(f.Fail, "0%"))
	f.fault("fail", err)
	if f.Deadline != "" {
		d, err := entry.Deadline(f.Deadline)
		f.fault("deadline", err)
		a.deadline = &d
	}
	f.readOutage(&a, zone)
	f.readPolicy(&a)
	return a
}

func (f *form) readOutage(a *asked, zone *time.Location) {
	if f.Outage == "" || f.Faults["from"] != "" || f.Faults["for"] != "" {
		return
	}
	from, to, found := strings.Cut(f.Outage, "..")
	if !found {
		f.fault("outage", fmt.Errorf("%q: write FROM..TO, such as +2h..+4h or 2027-03-01T02:00..2027-03-01T04:00", f.Outage))
		return
	}
	var o simulation.Span
	var err error
	o.From, err = simulation.ParseInstant(from, a.span.From, zone)
	f.fault("outage", err)
	o.To, err = simulation.ParseInstant(to, a.span.From, zone)
	f.fault("outage", err)
	switch {
	case f.Faults["outage"] != "":
	case !o.To.After(o.From):
		f.fault("outage", fmt.Errorf("%q ends before it begins", f.Outage))
	case !o.To.After(a.span.From) || !o.From.Before(a.span.To):
		f.fault("outage", fmt.Errorf("%q lies outside of what is simulated", f.Outage))
	default:
		a.outages = []simulation.Span{o}
	}
}

func (f *form) readPolicy(a *asked) {
	switch f.Policy {
	case "", "Allow", "Forbid", "Replace":
	case "Queue":
		if !a.timetable {
			f.fault("policy", fmt.Errorf("only a Timetable has the policy Queue; read it as one, or choose another policy"))
		}
	default:
		f.fault("policy", fmt.Errorf("there is no policy %q: it is Allow, Forbid, Replace or, of a Timetable, Queue", f.Policy))
	}
}

// schedules reads the lines, as a CronJob or as a Timetable.
func (f *form) schedules() (lines []string, timetable bool, err error) {
	lines = f.Lines()
	switch f.Language {
	case "", asCronJob, asTimetable:
	default:
		f.fault("as", fmt.Errorf("there is no kind %q: it is cronjob or timetable", f.Language))
	}
	if len(lines) > mostLines {
		return nil, false, fmt.Errorf("it has %d lines, and %d are the most", len(lines), mostLines)
	}
	if len(lines) == 1 && f.Language != asTimetable {
		ofCronJob := entry.CronJob(lines[0])
		if ofCronJob == nil {
			return lines, false, nil
		}
		if f.Language == asCronJob {
			return nil, false, ofCronJob
		}
		ofTimetable := entry.Line(lines[0]).Check()
		if ofTimetable != nil {
			return nil, false, words.Refusal(lines[0], ofCronJob, ofTimetable)
		}
		return lines, true, nil
	}
	if f.Language == asCronJob && len(lines) > 1 {
		return nil, false, fmt.Errorf("a CronJob has one schedule, and these are %d; a Timetable may have several", len(lines))
	}
	for n, line := range lines {
		if err := entry.Line(line).Check(); err != nil {
			if len(lines) > 1 {
				err = fmt.Errorf("line %d: %w", n+1, err)
			}
			return nil, true, err
		}
	}
	return lines, true, nil
}

// work is about how many steps it takes to look at lines.
func work(lines []string, now time.Time) int {
	times := 0
	for _, line := range lines {
		times += entry.Line(line).Count(now, now.AddDate(2, 0, 0))
	}
	return times * len(lines)
}
