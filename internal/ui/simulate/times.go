// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/upcoming"
)

// nextTime is a time that comes, or one that one would expect and that does not.
type nextTime struct {
	At time.Time
	// Here is what the clock of the schedule shows, There that of the viewer.
	Here, There string
	// Note says what is special about it; "" if nothing is.
	Note string
	// Omitted: nothing starts.
	Omitted bool
}

// mostOmitted is how many times that do not come are listed.
const mostOmitted = 10

// clock writes a time with its day.
const clock = "Mon 2 Jan 2006 15:04"

func clockOf(t time.Time) string {
	if t.Second() != 0 {
		return t.Format(clock + ":05")
	}
	return t.Format(clock)
}

// times puts the next times and what is missing among them in order.
func (o *outcome) times(l *upcoming.List, now time.Time, viewer *time.Location) {
	for i := range l.Times {
		t := &l.Times[i]
		one := nextTime{At: t.At, Here: clockOf(t.At), There: clockOf(t.At.In(viewer)), Note: noteOf(t)}
		o.Beside = o.Beside || one.Here != one.There
		o.Next = append(o.Next, one)
	}
	until := now
	if len(l.Times) > 0 {
		until = l.Times[len(l.Times)-1].At
	}
	for i := range l.Omissions[:min(len(l.Omissions), mostOmitted)] {
		m := &l.Omissions[i]
		if l.End == "" && m.At.After(until) {
			continue
		}
		o.Next = append(o.Next, omitted(m))
	}
	slices.SortStableFunc(o.Next, func(a, b nextTime) int { return a.At.Compare(b.At) })
	switch l.End {
	case "":
	case upcoming.NothingReads:
		o.End = "It has no times."
	case upcoming.WindowEnds:
		o.End = "The window ends; later times do not count."
	case upcoming.AllExcluded:
		o.End = "All later times are excluded, as far as one looks."
	default:
		o.End = "There are no more times."
	}
}

// noteOf says what is special about a time.
func noteOf(t *upcoming.Time) string {
	var notes []string
	if len(t.Names) > 0 {
		notes = append(notes, strings.Join(t.Names, ", "))
	}
	if s := t.ShiftedFrom; s != nil {
		notes = append(notes, "moved, because the clock skips "+s.First.Format("15:04"))
	}
	switch {
	case t.Twice == upcoming.First && t.OtherOmitted, t.Twice == upcoming.Second && t.OtherOmitted:
		notes = append(notes, "the clock shows this twice, and it runs once")
	case t.Twice != "":
		notes = append(notes, "the clock shows this twice: "+strings.ToLower(string(t.Twice)))
	}
	if !t.PlannedStart.IsZero() {
		notes = append(notes, "jitter puts its start off to "+t.PlannedStart.Format("15:04:05"))
	}
	return strings.Join(notes, "; ")
}

// omitted says what does not come, and why.
func omitted(m *upcoming.Omission) nextTime {
	one := nextTime{At: m.At, Here: clockOf(m.First), Omitted: true}
	if m.Count > 1 {
		one.Here = quantity.Count(m.Count, "time") + " until " + clockOf(m.Last)
	}
	switch m.Reason {
	case upcoming.Gap:
		one.Note = "does not come: the clock skips it"
	default:
		one.Note = "left out"
		if len(m.By) > 0 {
			by := m.By[0]
			one.Note += ": " + cmp.Or(by.Name, by.Period)
			if by.Calendar != "" {
				one.Note += " in the Calendar " + by.Calendar
			}
		}
	}
	return one
}
