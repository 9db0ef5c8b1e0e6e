// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// edit says whether the timing was changed, and what to remember of that.
type edit struct {
	// since: scheduled times up to and including this one belong to an older timing and start nothing.
	since time.Time
	// after: the change was made no earlier than this. Scheduled times of the present timing from here to since may
	// have been meant, and start nothing all the same; they are reported as missed.
	after time.Time
	// fresh: this sync is the first to see the change. before is what was served until then, if that is known.
	fresh  bool
	before *ServedTiming
	// now is the present timing, with the misses that were reported before; stored is the one that the object remembers.
	now    ServedTiming
	stored ServedTiming
}

// maxLead is how far a remembered edit may lie in the future and still be believed: a clock that was set back has
// such an edit, and so has garbage, which must not silence a CronJob for ever.
const maxLead = 24 * time.Hour

// noticeEdit compares the timing with the one that was served before: in this process (Input.Carried), or as the object
// remembers it. Nobody who edits a schedule means a time that has already passed (cronjob.md B2, users of
// kubernetes#63371), so times up to the edit start nothing.
//
// When the edit was made: one that is seen while this process runs was made now. One that is found after a restart is
// dated by managed fields, if they can tell. They are true to the second where a manager set the value that is there:
// its entry moves forward with every change that it makes. But the entry of a manager that gives up the only field it
// owned vanishes, and what is left tells of earlier changes only. So the date must be later than anything that was
// recorded under the former schedule, and a time zone that is gone has none; then the edit was made now, too. What may
// be passed over by that is reported (edit.after).
//
// Without any memory, a CronJob whose spec was changed at some time may have had another schedule. Then a
// lastScheduleTime at which today's schedule does not fire proves it; failing that, whatever managed fields say about
// the last change counts as one, as a precaution. That is so once in the life of a CronJob: the first record of its
// status has the schedule.
func noticeEdit(in *Input) edit {
	now, before := servedFrom(in.Policy.Timing), in.Carried.Timing
	carried := before.known()
	e := edit{stored: in.Stored.Timing}
	for _, t := range []ServedTiming{e.stored, before} {
		if t.Since != nil && t.Since.After(e.since) && t.Since.Sub(in.Now) <= maxLead {
			e.since = *t.Since
		}
		if t.Missed != nil && (now.Missed == nil || t.Missed.After(*now.Missed)) {
			now.Missed = t.Missed
		}
	}
	recorded := maxTime(baseOf(in, &in.Stored), e.since) // the former timing was in force until then at least
	if !carried {
		before = e.stored
	}
	unchangedSince := in.Owner.ScheduleUnchangedSince
	if unchangedSince.After(in.Now) { // by a clock that has been set back since, or that is ahead of ours
		unchangedSince = in.Now
	}
	known := carried || e.stored.known()
	switch {
	case known && before.same(&now):
		now.Presumed = before.Presumed
	case carried:
		e.fresh, e.before = true, new(before)
		e.since = maxTime(e.since, in.Now)
		e.after = e.since
		if unchangedSince.Unix() > in.Carried.scheduleUnchangedSince && unchangedSince.Before(e.since) {
			e.after = unchangedSince
		}
	case known, in.Owner.Generation > 1 && offSchedule(in):
		e.fresh = true
		zoneGone := known && before.ZoneName != "" && now.ZoneName == ""
		if known {
			e.before = new(before)
		}
		if unchangedSince.After(recorded) && !zoneGone {
			e.since = maxTime(e.since, unchangedSince)
			e.after = e.since
		} else {
			e.since = maxTime(e.since, in.Now)
			e.after = recorded
		}
	case in.Owner.Generation > 1 && !unchangedSince.IsZero():
		now.Presumed = true
		e.since, e.after = unchangedSince, recorded
	}
	if !e.since.IsZero() {
		since := e.since.UTC()
		now.Since = &since
	}
	e.now = now
	return e
}

// needsWrite tells whether t has to be written for its own sake: it tells of an edit, or of misses that nothing else
// tells of. Otherwise writing it is worth it only with a write that is made anyway.
func (e *edit) needsWrite(t *ServedTiming) bool {
	if t.equal(&e.stored) {
		return false
	}
	if t.Missed != nil && (e.stored.Missed == nil || t.Missed.After(*e.stored.Missed)) {
		return true
	}
	return t.Since != nil && !t.Presumed && (!t.same(&e.stored) || !sameTime(t.Since, e.stored.Since))
}

// offSchedule tells whether lastScheduleTime is no scheduled time of the present timing. It says no when it cannot
// know: nothing recorded, a timing that has an obstacle, or one without a grid of its own.
func offSchedule(in *Input) bool {
	last, timing := in.Stored.LastSchedule, in.Policy.Timing
	if last == nil || last.IsZero() || timing.Times == nil || timing.Every != 0 {
		return false
	}
	return !timing.Times.LastBetween(last.Add(-time.Second), *last).Equal(*last)
}
