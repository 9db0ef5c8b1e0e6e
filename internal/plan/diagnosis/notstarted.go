// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cron"
)

// explainNotStarted is about a scheduled time of a CronJob that has come and of which nothing shows a run.
func (b *builder) explainNotStarted(t time.Time) {
	s := b.Scheduled
	later := b.following(t)
	last := s.Memory.LastSchedule
	switch {
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
		if !b.spans(event, t) && !slices.Contains(unnamedMisses, event) {
			continue
		}
		b.conclude(Missed, missReason(event.Message), "a controller has reported that it was not started")
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
	if len(named) == 0 {
		named = unnamed(within(overlaps, t, until.Add(-time.Second)))
	}
	if len(named) > 0 {
		b.conclude(Skipped, "Overlap", "an earlier run was still active")
		b.tells(named[0])
		b.say("When its time came an earlier run had not ended, and %s. The next time came before that did.", b.overlapRule())
		b.blockersAt(t)
		return true
	}
	if refused := b.refusedCreates(t, until.Add(-time.Second)); len(refused) > 0 {
		event := refused[len(refused)-1]
		b.conclude(Missed, "CreateFailed", "its object could not be created")
		b.tells(event)
		b.quote(event.Message)
		b.quotas(event.Message)
		return true
	}
	return false
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
			return
		}
	}
	b.eventsGone(t)
	b.explainByHistory(t)
}

// explainByHistory says what follows from the runs that are kept: a run that would still be kept, and is not there, has
// not happened, unless somebody deleted it.
func (b *builder) explainByHistory(t time.Time) {
	successes, failures := b.newerThan(t)
	p := &b.Scheduled.Policy
	keepsSuccess, keepsFailure := kept(p.Succeeded.Limit, successes), kept(p.Failed.Limit, failures)
	if !b.reachesBack(t) {
		keepsSuccess, keepsFailure = false, false
	}
	if ttl, ok := b.ttl(); ok {
		b.show("spec.jobTemplate", time.Time{}, "ttlSecondsAfterFinished is %s: Jobs go that long after their end", span(ttl))
		if b.Now.Sub(t) > ttl {
			keepsSuccess, keepsFailure = false, false
		}
	}
	if p.Room.Stops {
		b.infer("With concurrencyPolicy Replace a run is deleted when the next time comes before its end: it may have run and have been replaced.")
		keepsSuccess, keepsFailure = false, false
	}
	if len(b.Runs) > 0 {
		b.describe(&b.Runs[0])
	}
	b.show("spec", time.Time{}, "history limits: %s", b.historyText())
	switch {
	case p.Room.Stops:
		b.conclude(CannotTell, "Forgotten", "it may have run and have been replaced, or not have started")
	case keepsSuccess && keepsFailure:
		b.conclude(Missed, "Unknown", "no run of it is there, and one would still be kept")
		b.inferred()
		b.infer("Whether it had succeeded or failed, its object would still be kept by the history limits: so it did not start, or somebody deleted its object.")
		b.infer("Why is not told by anything that is left: no controller may have worked then, it may have been suspended, or its create may have failed.")
		b.controllers()
	case keepsSuccess:
		b.conclude(CannotTell, "Forgotten", "it did not succeed: it failed, or did not start")
		b.infer("A success would still be kept. A failure would not: %s since, and that many are kept.", counted(failures, "run")+" failed")
	default:
		b.conclude(CannotTell, "Forgotten", "its object would be gone by now, whether it ran or not")
	}
	if b.answer.Verdict == CannotTell && !p.Room.Stops {
		b.lack("the run of %s: %s", b.clock(t), "newer ones have taken its place in the history, or it never was")
		b.next("patch "+b.resource()+` --type=merge -p '{"spec":{"successfulJobsHistoryLimit":10,"failedJobsHistoryLimit":10}}'`, "to keep more runs from now on")
	}
}

// reachesBack tells whether a run is kept that is older than a time: then the history shows what was at that time.
func (e *Evidence) reachesBack(t time.Time) bool {
	for i := range e.Runs {
		if r := &e.Runs[i]; !r.ByHand && !r.ScheduledTime.IsZero() && r.ScheduledTime.Before(t) {
			return true
		}
	}
	return false
}

// kept tells whether a run is kept of which newer ones are there.
func kept(limit *int32, newer int) bool { return limit == nil || newer < int(*limit) }

// newerThan counts the runs that have ended and are for later times.
func (e *Evidence) newerThan(t time.Time) (successes, failures int) {
	for i := range e.Runs {
		switch r := &e.Runs[i]; {
		case r.ByHand && !r.Created.After(t), !r.ByHand && !r.ScheduledTime.After(t):
		case r.Phase == cron.Complete:
			successes++
		case r.Phase == cron.Failed:
			failures++
		}
	}
	return successes, failures
}

// ttl is how long Jobs are kept after their end whatever the history says; ok is false if nothing says so.
func (e *Evidence) ttl() (time.Duration, bool) {
	seconds, ok, err := unstructured.NestedFieldNoCopy(e.Scheduled.Content.Object, "spec", "jobTemplate", "spec", "ttlSecondsAfterFinished")
	n, number := seconds.(int64)
	if !ok || err != nil || !number || n < 0 || n > 1<<31 {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

func (b *builder) historyText() string {
	text := func(limit *int32, of string) string {
		if limit == nil {
			return "all that " + of
		}
		return counted(int(*limit), "run") + " that " + of
	}
	p := &b.Scheduled.Policy
	return text(p.Succeeded.Limit, "succeeded") + ", " + text(p.Failed.Limit, "failed")
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

// explainSuperseded is about a time that was not started, and after which others have come that were not started either.
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
