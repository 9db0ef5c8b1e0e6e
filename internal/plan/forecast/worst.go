// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A WorstMinute is one of the fullest minutes.
type WorstMinute struct {
	At time.Time
	// Starts are all that are planned for this minute, and Running the most runs that are active at once in it.
	Starts, Running int64
	// By are those who make it, by schedule, those with the most starts first.
	By []Maker
}

// A Maker are objects with one schedule that start in one minute.
type Maker struct {
	// Schedule is their schedule: "0 0 * * * (Europe/Berlin)".
	Schedule string
	// Objects are how many they are, and Starts how many starts they have in that minute.
	Objects int
	Starts  int64
	// Names are those of all of them, as namespace/name, sorted.
	Names []string
}

// worst gives the fullest minutes, none without a start. Of equally full ones the earlier goes first.
func worst(f *fleet, made *Forecast, top int) []WorstMinute {
	var found []WorstMinute
	for n, starts := range made.Starts {
		if starts > 0 {
			found = append(found, WorstMinute{At: made.minute(n), Starts: starts, Running: made.Running[n]})
		}
	}
	slices.SortStableFunc(found, func(a, b WorstMinute) int { return cmp.Compare(b.Starts, a.Starts) })
	found = slices.Clip(found[:min(len(found), top)])
	for i := range found {
		found[i].By = f.makers(found[i].At)
	}
	return found
}

// makers tells who starts in the minute that begins then.
func (f *fleet) makers(at time.Time) []Maker {
	by := map[string]*Maker{}
	for _, g := range f.groups {
		if !f.goesOn() {
			break
		}
		if g.idle {
			continue
		}
		starts := int64(len(g.times.between(at.Unix(), at.Unix()+60)))
		if starts == 0 {
			continue
		}
		for _, m := range g.members {
			maker := by[m.label]
			if maker == nil {
				maker = &Maker{Schedule: m.label}
				by[m.label] = maker
			}
			maker.Objects++
			maker.Starts += starts
			maker.Names = append(maker.Names, m.name())
		}
	}
	var makers []Maker
	for _, maker := range by {
		slices.Sort(maker.Names)
		makers = append(makers, *maker)
	}
	slices.SortFunc(makers, func(a, b Maker) int {
		return cmp.Or(cmp.Compare(b.Starts, a.Starts), strings.Compare(a.Schedule, b.Schedule))
	})
	return makers
}
