// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// pick chooses, of the runs that a watch sees, the one that somebody waits for, and knows how it is.
//
// For a Job it is the one that is there. For a schedule it is the run that is active when the watch begins, the newest
// if there are several, or else the next one; with next it is the next one in any case; with at, that of a scheduled
// time. What was created since the command began is a next one, even if it has ended when the watch begins. All tries
// of one scheduled time are one run: it is active until the last of them has ended, and none of them is a next one of
// another.
type pick struct {
	job   bool
	next  bool
	at    *diagnosis.At
	since time.Time
	// begun are the scheduled times that a Timetable had begun and not decided when the command began.
	begun []time.Time

	old    map[types.UID]bool // what was there before, and is not meant
	synced bool
	chosen *run.Run
	// gone: the object was deleted; last: the chosen run is as it was then.
	gone, last bool
}

func newPick(of *subject, since time.Time) *pick {
	p := &pick{since: since.Truncate(time.Second), old: map[types.UID]bool{}} // times of the API have whole seconds
	if tt := of.timetable(); tt != nil {
		for i := range tt.Status.Active {
			p.begun = append(p.begun, tt.Status.Active[i].ScheduledTime.Time)
		}
	}
	return p
}

// see takes in a sighting of a run. Its result tells whether it is of the chosen run.
func (p *pick) see(s sighting) bool {
	if s.synced {
		p.synced = true
		return false
	}
	r := s.run
	switch {
	case r == nil:
		return false
	case p.chosen != nil && r.UID == p.chosen.UID:
	case p.old[r.UID], p.chosen != nil && !p.better(r, s):
		p.old[r.UID] = true
		return false
	case p.chosen == nil && !p.fits(r, s):
		p.old[r.UID] = true
		if p.next && !r.ScheduledTime.IsZero() {
			p.begun = append(p.begun, r.ScheduledTime) // what tries it again is no next one
		}
		return false
	}
	if p.chosen != nil && p.chosen.UID != r.UID {
		p.old[p.chosen.UID] = true
		p.gone, p.last = false, false
	}
	if p.chosen != nil && p.chosen.UID == r.UID && p.chosen.Outcome.Ended() && !r.Outcome.Ended() {
		return false // an older state of it
	}
	known := *r
	p.chosen = &known
	if s.gone {
		p.gone, p.last = true, s.last
	}
	return true
}

// fits tells whether a run that is seen for the first time is one to wait for.
func (p *pick) fits(r *run.Run, s sighting) bool {
	switch {
	case p.job:
		return true
	case p.at != nil:
		return p.at.Contains(r.ScheduledTime)
	case p.next && p.hasBegun(r.ScheduledTime):
		return false
	case !s.initial, !r.Created.Before(p.since):
		return true
	}
	return !p.next && (!r.Outcome.Ended() || r.Outcome == run.Failed && p.hasBegun(r.ScheduledTime))
}

// hasBegun tells whether a scheduled time had begun, and was not decided, before what is waited for.
func (p *pick) hasBegun(scheduled time.Time) bool {
	return slices.ContainsFunc(p.begun, scheduled.Equal)
}

// better tells whether a run takes the place of the one that was chosen: the one that tries the same scheduled time
// again, or, of what is there at first, the newest that is active.
func (p *pick) better(r *run.Run, s sighting) bool {
	if p.job || !p.fits(r, s) {
		return false
	}
	newer := cmp.Or(cmp.Compare(r.Retry, p.chosen.Retry), r.Created.Compare(p.chosen.Created)) > 0
	if p.at != nil || !r.ScheduledTime.IsZero() && r.ScheduledTime.Equal(p.chosen.ScheduledTime) {
		return newer
	}
	return s.initial && !p.synced && (p.chosen.Outcome.Ended() && !r.Outcome.Ended() || p.chosen.Outcome.Ended() == r.Outcome.Ended() && newer)
}

// ended tells whether the chosen run has ended as far as was seen.
func (p *pick) ended() bool { return p.chosen != nil && p.chosen.Outcome.Ended() }
