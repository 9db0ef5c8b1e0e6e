// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// inTheWay are the runs that are active: all children that are unfinished, and those that this sync starts. Some kinds
// leave aside what somebody started by hand (manual.go).
func (s *syncState) inTheWay() []Child {
	active := unfinished(s.in, s.children, &s.status)
	switch {
	case !s.in.Traits.ManualAside:
		return active
	case s.in.replaces():
		return scheduledRuns(s.in, active)
	default:
		return forbidding(s.in, active)
	}
}

// room is for how many more runs there is room, below zero if there are too many already.
func (s *syncState) room() int {
	if s.in.Policy.Room.Limit == 0 {
		return math.MaxInt
	}
	return s.in.Policy.Room.Limit - len(s.inTheWay())
}

// thereIsNoRoom: as many children are unfinished as may be (cronjob.md K20, B1; timetable.md 3.6).
func thereIsNoRoom(s *syncState, t dueTime) *startDecision {
	if !s.in.forbids() || s.room() > 0 {
		return nil
	}
	return &startDecision{result: startForbidden, events: []Event{forbidden(s.in, s.inTheWay(), t.time)}}
}

// toStop tells how many runs have to end so that there is room for one more, which are on their way out already, and
// which may be stopped for it, the oldest first.
func (s *syncState) toStop() (needed int, going, stoppable []Child) {
	in := s.in
	needed = 1 - s.room()
	for _, c := range s.inTheWay() {
		switch tried, err := in.stopped(c); {
		case c.Deleting, tried && err == nil:
			going = append(going, c)
		case !manual(in, c):
			stoppable = append(stoppable, c)
		}
	}
	slices.SortFunc(stoppable, func(a, b Child) int { return cmp.Or(a.Created.Compare(b.Created), byName(a, b)) })
	return needed, going, stoppable
}

// endWaitingRuns ends the runs that are to be stopped for a time which is due and that wait for their next attempt:
// there is nothing that has to be gone first.
func (s *syncState) endWaitingRuns() {
	if room := s.in.Policy.Room; !room.Stops || room.StartsBesideStopped || len(s.due) == 0 {
		return
	}
	needed, going, stoppable := s.toStop()
	if needed -= len(going); needed > len(stoppable) {
		return
	}
	for _, c := range stoppable[:max(0, needed)] {
		s.endBetweenAttempts(c)
	}
}

// roomIsBeingMade: runs that the schedule started are stopped, the oldest first, as many as have to be and only if that
// makes room; the time waits until they are gone (timetable.md 3.6).
func roomIsBeingMade(s *syncState, t dueTime) *startDecision {
	in := s.in
	if !in.replaces() || in.Policy.Room.StartsBesideStopped || s.room() > 0 {
		return nil
	}
	needed, going, stoppable := s.toStop()
	if len(going)+len(stoppable) < needed {
		return &startDecision{result: startForbidden, events: []Event{forbidden(in, s.inTheWay(), t.time)}}
	}
	d := startDecision{result: startStopping}
	for _, c := range stoppable[:max(0, needed-len(going))] {
		if tried, err := in.stopped(c); tried {
			d.events = append(d.events, failedDelete(in, c, err))
			d.err = errors.Join(d.err, fmt.Errorf("deleting %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
			continue
		}
		d.stop = append(d.stop, in.deletion(c, RunReplaced, "replaced by "+t.child))
		d.stopping = append(d.stopping, c.UID)
	}
	for _, c := range going {
		if tried, _ := in.stopped(c); tried {
			d.events = append(d.events, deleted(in, c))
		}
		d.stopping = append(d.stopping, c.UID) // also one that an earlier sync stopped and could not record
	}
	return &d
}

// policyReplaces: every unfinished child that the schedule started is stopped, and then the due time starts (cronjob.md
// K21). Nothing starts if one of them cannot be stopped.
func policyReplaces(s *syncState, t dueTime) *startDecision {
	in, due := s.in, t.time
	if !in.replaces() || !in.Policy.Room.StartsBesideStopped {
		return nil
	}
	blockers := s.inTheWay()
	if len(blockers) == 0 {
		return nil
	}
	d := startDecision{result: startFailed, events: []Event{replacing(in, blockers, due)}}
	for _, c := range blockers {
		if tried, _ := in.stopped(c); tried || !in.Traits.ReadBeforeStop {
			continue
		}
		if read, asked := in.readAnswer(c.Name); !asked {
			d.reads = append(d.reads, in.requestChild(c.Name, "about to be replaced"))
		} else if err := read.notThere(c); err != nil {
			d.events = append(d.events, failedGet(in, c, due, err))
			d.err = errors.Join(d.err, fmt.Errorf("reading %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
		}
	}
	if d.reads != nil || d.err != nil {
		return &d
	}
	for _, c := range blockers {
		tried, err := in.stopped(c)
		if err != nil {
			d.events = append(d.events, failedDelete(in, c, err))
			d.err = errors.Join(d.err, fmt.Errorf("deleting %s %s, which is to be replaced: %w", in.Traits.ChildKind, c.Name, err))
			continue
		}
		if !tried {
			d.stop = append(d.stop, in.deletion(c, RunReplaced, "replaced by "+t.child))
		}
		d.events = append(d.events, deleted(in, c))
		d.removed = append(d.removed, c.UID)
	}
	if d.err != nil {
		return &d
	}
	return s.asksFor(t, &d)
}

// notThere is why a child that is to be replaced cannot be trusted to be there, nil if it can.
func (r readResult) notThere(c Child) error {
	switch {
	case r.err != nil:
		return r.err
	case r.child == nil:
		return errors.New("it is gone")
	case r.child.UID != c.UID:
		return fmt.Errorf("it is gone, and another one with UID %s has its name", r.child.UID)
	}
	return nil
}

func (in *Input) forbids() bool { return in.Policy.Room.Limit > 0 && !in.Policy.Room.Stops }

func (in *Input) replaces() bool { return in.Policy.Room.Stops }
