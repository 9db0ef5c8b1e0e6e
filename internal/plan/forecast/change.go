// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"slices"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// ChangeID names what is tried.
type ChangeID string

// What is tried.
const (
	// ChangeHash gives each object that starts at a full hour or in a crowded minute a minute of its own, that of H.
	ChangeHash ChangeID = "hash"
	// ChangeJitter gives them a jitter.
	ChangeJitter ChangeID = "jitter"
	// ChangeMove moves those with one schedule, who make the most of the fullest minute, to another minute.
	ChangeMove ChangeID = "move"
)

// A Change is another set of schedules, and what it would bring.
type Change struct {
	ID ChangeID
	// Objects are how many objects would change, and CronJobs how many of them are no Timetables.
	Objects, CronJobs int
	// Schedule is that of the objects that move, and Minute what their minute becomes; both only for ChangeMove.
	Schedule, Minute string
	// Starts and Running are the peaks after it.
	Starts, Running Peak
	// Edits are the schedules that change, in the order of the names of their objects; none for ChangeJitter.
	Edits []Edit
}

// Helps tells whether the fullest minute has fewer starts with the change than without it.
func (c *Change) Helps(before Summary) bool { return c.Starts.Number < before.Starts.Number }

// An Edit is another schedule for one object.
type Edit struct {
	Object *workload.Scheduled
	// From and To are the text of the schedule before and after it.
	From, To string
}

// changes tries what could be better, and adds each up as the forecast was. The one with the lowest peak goes first; of
// equally good ones that with fewer runs at once, then that which changes fewer objects.
func changes(f *fleet, base *tally, before Summary) []Change {
	if before.Starts.Number < 2 {
		return nil
	}
	t := &trial{fleet: f, base: base, crowded: crowdedMinutes(base.starts, before.Starts.Number)}
	var tried []Change
	for _, try := range []func(Summary) (Change, bool){t.hash, t.jitter, t.move} {
		if c, ok := try(before); ok {
			tried = append(tried, c)
		}
	}
	slices.SortStableFunc(tried, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Starts.Number, b.Starts.Number), cmp.Compare(a.Running.Number, b.Running.Number), cmp.Compare(a.Objects, b.Objects))
	})
	return tried
}

// trial is what all changes begin with.
type trial struct {
	*fleet
	base *tally
	// crowded are the minutes with at least half as many starts as the fullest.
	crowded []bool
}

func crowdedMinutes(starts []int64, peak int64) []bool {
	crowded := make([]bool, len(starts))
	for i, n := range starts {
		crowded[i] = n > 1 && 2*n >= peak
	}
	return crowded
}

// startsCrowded tells whether one of the starts is in a crowded minute.
func (t *trial) startsCrowded(starts []int64) bool {
	return slices.ContainsFunc(starts, func(s int64) bool { return s >= t.base.from && t.crowded[(s-t.base.from)/60] })
}
