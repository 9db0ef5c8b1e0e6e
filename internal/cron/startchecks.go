// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// readiness says whether the CronJob may start anything at all, and by which times.
type readiness struct {
	// mayStart: nothing keeps it from starting; times is set.
	mayStart bool
	times    Times
	events   []Event
	// notReady: an obstacle keeps scheduled times from starting.
	notReady bool
	// makesNoChild: an obstacle keeps the attempts of runs that have begun from starting too, whatever obstacle tells.
	makesNoChild bool
	// obstacle is what keeps it from starting, or is wrong without doing that; nil if nothing is that was looked at.
	obstacle *Obstacle
}

// checkStart looks for obstacles in the kind's order (cronjob.md 2.5 "order of checks"); the first one ends the
// search. A CronJob that is being deleted starts nothing in any kind (K10, V3, Q9).
func checkStart(in *Input, e *edit) readiness {
	var r readiness
	if in.Owner.Deleting {
		return r
	}
	timing, ofTemplate := in.Policy.Timing, in.templateCheck().obstacle(in)
	for _, o := range []*Obstacle{in.Policy.ChildObstacle, timing.Obstacle, in.ChildObstacle, ofTemplate} {
		r.makesNoChild = r.makesNoChild || o != nil && o.Check == CheckChildKind
	}
	harmless := ofTemplate
	if o := in.ChildObstacle; o != nil && o.Check == 0 {
		harmless = o
	}
	for _, check := range in.Traits.StartChecks {
		switch check {
		case CheckNotSuspended:
			if in.Policy.Suspend {
				return r.with(in, e, harmless)
			}
		case CheckScheduleFires:
			for _, remark := range timing.Remarks {
				r.events = append(r.events, remark.event(in))
			}
		}
		o := timing.Obstacle
		if o == nil || o.Check != check {
			o = in.ChildObstacle
		}
		if o == nil || o.Check != check {
			o = ofTemplate
		}
		if o != nil && o.Check == check {
			r.obstacle, r.notReady = o, true
			r.events = append(r.events, o.event(in, e.fresh))
			return r
		}
	}
	r.mayStart, r.times = timing.Times != nil, timing.Times
	return r.with(in, e, harmless)
}

// with adds an obstacle that keeps nothing from starting; nil is none.
func (r readiness) with(in *Input, e *edit, o *Obstacle) readiness {
	if o != nil && o.Check == 0 {
		r.obstacle = o
		r.events = append(r.events, o.event(in, e.fresh))
	}
	return r
}

// misconfigured is the obstacle in one word, "" if there is none.
func (r readiness) misconfigured() Misconfiguration {
	if r.obstacle == nil {
		return ""
	}
	return r.obstacle.Misconfigured
}

// err is why the sync fails, nil if there is no obstacle or it waits for an edit.
func (r readiness) err() error {
	if r.obstacle == nil {
		return nil
	}
	return r.obstacle.Err
}

// stamp writes a scheduled time as the child's annotation has it.
func stamp(in *Input, t time.Time) string {
	zone := in.Policy.Timing.Zone
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(time.RFC3339)
}
