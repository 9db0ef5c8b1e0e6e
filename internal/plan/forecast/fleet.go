// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// fleet are the objects that count.
type fleet struct {
	options   Options
	groups    []*group
	objects   Objects
	durations Durations
	// stopped: nobody wants to know any more.
	stopped bool
}

// goesOn tells whether somebody still wants to know.
func (f *fleet) goesOn() bool {
	f.stopped = f.stopped || f.options.Progress != nil && !f.options.Progress()
	return !f.stopped
}

// A group are objects that start at the same instants.
type group struct {
	times   times
	members []*member
	// idle is that it starts nothing in the time that is forecast.
	idle bool
}

// member is one object that counts.
type member struct {
	*workload.Scheduled
	// label is the schedule as people are shown it.
	label string
	// takes is how long a run of it takes, in seconds.
	takes int64
}

func (m *member) name() string { return m.Owner.Namespace + "/" + m.Owner.Name }

func byName(a, b *workload.Scheduled) int {
	return cmp.Or(strings.Compare(a.Owner.Namespace, b.Owner.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name),
		strings.Compare(a.Kind.Info().Name, b.Kind.Info().Name), strings.Compare(a.Source, b.Source),
		strings.Compare(a.Policy.Timing.Fingerprint, b.Policy.Timing.Fingerprint))
}

func newFleet(objects []*workload.Scheduled, options Options) *fleet {
	f := &fleet{options: options}
	known := newMeasured(options.Runs)
	groups := map[timesKey]*group{}
	for _, s := range slices.SortedStableFunc(slices.Values(objects), byName) {
		if !f.goesOn() {
			break
		}
		if f.leaveOut(s) {
			continue
		}
		m := &member{Scheduled: s, label: label(s)}
		m.takes = f.durations.of(s, known, options)
		t := f.timesOf(s)
		g := groups[t.key]
		if g == nil {
			g = &group{times: t}
			groups[t.key] = g
			f.groups = append(f.groups, g)
		}
		g.members = append(g.members, m)
		f.count(s, &t)
	}
	return f
}

// leaveOut tells whether an object starts nothing, and notes it.
func (f *fleet) leaveOut(s *workload.Scheduled) bool {
	why := s.Obstacle()
	switch {
	case s.Unreadable == nil && (s.Policy.Suspend || s.Memory.Pause().Cause == cron.PauseFailures):
		f.objects.Suspended++
		return true
	case s.Owner.Deleting:
		why = "it is being deleted"
	case why == "" && s.Policy.Timing.Times == nil:
		why = "it names no times"
	case why == "":
		return false
	}
	f.objects.LeftOut = append(f.objects.LeftOut, LeftOut{s, why})
	return true
}

func (f *fleet) count(s *workload.Scheduled, t *times) {
	f.objects.Counted++
	if t.notBefore > f.options.From.Unix() {
		f.objects.SuspendedUntil++
	}
	if s.Timetable() == nil && s.Policy.Timing.ZoneName == "" && s.Policy.Timing.Every == 0 && len(s.Policy.Timing.Remarks) == 0 {
		f.objects.WithoutZone++
	}
	if t.every && s.Memory.LastSchedule == nil && s.Owner.Created.IsZero() {
		f.objects.Unanchored++
	}
}

// timesOf gives the instants at which an object starts. Those of objects with the same key are the same.
func (f *fleet) timesOf(s *workload.Scheduled) times {
	timing := s.Policy.Timing
	t := times{timing: timing, key: timesKey{timing: timing.Fingerprint}, notBefore: math.MinInt64}
	if until := s.Policy.SuspendUntil; until != nil {
		t.notBefore = until.Unix()
		t.madeUp = f.madeUp(s)
	}
	t.key.notBefore, t.key.madeUp = t.notBefore, t.madeUp
	if timing.Every != 0 {
		t.every, t.since = true, f.options.From
		switch {
		case s.Memory.LastSchedule != nil:
			t.since = *s.Memory.LastSchedule
		case !s.Owner.Created.IsZero():
			t.since = s.Owner.Created
		}
		t.key.since = t.since.Unix()
	}
	if tt := s.Timetable(); tt != nil {
		t.key.timetable = true
		if tt.Spec.Jitter != nil { // one that cannot be read is an obstacle
			t.jitter, _ = timeset.ParseDuration(string(*tt.Spec.Jitter))
			t.key.jitter = t.jitter
		}
		if t.jitter != 0 || hashes(&tt.Spec) {
			t.key.own = s.Owner.Namespace + "/" + s.Owner.Name
		}
	}
	return t
}

// madeUp is how many of the times that pass in a suspension which ends on its own start at its end. The ones that are
// planned for the end itself or later start anyway.
func (f *fleet) madeUp(s *workload.Scheduled) int {
	until, policy, timing := *s.Policy.SuspendUntil, s.Policy.CatchUp, s.Policy.Timing
	if !s.Policy.CatchUpOnResume || timing.Times == nil || until.Before(f.options.From) {
		return 0
	}
	decided := f.options.From.Add(-time.Second)
	switch {
	case s.Memory.Cursor != nil:
		decided = *s.Memory.Cursor
	case !s.Owner.Created.IsZero():
		decided = s.Owner.Created
	}
	latest := timing.Times.LastBetween(decided, until)
	for !latest.IsZero() && !timing.PlannedStart(latest).Before(until) {
		if timing.PlannedStart(latest).Equal(until) && policy.Policy != cron.CatchUpAll {
			return 0 // it is the latest
		}
		latest = timing.Times.LastBetween(decided, latest.Add(-time.Nanosecond))
	}
	most := 1
	if policy.Policy == cron.CatchUpAll {
		most = policy.Limit
	}
	n := 0
	for t := latest; !t.IsZero() && t.After(decided) && n < most; t = timing.Times.LastBetween(decided, t.Add(-time.Nanosecond)) {
		delay := until.Sub(timing.PlannedStart(t))
		if policy.Policy == cron.CatchUpNone && delay > time.Minute || s.Policy.Deadline != nil && delay >= time.Duration(*s.Policy.Deadline)*time.Second {
			break
		}
		n++
	}
	return n
}

// hashes tells whether a spec may have an H, so that its times depend on its name. Names of days with an h count as
// well, which costs a walk and nothing else.
func hashes(spec *v1alpha1.TimetableSpec) bool {
	return slices.ContainsFunc(spec.Schedules, func(s v1alpha1.Schedule) bool { return strings.ContainsAny(s.Cron, "hH") })
}

// label is the schedule of an object as people are shown it: "0 0 * * * (Europe/Berlin)".
func label(s *workload.Scheduled) string {
	zone := cmp.Or(s.Policy.Timing.ZoneName, "UTC")
	tt := s.Timetable()
	if tt == nil {
		text := s.ScheduleText()
		if s.Policy.Timing.Every != 0 || strings.Contains(text, "TZ") {
			return text
		}
		return text + " (" + zone + ")"
	}
	var texts []string
	for _, item := range tt.Spec.Schedules {
		texts = append(texts, scheduleText(&item))
	}
	text := strings.Join(texts, " | ") + " (" + zone + ")"
	if tt.Spec.Jitter != nil {
		text += " jitter " + string(*tt.Spec.Jitter)
	}
	return text
}

func scheduleText(item *v1alpha1.Schedule) string {
	switch {
	case item.Every != nil:
		return "every " + string(*item.Every)
	case item.Cron == "":
		return "at " + quantity.Count(len(item.At), "moment")
	}
	return item.Cron
}

// cronTexts are the cron expressions of an object.
func cronTexts(s *workload.Scheduled) []string {
	tt := s.Timetable()
	if tt == nil {
		return []string{s.ScheduleText()}
	}
	var texts []string
	for _, item := range tt.Spec.Schedules {
		if item.Cron != "" {
			texts = append(texts, item.Cron)
		}
	}
	return texts
}
