// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"
)

// Every scheduled time that should have started and did not is reported on the CronJob, once: by the sync that knows it
// for good, in one event for all that were missed for the same reason. While misses go on, because nothing can be
// created or because the deadline is too short, they are collected: the first is reported at once, and then once in
// RepeatInterval, and when something starts again.
//
// What was reported is remembered with the timing that was served (ServedTiming.Missed), unless a later
// lastScheduleTime says as much, so that another process does not report it again. The events are published after that
// write. A crash between the two loses an event; a write that fails is repeated, and a crash before it succeeds reports
// twice.

// passed are scheduled times that have gone by.
type passed struct {
	count       int
	first, last time.Time
}

// and is both; they have no time in common.
func (p passed) and(q passed) passed {
	switch {
	case p.count == 0:
		return q
	case q.count == 0:
		return p
	}
	p.count += q.count
	if q.first.Before(p.first) {
		p.first = q.first
	}
	p.last = maxTime(p.last, q.last)
	return p
}

// missed are scheduled times that did not start for one reason.
type missed struct {
	reason Reason
	passed
	// waitedFor is what it waited for, "" if it did not wait.
	waitedFor Reason
}

// passedIn gives the scheduled times in (after, until], except for those in started.
func passedIn(times Times, after, until time.Time, started []time.Time) passed {
	isStarted := func(t time.Time) bool { return slices.ContainsFunc(started, t.Equal) }
	p := passed{count: times.Count(after, until)}
	for _, t := range started {
		if t.After(after) && !t.After(until) && times.LastBetween(after, t).Equal(t) {
			p.count--
		}
	}
	if p.count <= 0 {
		return passed{}
	}
	for p.first = times.Next(after); isStarted(p.first); p.first = times.Next(p.first) {
	}
	for p.last = times.LastBetween(after, until); isStarted(p.last); p.last = times.LastBetween(after, p.last.Add(-time.Nanosecond)) {
	}
	p.first, p.last = p.first.UTC(), p.last.UTC()
	return p
}

// maxWalk is how many scheduled times are gone through one by one.
const maxWalk = 1000

// passedByEdit gives what an edit has passed over until it: times of the former timing (nil: unknown) later than from,
// up to which all of its times have been accounted for, and times of the present one that may have been meant, which
// are those later than after. Those in started are not among them. Those that both have count once, under the former
// one; where they are very many, they may count twice.
func passedByEdit(former, present Times, from, after, until time.Time, started []time.Time) passed {
	p := passedIn(orNone(former), from, until, started)
	if former == nil {
		after = maxTime(from, after)
	}
	q := passedIn(present, after, until, nil)
	if q.count > maxWalk {
		return p.and(q)
	}
	var own passed
	for t := present.Next(after); !t.IsZero() && !t.After(until); t = present.Next(t) {
		if !orNone(former).LastBetween(t.Add(-time.Second), t).Equal(t) && !slices.ContainsFunc(started, t.Equal) {
			own = own.and(one(t.UTC()))
		}
	}
	return p.and(own)
}

// miss collects what was missed.
func (o *outcomes) miss(reason Reason, p passed) {
	if p.count == 0 {
		return
	}
	if i := slices.IndexFunc(o.unreported, func(m missed) bool { return m.reason == reason }); i >= 0 {
		o.unreported = slices.Clone(o.unreported)
		o.unreported[i].passed = o.unreported[i].and(p)
		return
	}
	o.unreported = append(slices.Clip(o.unreported), missed{reason: reason, passed: p})
}

// missesUnconfirmed tells whether something that seems to be missed may have started all the same: the answer to its
// create got lost, and nothing could be read since. The sync is repeated.
func (s *syncState) missesUnconfirmed() bool {
	return s.start.err != nil && len(s.in.stillUnconfirmed()) > 0 &&
		slices.ContainsFunc(s.outcomes.unreported, func(m missed) bool { return m.reason == NotStartedFailed })
}

// reportMissed decides whether what was missed is reported now. over: misses do not go on. What has a child by now is
// not: its create had succeeded after all, or its deadline was raised.
func (o *outcomes) reportMissed(in *Input, all []Child, times Times, due time.Time, over bool) {
	if len(o.unreported) == 0 {
		return
	}
	now := in.Now
	if at := o.reportedAt; !over && at != nil && recently(*at, now) {
		o.wake = at.Add(RepeatInterval)
		return
	}
	for _, m := range o.unreported {
		o.missedUpto = maxTime(o.missedUpto, m.last)
		before := m.first.Add(-time.Nanosecond)
		var started []time.Time
		if m.reason == NotStartedFailed || m.reason == NotStartedDeadline { // the others do not count what has started
			started = provedBetween(in, all, before, m.last)
		}
		if over && due.After(before) && !due.After(m.last) && !slices.ContainsFunc(started, due.Equal) {
			started = append(started, due)
		}
		if m.count -= len(started); m.count > 0 {
			if slices.ContainsFunc(started, m.last.Equal) {
				m.last = maxTime(m.first, times.LastBetween(before, m.last.Add(-time.Nanosecond)).UTC())
			}
			o.reported = append(o.reported, m)
		}
	}
	o.unreported = nil
	if len(o.reported) > 0 {
		o.reportedAt = &now
	}
}

// provedBetween are the scheduled times in (after, until] that children prove, each once.
func provedBetween(in *Input, all []Child, after, until time.Time) []time.Time {
	var proved []time.Time
	for _, c := range all {
		if t, ok := proof(in, c); ok && t.After(after) && !t.After(until) && !slices.ContainsFunc(proved, t.Equal) {
			proved = append(proved, t)
		}
	}
	return proved
}
