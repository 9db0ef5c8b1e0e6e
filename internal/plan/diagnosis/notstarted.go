// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// explainNotStarted is about a scheduled time of a CronJob that has come and of which nothing shows a run.
func (b *builder) explainNotStarted(t time.Time) {
	s := b.Scheduled
	later := b.following(t)
	last := s.Memory.LastSchedule
	switch {
	case b.explainOmission(t): // also of a time before the object was made, as after a restore
	case !s.Owner.Created.IsZero() && t.Before(s.Owner.Created):
		b.tooOld(t)
	case b.explainByEvents(t, later):
	case last != nil && last.After(t):
		b.explainPassed(t, later)
	case b.editBefore(t):
	case !later.IsZero() && !later.After(b.Now):
		b.explainSuperseded(t, later)
	default:
		b.explainWaiting(t)
	}
}

// tooOld is about a time before the object was made.
func (b *builder) tooOld(t time.Time) {
	created := b.Scheduled.Owner.Created
	b.conclude(Skipped, "NotYetCreated", "it did not exist yet: it was created %s", b.when(created))
	b.show("metadata.creationTimestamp", created, "%s", b.clock(created))
	b.say("%s is earlier than that. Of another object that may have had the name before nothing is known.", b.clock(t))
}

// explainByEvents answers from the events that name a time, or that tell of the interval until the next one.
func (b *builder) explainByEvents(t, later time.Time) bool {
	last := b.Scheduled.Memory.LastSchedule
	passed := last != nil && last.After(t) || !later.IsZero() && !later.After(b.Now)
	misses := b.aboutOwner("MissSchedule")
	unnamedMisses := unnamed(slices.Clone(misses)) // of other controllers than ours
	if !later.IsZero() {
		unnamedMisses = within(unnamedMisses, t, later.Add(-time.Second))
	}
	for _, event := range misses {
		spans := b.spans(event, t)
		if !spans && !slices.Contains(unnamedMisses, event) {
			continue
		}
		b.conclude(Missed, missReason(event.Message), "a controller has reported that it was not started")
		if !spans && !later.IsZero() && !b.happened(event, t, later.Add(-time.Second)) {
			b.unsure(t, event)
		}
		b.tells(event)
		b.quote(event.Message)
		return true
	}
	if !passed {
		return false // it may still start: what it waits for is told by what is, not by what was
	}
	until := later
	if until.IsZero() {
		until = b.Now
	}
	overlaps := b.aboutOwner("JobAlreadyActive", "ForbidConcurrent")
	named := b.naming(overlaps, t)
	sure := len(named) > 0
	if !sure {
		if event, certain := b.lastOf(unnamed(within(overlaps, t, until.Add(-time.Second))), t, until.Add(-time.Second)); event != nil {
			named, sure = []*Event{event}, certain
		}
	}
	if len(named) > 0 {
		b.conclude(Skipped, "Overlap", "an earlier run was still active")
		b.tells(named[0])
		if sure {
			b.say("When its time came an earlier run had not ended, and %s. The next time came before that did.", b.overlapRule())
		} else {
			b.unsure(t, named[0])
		}
		b.blockersAt(t)
		return true
	}
	if event, sure := b.lastOf(b.refusedCreates(t, until.Add(-time.Second)), t, until.Add(-time.Second)); event != nil {
		b.conclude(Missed, "CreateFailed", "its object could not be created")
		if !sure {
			b.unsure(t, event)
		}
		b.tells(event)
		b.quote(event.Message)
		b.quotas(event.Message)
		return true
	}
	return false
}

// unsure says that an event that stands for several leaves open whether a time was one of them.
func (b *builder) unsure(t time.Time, event *Event) {
	b.inferred()
	b.infer("The event was counted %s from %s to %s: whether also for %s it does not tell, only that it was so before and after.",
		quantity.Count(int(event.Count), "time"), b.clock(event.First), b.clock(event.Last), b.clock(t))
}

// unnamed leaves the events whose message names no time: those of other controllers than ours.
func unnamed(events []*Event) []*Event {
	return slices.DeleteFunc(events, func(e *Event) bool {
		return slices.ContainsFunc(words(e.Message), func(word string) bool {
			_, err := time.Parse(time.RFC3339, word)
			return err == nil
		})
	})
}

// spans tells whether a message is about a scheduled time: it names it, or the first and the last of several.
func (b *builder) spans(event *Event, t time.Time) bool {
	var times []time.Time
	for _, word := range words(event.Message) {
		if at, err := time.Parse(time.RFC3339, word); err == nil {
			times = append(times, at)
		}
	}
	switch len(times) {
	case 0:
		return false
	case 1:
		return times[0].Equal(t)
	}
	return !t.Before(times[0]) && !t.After(times[1])
}

// missReasons are the words of our events for why a time did not start, and those of the answer.
var missReasons = map[cron.Reason]string{
	cron.NotStartedOutage:   "Outage",
	cron.NotStartedDeadline: "Deadline",
	cron.NotStartedFailed:   "CreateFailed",
	cron.NotStartedForeign:  "NameTaken",
	cron.NotStartedTooMany:  "TooManyMissed",
	cron.NotStartedEdit:     "Edited",
}

// missReason is the word after "reason" in a message.
func missReason(message string) string {
	_, after, _ := strings.Cut(message, "reason ")
	if found := words(after); len(found) > 0 && missReasons[cron.Reason(found[0])] != "" {
		return missReasons[cron.Reason(found[0])]
	}
	return "Unknown"
}

// blockersAt shows what was active at a time.
func (b *builder) blockersAt(t time.Time) []*Run {
	found := b.activeAt(t, nil)
	for _, r := range found {
		b.describe(r)
	}
	return found
}

// explainPassed is about a time that is older than status.lastScheduleTime.
func (b *builder) explainPassed(t, later time.Time) {
	last := *b.Scheduled.Memory.LastSchedule
	b.show("status.lastScheduleTime", last, "%s: %s is decided", b.clock(last), b.clock(t))
	if b.editBefore(t) {
		return
	}
	if !b.Read.Jobs {
		b.conclude(CannotTell, "Forgotten", "a later time has started since, and the Jobs were not looked at")
		b.objectGone("")
		return
	}
	if b.Scheduled.Policy.Room.Limit > 0 && !b.Scheduled.Policy.Room.Stops {
		for _, r := range b.activeAt(t, nil) {
			if later.IsZero() || !r.covers(later.Add(-time.Second)) {
				continue
			}
			b.conclude(Skipped, "Overlap", "%s was active until the next time came", r.by())
			b.inferred()
			b.describe(r)
			b.show("spec", time.Time{}, "%s", b.overlapRule())
			b.infer("%s had begun before %s and ended after the next time, %s: %s.", r.by(), b.clock(t), b.clock(later), b.overlapRule())
			if r.ByHand && !b.handBlocks() {
				b.infer("%s", handWords)
			}
			return
		}
	}
	b.eventsGone(t)
	if !b.explainSilence(t) {
		b.explainByHistory(t)
	}
}

// editBefore answers for a time that came before the schedule was written as it is now.
func (b *builder) editBefore(t time.Time) bool {
	edit, ok := b.editedAfter(t)
	if !ok || !edit.After(b.Scheduled.Owner.Created.Add(time.Minute)) {
		return false // what was written at the creation is no edit
	}
	b.conclude(CannotTell, "Edited", "the schedule may have been another one then")
	if served := b.Scheduled.Memory.Timing; served.Since != nil && served.Since.Equal(edit) {
		b.show("annotation carillon.dev/timetable", edit, "the schedule has been served as it is since %s", b.clock(edit))
	} else {
		b.writtenBy("schedule", "timeZone")
	}
	b.say("The schedule was written as it is now at %s at the latest, after %s. What it was before is not kept; an edit starts nothing for times before it.", b.when(edit), b.clock(t))
	b.eventsGone(t)
	return true
}

// explainSuperseded is about a time that was not started, and after which others have come that were not started
// either.
func (b *builder) explainSuperseded(t, later time.Time) {
	latest := b.dueSince()
	b.infer("Later times have come since, the first at %s: of several that wait only the latest starts.", b.clock(later))
	if latest.IsZero() || !latest.After(t) {
		latest = later
	}
	b.explainWaiting(latest)
	b.answer.ScheduledTime = optional(t)
	b.neighbours(t)
	why := b.answer.Summary
	switch b.answer.Verdict {
	case Suspended, Deleting, NotReady, CannotTell:
		return
	case NotDue:
		b.conclude(Missed, "Unknown", "a later time has taken its place")
	case Waits:
		b.conclude(Missed, b.answer.Reason, "a later time has taken its place, and %s", why)
	default:
		b.conclude(Missed, b.answer.Reason, "it has not started, and the same holds for the latest time: it %s", why)
	}
	b.inferred()
}
