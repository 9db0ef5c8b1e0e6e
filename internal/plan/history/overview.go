// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Subject is an object that has a history: a CronJob, a Timetable, or a Job that no schedule made.
type Subject struct {
	Namespace, Kind, Name string
}

// Line is what an overview says of one object.
type Line struct {
	Subject
	Summary Summary
	// Newest is the newest run, nil if there are omissions only.
	Newest *run.Run
}

// subjectOf is the object whose history a run belongs to.
func subjectOf(r *run.Run) Subject {
	if r.Owner.Name == "" {
		return Subject{r.Namespace, r.Kind, r.Name}
	}
	return Subject{r.Namespace, r.Owner.Kind, r.Owner.Name}
}

// Overview sums up the runs of many objects, in order of namespace, kind and name; Jobs of their own come last, newest
// first. Nothing is modified; the lines refer to the runs.
func Overview(runs []run.Run, omissions []run.Omission, now time.Time) []Line {
	type collected struct {
		runs      []run.Run
		omissions []run.Omission
	}
	all := map[Subject]*collected{}
	of := func(s Subject) *collected {
		if all[s] == nil {
			all[s] = &collected{}
		}
		return all[s]
	}
	for i := range runs {
		c := of(subjectOf(&runs[i]))
		c.runs = append(c.runs, runs[i])
	}
	for i := range omissions {
		o := &omissions[i]
		c := of(Subject{o.Namespace, o.Owner.Kind, o.Owner.Name})
		c.omissions = append(c.omissions, *o)
	}
	lines := make([]Line, 0, len(all))
	for subject, c := range all {
		line := Line{Subject: subject, Summary: Summarize(c.runs, c.omissions, now)}
		for i := range c.runs {
			if r := &c.runs[i]; line.Newest == nil || newestFirst(Entry{Run: r}, Entry{Run: line.Newest}) < 0 {
				line.Newest = r
			}
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b Line) int {
		if a.alone() != b.alone() {
			return cmp.Compare(rank(a.alone()), rank(b.alone()))
		}
		if a.alone() && b.alone() {
			if order := b.Newest.Time().Compare(a.Newest.Time()); order != 0 {
				return order
			}
		}
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return lines
}

// alone tells whether no schedule stands behind it.
func (l *Line) alone() bool { return l.Newest != nil && l.Newest.Owner.Name == "" }

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}
