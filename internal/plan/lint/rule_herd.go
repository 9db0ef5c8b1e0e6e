// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// herdSize is from how many starts in one minute on they are told.
	herdSize = 5
	// herdOften is how many starts a day those have at most that are counted: what runs all the time meets everybody.
	herdOften = 24
)

var herd = &Rule{
	ID: "herd", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "many objects start in the same minute",
	Reason:  "All at once they wait for nodes, images and the database behind them, and are slow or fail together, while the minutes around are idle. Midnight and full hours are everybody's.",
	Cure:    `Give each another minute, or write a Timetable with H ("H 2 * * *") or jitter, which spreads them; carillon forecast shows the day.`,
	checkAll: func(all *subjects) []problemOf {
		minutes := map[time.Time][]*Subject{}
		for _, s := range all.subjects {
			for minute := range s.herdMinutes(all.now) {
				minutes[minute] = append(minutes[minute], s)
			}
		}
		// The largest first; who has been named is not named again for another minute.
		order := slices.SortedFunc(maps.Keys(minutes), func(a, b time.Time) int {
			return cmp.Or(cmp.Compare(len(minutes[b]), len(minutes[a])), a.Compare(b))
		})
		named := map[*Subject]bool{}
		var found []problemOf
		for _, minute := range order {
			var fresh []*Subject
			for _, s := range minutes[minute] {
				if !named[s] {
					fresh = append(fresh, s)
				}
			}
			if len(minutes[minute]) < herdSize || len(fresh) < herdSize {
				continue
			}
			var names []string
			for _, s := range fresh[1:] {
				names = append(names, s.Content.GetName())
			}
			for _, s := range fresh {
				named[s] = true
			}
			found = append(found, problemOf{fresh[0], problem{path: fresh[0].schedulePath(), message: fmt.Sprintf("%d objects start at %s UTC: this one, %s",
				len(fresh), minute.UTC().Format("15:04"), listWords(names, 6))}})
		}
		return found
	},
}

// herdMinutes are the minutes of the next 24 hours in which the object starts, without those of somebody who has
// decided that it may be one of many.
func (s *Subject) herdMinutes(now time.Time) map[time.Time]bool {
	if s.scheduled == nil || s.scheduled.Policy.Timing.Times == nil || s.scheduled.Policy.Suspend || s.spread() {
		return nil
	}
	if s.suppressed("herd", s.schedulePath()) {
		return nil
	}
	times, until := s.scheduled.Policy.Timing.Times, now.Add(24*time.Hour)
	if times.Count(now, until) > herdOften {
		return nil
	}
	minutes := map[time.Time]bool{}
	for t := times.Next(now); !t.IsZero() && !t.After(until); t = times.Next(t) {
		minutes[t.UTC().Truncate(time.Minute)] = true
	}
	return minutes
}

// spread tells whether a Timetable moves its starts.
func (s *Subject) spread() bool { return s.timetable != nil && s.timetable.Spec.Jitter != nil }

// schedulePath is where the schedule stands.
func (s *Subject) schedulePath() Path {
	if s.timetable != nil {
		return at("spec", "schedules")
	}
	return at("spec", "schedule")
}
