// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history says what the runs of a schedule tell together: how many there were and how they ended, how long they
// took and whether that changes, and what did not run.
//
//   - history.go   the runs of one object with what was omitted between them, and their summary
//   - summary.go   the numbers
//   - quantile.go  medians and the like
//   - trend.go     whether runs take longer and longer
//   - overview.go  many objects, a line for each
//   - period.go    the spans of time that people ask about
//   - document.go  the same for programs
package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// History is what is known of one object.
type History struct {
	// Entries are its runs and what was omitted between them, newest first.
	Entries []Entry
	Summary Summary
}

// Entry is a run, or one scheduled time or several for which nothing was started.
type Entry struct {
	// Run is nil for an omission, and Omission for a run.
	Run      *run.Run
	Omission *run.Omission
	// Before tells that this entry and what follows are of an earlier object of the same name: it was deleted, and made
	// anew since.
	Before bool
}

// Time is by what entries are ordered: a run's time, an omission's first scheduled time.
func (e *Entry) Time() time.Time {
	if e.Run != nil {
		return e.Run.Time()
	}
	return e.Omission.ScheduledTime
}

func (e *Entry) owner() run.Owner {
	if e.Run != nil {
		return e.Run.Owner
	}
	return e.Omission.Owner
}

// Of puts together what is known of one object. The slices are not modified; the entries refer to them.
func Of(runs []run.Run, omissions []run.Omission, now time.Time) History {
	return History{Entries: entriesOf(runs, omissions), Summary: Summarize(runs, omissions, now)}
}

func entriesOf(runs []run.Run, omissions []run.Omission) []Entry {
	entries := make([]Entry, 0, len(runs)+len(omissions))
	for i := range runs {
		entries = append(entries, Entry{Run: &runs[i]})
	}
	for i := range omissions {
		entries = append(entries, Entry{Omission: &omissions[i]})
	}
	slices.SortStableFunc(entries, newestFirst)
	markObjects(entries)
	return entries
}

// newestFirst orders entries, and of one scheduled time the last attempt comes first.
func newestFirst(a, b Entry) int {
	order := b.Time().Compare(a.Time())
	if order != 0 || a.Run == nil || b.Run == nil {
		return order
	}
	return cmp.Or(b.Run.Created.Compare(a.Run.Created), cmp.Compare(b.Run.Retry, a.Run.Retry), strings.Compare(b.Run.Name, a.Run.Name))
}

// markObjects marks where an earlier object of the same name begins. An omission that does not tell of which object it
// is belongs to that of its neighbour.
func markObjects(entries []Entry) {
	var newer run.Owner
	for i := range entries {
		owner := entries[i].owner()
		if owner.UID == "" {
			continue
		}
		entries[i].Before = newer.UID != "" && newer.UID != owner.UID && newer.APIVersion == owner.APIVersion
		newer = owner
	}
}
