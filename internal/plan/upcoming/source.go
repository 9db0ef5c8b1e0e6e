// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upcoming tells the next times of a CronJob, a Timetable or an expression, and what became of those that one
// would have expected beside them.
//
//	source.go      Source: what has times, made of an object or (expression.go) of a text
//	item.go        one schedule of a source, and the wall clock times that it names
//	list.go        List: the next times of a source
//	exclusions.go  which times an exclusion took out, and which one
//	clockchange.go what a change of the clock shifted, doubled or skipped
//	text.go        a List for people, in the words of format.go
//	json.go        a List for programs
//
// The times themselves are those by which the controllers start runs; nothing here works them out again. Nothing here
// reads a clock.
package upcoming

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// A Language is that in which a schedule is written.
type Language string

// The languages.
const (
	CronJob   Language = "CronJob"
	Timetable Language = "Timetable"
)

// A Source is something that has times.
type Source struct {
	// Title names it in one line. Of an object it is what the user may pass to a command: "cronjob/backup".
	Title string
	// Written says where the object was written; "" if nowhere.
	Written string
	// Namespace is that of the object; "" for an expression.
	Namespace string
	// Language is that of its schedules.
	Language Language
	// Schedules are its schedules as text: one but for a Timetable, where each begins with its name if there are
	// several.
	Schedules []string
	// Zone is where its wall clock hangs, and ZoneName what it is called.
	Zone     *time.Location
	ZoneName string
	// ZoneAssumed tells that nobody has written a zone.
	ZoneAssumed bool
	// Every, if not 0, tells that its times count from when it is asked.
	Every time.Duration
	// Jitter is the most that a start is put off.
	Jitter time.Duration
	// NotBefore and NotAfter are the window; zero is none.
	NotBefore, NotAfter time.Time
	// Suspended tells that no time starts; SuspendedUntil is when that ends by itself, zero for not at all.
	Suspended      bool
	SuspendedUntil time.Time
	// Paused tells that no time starts because too many runs in a row have failed.
	Paused bool
	// Remarks are what else people should know, a sentence each.
	Remarks []string
	// Obstacle says why nothing starts as it is written, and what to write instead; "" if nothing keeps it. There may
	// be times beside it: those at which runs would start.
	Obstacle string

	// expression tells that it is a text that somebody asked for.
	expression      bool
	times, excluded cron.Times
	// firstAfter gives the first time later than an instant where that does not follow from times alone; nil elsewhere.
	firstAfter func(time.Time) time.Time
	// catchesUp tells that times which pass while it is suspended are made up for.
	catchesUp bool
	// offset is by how much jitter puts starts off.
	offset time.Duration
	items  []item
	closed []exclusion
}

// Of gives the times of an object. zone is that of CronJobs which name none; nil means UTC.
func Of(s *workload.Scheduled, zone *time.Location) *Source {
	timing := &s.Policy.Timing
	source := &Source{Title: s.Reference(), Written: s.Source, Namespace: s.Owner.Namespace, Language: CronJob, Obstacle: s.Obstacle(),
		Zone: zone, Every: timing.Every, times: timing.Times, excluded: timing.Excluded}
	if source.Zone == nil {
		source.Zone = time.UTC
	}
	if s.Unreadable != nil {
		return source
	}
	source.Suspended = s.Policy.Suspend
	if until := s.Policy.SuspendUntil; until != nil {
		source.SuspendedUntil = *until
	}
	source.Paused = s.Paused()
	source.catchesUp = s.Policy.CatchUpOnResume
	if timing.Times != nil && timing.Every > 0 && !s.CountsFrom().IsZero() {
		source.firstAfter = s.FirstAfter
	}
	for _, remark := range timing.Remarks {
		source.Remarks = append(source.Remarks, remark.Message)
	}
	if s.Timetable() != nil {
		source.readTimetable(s)
	} else {
		source.readCronJob(s)
	}
	return source
}

func (s *Source) readCronJob(from *workload.Scheduled) {
	timing := &from.Policy.Timing
	text, _, _ := unstructured.NestedString(from.Content.Object, "spec", "schedule")
	s.Schedules = []string{text}
	switch {
	case timing.ZoneName != "" && timing.Zone != nil:
		s.Zone = timing.Zone
	case timing.ZoneName == "":
		s.ZoneAssumed = true
	}
	s.readCron(text)
}

// readCron reads a schedule of a CronJob, whose zone is known but for one inside the text.
func (s *Source) readCron(text string) {
	s.ZoneName = s.Zone.String()
	text, zone := cutZone(text)
	if zone != nil {
		s.Zone, s.ZoneName, s.ZoneAssumed = zone, zone.String(), false
	}
	if s.times == nil {
		return
	}
	if s.Every > 0 {
		from := "the time asked for"
		if s.firstAfter != nil {
			from = "its last start, or its creation if it has not started any"
		}
		s.Remarks = append(s.Remarks, fmt.Sprintf("@every has no times of its own: the controller starts a run %s after the one "+
			"before, the first %s after it saw the object; here they count from %s", shortDuration(s.Every), shortDuration(s.Every), from))
		return
	}
	if parsed, err := schedule.Parse(text, time.UTC); err == nil {
		s.items = []item{{instants: s.times, wall: parsed}}
	}
}

// cutZone takes the zone out of a text that brings its own; nil if it brings none.
func cutZone(text string) (string, *time.Location) {
	if !strings.HasPrefix(text, "TZ=") && !strings.HasPrefix(text, "CRON_TZ=") {
		return text, nil
	}
	prefix, rest, _ := strings.Cut(text, " ")
	_, name, _ := strings.Cut(prefix, "=")
	zone, err := schedule.LoadZone(name)
	if err != nil {
		return text, nil
	}
	return strings.TrimSpace(rest), zone
}

func (s *Source) readTimetable(from *workload.Scheduled) {
	t := from.Timetable()
	s.Language, s.Zone = Timetable, time.UTC
	spec, _ := timetable.Timing(t, &t.Spec, nil, 0)
	s.Jitter, s.NotBefore, s.NotAfter = spec.Jitter, spec.NotBefore, spec.NotAfter
	s.offset = workload.JitterOffset(spec.Hash, spec.Jitter)
	for _, e := range t.Spec.Exclude {
		if e.Period != nil {
			s.exclude("", string(*e.Period), "")
		}
		if e.Calendar == nil || from.Calendars[*e.Calendar] == nil {
			continue // a missing one is the obstacle
		}
		for _, p := range from.Calendars[*e.Calendar].Spec.Periods {
			s.exclude(*e.Calendar, string(p.Period), p.Name)
		}
	}
	s.readSpec(spec)
}

// readSpec reads the schedules of a Timetable.
func (s *Source) readSpec(spec timeset.Spec) {
	if set, ok := s.times.(*timeset.Set); ok {
		s.Zone = set.Location()
	}
	s.ZoneName = spec.TimeZone
	if s.ZoneName == "" {
		s.ZoneName, s.ZoneAssumed = "UTC", true
	}
	for _, i := range spec.Items {
		text := itemText(i)
		if len(spec.Items) > 1 {
			text = i.Name + ": " + text
		}
		s.Schedules = append(s.Schedules, text)
		if s.times != nil {
			s.items = append(s.items, newItem(i, spec))
		}
	}
}
