// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
)

// explainTime answers a question about a time.
func (b *builder) explainTime(at At) {
	b.answer.Asked = optional(at.From)
	b.doubled(at)
	if !b.readable() {
		return
	}
	t, ok := b.scheduledIn(at.From, at.Until)
	if !ok && !at.Second.IsZero() {
		t, ok = b.scheduledIn(at.Second, at.Second.Add(at.Until.Sub(at.From)))
	}
	if !ok && !at.First.IsZero() {
		t, ok = b.scheduledIn(at.First, at.First.Add(at.Until.Sub(at.From)))
	}
	if !ok {
		b.explainUnscheduled(at)
		return
	}
	b.answer.ScheduledTime = optional(t)
	b.neighbours(t)
	b.show("schedule", time.Time{}, "%s names %s", b.scheduleText(), b.clock(t))
	switch {
	case t.After(b.Now):
		b.explainToCome(t)
	case b.explainRun(t):
	case b.timetable() != nil:
		b.explainByLedger(t)
	default:
		b.explainNotStarted(t)
	}
}

// readable tells whether the schedule can be read; the answer says so if it cannot.
func (b *builder) readable() bool {
	obstacle := ""
	switch s := b.Scheduled; {
	case s.Unreadable != nil:
		obstacle = s.Unreadable.Error()
	case s.Policy.Timing.Obstacle != nil:
		obstacle = s.Policy.Timing.Obstacle.Message
	case s.Policy.Timing.Times != nil:
		return true
	}
	reason := "InvalidSchedule"
	switch o := b.Scheduled.Policy.Timing.Obstacle; {
	case o == nil:
	case b.timetable() != nil:
		reason = wordOr(o.Key, reason) // in the words of the condition Ready
	case o.Misconfigured == cron.InvalidTimeZone:
		reason = "UnknownTimeZone"
	}
	b.conclude(NotReady, reason, "its schedule names no times")
	b.quote(obstacle)
	b.show("spec", time.Time{}, "%s", b.scheduleText())
	b.next("edit "+b.resource(), "correct the schedule; nothing starts before that")
	return false
}

// doubled tells of a local time that exists twice, or not at all.
func (b *builder) doubled(at At) {
	switch {
	case at.Skipped:
		b.say("Clocks in %s jump over %s on that day: it does not exist.", b.answer.Zone, at.Local)
	case !at.First.IsZero():
		b.say("Clocks in %s show %s twice on that day: at %s and at %s; the later one is meant.", b.answer.Zone, at.Local, b.clock(at.First), b.clock(at.From))
	case !at.Second.IsZero():
		b.say("Clocks in %s show %s twice on that day: at %s and at %s.", b.answer.Zone, at.Local, b.clock(at.From), b.clock(at.Second))
	}
}

// scheduledIn is the first scheduled time in [from, until).
func (e *Evidence) scheduledIn(from, until time.Time) (time.Time, bool) {
	times := e.Scheduled.Policy.Timing.Times
	if e.Scheduled.Policy.Timing.Every != 0 {
		times = nil // each time follows from the one before it: runs tell them, and lastScheduleTime the ones to come
		for i := range e.Runs {
			if t := e.Runs[i].ScheduledTime; !e.Runs[i].ByHand && !t.IsZero() && !t.Before(from) && t.Before(until) {
				return t, true
			}
		}
		if base := e.base(); !base.IsZero() && !until.Before(base) {
			times = e.Scheduled.Policy.Timing.Times
			if t := times.LastBetween(base, until.Add(-time.Nanosecond)); !t.IsZero() && !t.Before(from) {
				return t.UTC(), true
			}
		}
		return time.Time{}, false
	}
	t := times.Next(from.Add(-time.Nanosecond))
	return t.UTC(), !t.IsZero() && t.Before(until)
}

// notBelieved is how far a cursor must be ahead of the clock for controllers not to believe it (timetable.md 5.6).
const notBelieved = 24 * time.Hour

// base is the latest scheduled time that is decided, as far as the status tells; when the object was made otherwise.
func (e *Evidence) base() time.Time {
	m := &e.Scheduled.Memory
	switch {
	case m.Cursor != nil && m.Cursor.Sub(e.Now) > notBelieved:
		return e.Now
	case m.Cursor != nil:
		return *m.Cursor
	case m.LastSchedule != nil:
		return *m.LastSchedule
	}
	return e.Scheduled.Owner.Created
}

// neighbours are the scheduled times beside a time.
func (b *builder) neighbours(t time.Time) {
	b.answer.PreviousTime, b.answer.NextTime = optional(b.previous(t)), optional(b.following(t))
}

// following is the first scheduled time after t, zero if there is none.
func (e *Evidence) following(t time.Time) time.Time {
	times := e.Scheduled.Policy.Timing.Times
	switch base := e.base(); {
	case times == nil:
		return time.Time{}
	case e.Scheduled.Policy.Timing.Every != 0 && t.Before(base):
		return time.Time{} // what ran then is known by runs only
	case e.Scheduled.Policy.Timing.Every != 0:
		if last := times.LastBetween(base, t); !last.IsZero() {
			return times.Next(last)
		}
		return times.Next(base)
	}
	return times.Next(t)
}

// previous is the last scheduled time before t, within about a hundred years; zero if there is none.
func (e *Evidence) previous(t time.Time) time.Time {
	times := e.Scheduled.Policy.Timing.Times
	if times == nil {
		return time.Time{}
	}
	if e.Scheduled.Policy.Timing.Every != 0 {
		if base := e.base(); t.After(base) {
			if last := times.LastBetween(base, t.Add(-time.Nanosecond)); !last.IsZero() {
				return last
			}
			return base
		}
		return time.Time{}
	}
	return times.LastBetween(t.AddDate(-100, 0, 0), t.Add(-time.Nanosecond))
}

// explainToCome is about a scheduled time in the future.
func (b *builder) explainToCome(t time.Time) {
	b.conclude(NotDue, "", "it comes %s", duration.FromNow(t, b.Now))
	if start := b.plannedStart(t); start.After(t) {
		b.say("spec.jitter moves its start to %s.", b.clock(start))
	}
	b.whatKeeps(t)
}

// plannedStart is when a scheduled time is to start.
func (e *Evidence) plannedStart(t time.Time) time.Time {
	if jittered, ok := e.Scheduled.Policy.Timing.Times.(interface{ PlannedStart(time.Time) time.Time }); ok {
		return jittered.PlannedStart(t)
	}
	return t
}

// whatKeeps says what would keep a time to come from starting as things are now.
func (b *builder) whatKeeps(t time.Time) {
	switch s := b.Scheduled; {
	case s.Policy.Suspend:
		b.say("As it is, it will not start: spec.suspend is true.")
		b.suspendedBy()
	case s.Policy.SuspendUntil != nil && t.Before(*s.Policy.SuspendUntil):
		b.say("It will not start: spec.suspendUntil is %s.", b.clock(*s.Policy.SuspendUntil))
		b.show("spec.suspendUntil", time.Time{}, "%s", b.clock(*s.Policy.SuspendUntil))
	case b.blocking() != nil && s.Policy.Room.Limit > 0 && !s.Policy.Room.Stops:
		r := b.blocking()
		b.infer("If %s has not ended by then, it waits: %s.", r.by(), b.overlapRule())
		if r.ByHand && !b.handBlocks() {
			b.infer("%s", handWords)
		}
		b.describe(r)
	}
}

// scheduleText is the schedule as it is written.
func (e *Evidence) scheduleText() string {
	if tt := e.timetable(); tt != nil {
		text := ""
		for _, s := range tt.Spec.Schedules {
			part := ""
			switch {
			case s.Every != nil:
				part = "every " + string(*s.Every)
			case len(s.At) > 0:
				part = fmt.Sprintf("at %s", s.At[0])
				if len(s.At) > 1 {
					part += fmt.Sprintf(" and %d more", len(s.At)-1)
				}
			default:
				part = fmt.Sprintf("cron %q", s.Cron)
			}
			if text != "" {
				text += ", "
			}
			text += part
		}
		return "spec.schedules: " + text + " in " + e.Zone().String()
	}
	text, _ := e.specText("schedule")
	zone, named := e.specText("timeZone")
	if !named {
		return fmt.Sprintf("spec.schedule %q (no timeZone, so in that of its controller: taken as UTC)", text)
	}
	return fmt.Sprintf("spec.schedule %q in %s", text, zone)
}

func (e *Evidence) specText(field string) (string, bool) {
	spec, _ := e.Scheduled.Content.Object["spec"].(map[string]any)
	text, ok := spec[field].(string)
	return text, ok && text != ""
}
