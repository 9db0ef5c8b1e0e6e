// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"time"
)

// SameTime tells whether two runs are tries of one scheduled time of one owner, or one and the same run. What was made
// by hand, or by no schedule, has no scheduled time, and is a try of nothing else.
func (r *Run) SameTime(other *Run) bool {
	if r.UID == other.UID && r.UID != "" {
		return true
	}
	return timeOf(r) == timeOf(other) && !r.ScheduledTime.IsZero() && r.Owner.Name != ""
}

// Times groups runs by what they are tries of: a Timetable that tries again what failed makes a run for each try, and
// all of them together are what became of one scheduled time. The groups are in the order in which the first run of
// each comes, the tries of a group in that in which they were made, so that its last one tells how the scheduled time
// ended. The runs are not modified.
func Times(runs []Run) [][]Run {
	var groups [][]Run
	index := map[scheduled]int{}
	for i := range runs {
		r := &runs[i]
		key := timeOf(r)
		if r.ScheduledTime.IsZero() || r.Owner.Name == "" {
			groups = append(groups, []Run{*r})
			continue
		}
		at, known := index[key]
		if !known {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], *r)
	}
	for _, group := range groups {
		slices.SortStableFunc(group, func(a, b Run) int {
			return cmp.Or(cmp.Compare(a.Retry, b.Retry), a.Created.Compare(b.Created))
		})
	}
	return groups
}

// LastTries gives for each run the last try of its scheduled time among them, by the order of Times; for one that is a
// try of nothing else that is itself. The keys and values point into runs.
func LastTries(runs []Run) map[*Run]*Run {
	last := make(map[*Run]*Run, len(runs))
	index := map[scheduled]*Run{}
	key := func(r *Run) (scheduled, bool) { return timeOf(r), !r.ScheduledTime.IsZero() && r.Owner.Name != "" }
	for i := range runs {
		r := &runs[i]
		if k, ok := key(r); !ok {
			last[r] = r
		} else if before := index[k]; before == nil || cmp.Or(cmp.Compare(r.Retry, before.Retry), r.Created.Compare(before.Created)) >= 0 {
			index[k] = r
		}
	}
	for i := range runs {
		if k, ok := key(&runs[i]); ok {
			last[&runs[i]] = index[k]
		}
	}
	return last
}

// LastOfTries gives, in their order, those that are the last try of their scheduled time among runs, as LastTries
// tells. The argument is not modified.
func LastOfTries(runs []Run) []Run {
	last := LastTries(runs)
	chosen := make([]Run, 0, len(runs))
	for i := range runs {
		if r := &runs[i]; last[r] == r {
			chosen = append(chosen, *r)
		}
	}
	return chosen
}

// scheduled is a scheduled time of an owner. An owner that was made anew under its name is another one.
type scheduled struct {
	namespace string
	owner     Owner
	at        time.Time
}

func timeOf(r *Run) scheduled { return scheduled{r.Namespace, r.Owner, r.ScheduledTime.UTC()} }
