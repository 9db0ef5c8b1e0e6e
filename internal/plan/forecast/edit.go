// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// edited is a set of objects with other schedules.
type edited struct {
	change Change
	tally  *tally
	groups map[timesKey]*group
	// parsed are the texts that were read already.
	parsed map[string]times
}

func (t *trial) newEdited(id ChangeID) *edited {
	return &edited{change: Change{ID: id}, tally: t.base.clone(), groups: map[timesKey]*group{}, parsed: map[string]times{}}
}

// done adds up what has changed; false if nothing has.
func (e *edited) done(t *trial) (Change, bool) {
	if e.change.Objects == 0 {
		return Change{}, false
	}
	for _, g := range e.groups {
		if !t.goesOn() {
			return Change{}, false
		}
		e.tally.addGroup(g, 1)
	}
	e.change.Starts, e.change.Running = e.tally.peaks()
	slices.SortStableFunc(e.change.Edits, func(a, b Edit) int { return byName(a.Object, b.Object) })
	return e.change, true
}

// count notes that an object changes.
func (e *edited) count(m *member) {
	e.change.Objects++
	if m.Timetable() == nil {
		e.change.CronJobs++
	}
}

// replace gives those of a group for which minute has another minute that one.
func (t *trial) replace(e *edited, g *group, minute func(m *member, x expression) (string, bool)) {
	left := &group{times: g.times}
	for _, m := range g.members {
		if !t.goesOn() {
			break
		}
		to, edit, ok := t.edit(e, m, minute)
		if !ok {
			continue
		}
		left.members = append(left.members, m)
		e.count(m)
		e.change.Edits = append(e.change.Edits, edit)
		same := e.groups[to.key]
		if same == nil {
			same = &group{times: to}
			e.groups[to.key] = same
		}
		same.members = append(same.members, m)
	}
	if len(left.members) > 0 {
		e.tally.addGroup(left, -1)
	}
}

// edit gives one object another minute; false if it keeps the one that it has.
func (t *trial) edit(e *edited, m *member, minute func(m *member, x expression) (string, bool)) (times, Edit, bool) {
	if m.Timetable() != nil {
		return t.editTimetable(m, minute)
	}
	x, ok := parseExpression(m.Scheduled.ScheduleText())
	if !ok {
		return times{}, Edit{}, false
	}
	to, ok := minute(m, x)
	if !ok || to == x.minute {
		return times{}, Edit{}, false
	}
	edit := Edit{Object: m.Scheduled, From: m.Scheduled.ScheduleText(), To: x.with(to)}
	var zone *string
	if name := m.Policy.Timing.ZoneName; name != "" {
		zone = &name
	}
	key := m.Policy.Timing.ZoneName + " " + edit.To
	known, ok := e.parsed[key]
	if !ok {
		after := *m.Scheduled
		after.Policy.Timing = adapter.CronTiming(edit.To, zone, m.Kind.Info(), adapter.ReadOptions{})
		known = t.timesOf(&after) // it has a minute, so that it neither depends on its past nor on its name
		e.parsed[key] = known
	}
	return known, edit, known.timing.Times != nil
}

// editTimetable gives the cron items of a Timetable another minute.
func (t *trial) editTimetable(m *member, minute func(m *member, x expression) (string, bool)) (times, Edit, bool) {
	items := slices.Clone(m.Timetable().Spec.Schedules)
	var from, to []string
	for i, item := range items {
		x, ok := parseExpression(item.Cron)
		if !ok {
			continue
		}
		if text, ok := minute(m, x); ok && text != x.minute {
			items[i].Cron = x.with(text)
			from, to = append(from, item.Cron), append(to, items[i].Cron)
		}
	}
	if len(to) == 0 {
		return times{}, Edit{}, false
	}
	after, err := m.Edited(func(typed adapter.Object) {
		if tt := timetableOf(typed); tt != nil {
			tt.Spec.Schedules = items
		}
	})
	if err != nil || after.Policy.Timing.Times == nil {
		return times{}, Edit{}, false
	}
	return t.timesOf(after), Edit{Object: m.Scheduled, From: strings.Join(from, " | "), To: strings.Join(to, " | ")}, true
}

func timetableOf(typed adapter.Object) *v1alpha1.Timetable {
	return (&workload.Scheduled{Typed: typed}).Timetable()
}
