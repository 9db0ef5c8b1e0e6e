// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
)

// punctual is how late a start may be without being called late: objects tell whole seconds, and a create takes its
// time.
const punctual = 10 * time.Second

// explainRun is about a scheduled time that has a run; false if nothing shows one.
func (b *builder) explainRun(t time.Time) bool {
	runs := b.runsAt(t)
	if len(runs) == 0 {
		return b.explainRunThatIsGone(t)
	}
	slices.SortStableFunc(runs, func(x, y *Run) int { return cmp.Compare(x.Attempt, y.Attempt) })
	first, last := runs[0], runs[len(runs)-1]
	b.answer.Run = last.facts()
	for _, r := range runs {
		b.describe(r)
	}
	if last.Attempt > 1 {
		b.say("%s is attempt %d of the run (spec.retry).", last.by(), last.Attempt)
	}
	b.concludeRun(t, first)
	b.tellEnd(last)
	if last.Remembered == nil {
		b.next("describe "+resourceOf(last), "all that the object shows, with its events")
	}
	return true
}

// concludeRun says whether a run started in time, by its first object, and why not.
func (b *builder) concludeRun(t time.Time, r *Run) {
	planned := b.plannedStart(t)
	late := r.Created.Sub(planned)
	switch {
	case r.Created.IsZero():
		b.conclude(Ran, "", "%s was made for it; when is not told", r.by())
	case r.Attempt > 1:
		b.conclude(Ran, "Retry", "%s is its attempt %d; the objects of earlier attempts are gone", r.by(), r.Attempt)
	case late <= punctual && planned.After(t):
		b.conclude(RanOnTime, "Jitter", "%s started at %s, to which spec.jitter moves it", r.by(), b.clock(r.Created))
	case late <= punctual:
		b.conclude(RanOnTime, "", "%s started at %s", r.by(), b.clock(r.Created))
	default:
		b.conclude(RanLate, "", "%s started %s late", r.by(), duration.Short(late))
		b.whyLate(t, planned, r)
	}
}

// whyLate explains a late start, as far as anything shows it.
func (b *builder) whyLate(t, planned time.Time, r *Run) {
	if r.Trigger == "CatchUp" {
		b.answer.Reason = "CatchUp"
		b.say("It is a run that was made up for: nobody looked when its time came (label carillon.dev/trigger).")
		return
	}
	since, held := b.tellHeldUp(planned, r)
	if held && since.IsZero() {
		b.answer.Reason = "Overlap"
		return
	}
	planned = firstTime(since, planned)
	if events := b.naming(b.aboutOwner("JobAlreadyActive", "ForbidConcurrent"), t); len(events) > 0 && !held {
		b.answer.Reason = "Overlap"
		b.tells(events[0])
		b.say("An earlier run had not ended: %s.", b.overlapRule())
		return
	}
	if event, sure := b.lastOf(b.refusedCreates(planned, r.Created.Add(time.Minute)), planned, r.Created.Add(time.Minute)); event != nil {
		b.answer.Reason = "CreateFailed"
		b.tells(event)
		b.tell(Sentence{Text: "Its object could not be created before: " + firstLine(event.Message) + ".", Inferred: !sure})
		return
	}
	b.answer.Reason = "Unknown"
	if !b.Scheduled.Policy.Suspend {
		if a, ok := b.authorOf("suspend"); ok && near(a.at, r.Created) {
			b.answer.Reason = "Suspended"
			b.show("managedFields", a.at, "spec.suspend, now false, was written by %s, no later than %s", a.manager, b.clock(a.at))
			b.infer("It was suspended until shortly before the start, at %s.", b.clock(a.at))
			return
		}
	}
	what := "what it waited for"
	if held {
		what = "what kept it after that"
	}
	b.infer("Nothing that is left shows %s: no controller may have worked between %s and %s, or an earlier run whose object is gone was active.", what, b.clock(planned), b.clock(r.Created))
	b.eventsGone(t)
}

// near tells whether something was written shortly before a start.
func near(written, start time.Time) bool {
	d := start.Sub(written)
	return !written.IsZero() && d >= -5*time.Second && d <= 2*time.Minute
}

// heldUp is the run that a start has waited for: active when the start was planned, and ended when it came.
func (b *builder) heldUp(planned time.Time, r *Run) *Run {
	if b.Scheduled.Policy.Room.Limit == 0 {
		return nil
	}
	var last *Run
	for _, before := range b.activeAt(planned, r) {
		if !before.Ended.IsZero() && before.Ended.Before(r.Created.Add(punctual)) && (last == nil || before.Ended.After(last.Ended)) {
			last = before
		}
	}
	return last
}

// tellHeldUp tells of the run that a start has waited for; false if there is none. Since is when that ended, if the
// start came only later: then something else has kept it, too.
func (b *builder) tellHeldUp(planned time.Time, r *Run) (since time.Time, held bool) {
	before := b.heldUp(planned, r)
	if before == nil {
		return time.Time{}, false
	}
	b.describe(before)
	b.show("spec", time.Time{}, "%s", b.overlapRule())
	inferred := before.ByHand && !b.handBlocks()
	if near(before.Ended, r.Created) {
		b.tell(Sentence{Text: fmt.Sprintf("It waited for %s, which had begun before and ended at %s: %s.", before.by(), b.clock(before.Ended), b.overlapRule()), Inferred: inferred})
	} else {
		since = before.Ended
		b.tell(Sentence{Text: fmt.Sprintf("Until %s it waited for %s: %s. It started %s after that.", b.clock(since), before.by(), b.overlapRule(), duration.Short(r.Created.Sub(since))), Inferred: inferred})
	}
	if inferred {
		b.infer("%s", handWords)
	}
	return since, true
}

// overlapRule says what the policy does with a time that finds no room.
func (b *builder) overlapRule() string {
	if tt := b.timetable(); tt != nil {
		policy := string(cmp.Or(tt.Spec.Concurrency.Policy, "Forbid"))
		switch policy {
		case "Queue":
			return "spec.concurrency.policy is Queue"
		case "Replace":
			return "spec.concurrency.policy is Replace, and the earlier run must be gone first"
		case "Allow":
			return "spec.concurrency.policy is Allow, with room for 100 runs"
		}
		return "spec.concurrency.policy is " + policy
	}
	switch room := b.Scheduled.Policy.Room; {
	case room.Stops:
		return "spec.concurrencyPolicy is Replace"
	case room.Limit > 0:
		return "spec.concurrencyPolicy is Forbid"
	}
	return "spec.concurrencyPolicy is Allow"
}

// refusedCreates are the events of an interval that say that an object could not be created.
func (b *builder) refusedCreates(from, to time.Time) []*Event {
	return within(b.aboutOwner("FailedCreate", "CreateFailed", "NameTaken", "NamespaceTerminating", "ForeignJob"), from, to)
}

// explainRunThatIsGone is about a run whose object is gone, but that the status or an event shows.
func (b *builder) explainRunThatIsGone(t time.Time) bool {
	s := b.Scheduled
	for i := range s.Memory.Active {
		active := &s.Memory.Active[i]
		named, ok := timeInName(s, active.Name)
		if !active.Time.Equal(t) && (!ok || !b.sameTime(named, t)) {
			continue
		}
		b.show("status.active", active.Started, "%s %s", active.Kind, active.Name)
		b.answer.Run = &RunFacts{Kind: active.Kind, Name: active.Name, Trigger: string(active.Trigger), Attempt: active.Attempt, ScheduledTime: optional(t), StartTime: optional(active.Started), Result: "Active"}
		switch late := active.Started.Sub(b.plannedStart(t)); {
		case active.Started.IsZero() || active.Attempt > 1:
			b.conclude(Ran, "", "%s is in status.active", active.Name)
		case late > punctual:
			b.conclude(RanLate, "", "%s started %s late", active.Name, duration.Short(late))
		default:
			b.conclude(RanOnTime, "", "%s started at %s", active.Name, b.clock(active.Started))
		}
		if active.RetryAt != nil {
			b.say("Attempt %d has failed; the next one starts at %s.", active.Attempt, b.when(*active.RetryAt))
		} else {
			b.objectGone(active.Name)
		}
		return true
	}
	if b.timetable() != nil {
		return false // its ledger says more
	}
	if event, name := b.createdBy(t); event != nil {
		b.tells(event)
		b.answer.Run = &RunFacts{Kind: s.Kind.Info().Child.Kind, Name: name, ScheduledTime: optional(t), StartTime: optional(event.First)}
		switch late := event.First.Sub(t); {
		case event.First.IsZero():
			b.conclude(Ran, "", "%s was made for it; when is not told", name)
		case late > punctual:
			b.conclude(RanLate, "", "%s started %s late", name, duration.Short(late))
		default:
			b.conclude(RanOnTime, "", "%s started at %s", name, b.clock(event.First))
		}
		b.objectGone(name)
		for _, end := range b.aboutOwner("SawCompletedJob") {
			if slices.Contains(words(end.Message), name) {
				b.tells(end)
			}
		}
		return true
	}
	if last := s.Memory.LastSchedule; last != nil && last.Equal(t) {
		b.show("status.lastScheduleTime", *last, "%s: a controller writes it when it has started the run of that time", b.clock(*last))
		b.conclude(Ran, "", "status.lastScheduleTime says so")
		if ok := s.Memory.LastSuccessful; ok != nil && !ok.Before(t) && len(b.endedAfter(t)) == 0 {
			b.show("status.lastSuccessfulTime", *ok, "%s", b.clock(*ok))
			b.infer("It succeeded at %s: that is later than its start, and no other run is known that could have ended then.", b.clock(*ok))
		}
		b.objectGone("")
		b.eventsGone(t)
		return true
	}
	return false
}

// endedAfter are the runs that ended after an instant.
func (e *Evidence) endedAfter(t time.Time) (found []*Run) {
	for i := range e.Runs {
		if r := &e.Runs[i]; r.Ended.After(t) || r.Active() {
			found = append(found, r)
		}
	}
	return found
}

// objectGone says that a run's object was not found.
func (b *builder) objectGone(name string) {
	switch {
	case !b.Read.Jobs:
		b.lack("the Jobs were not looked at; save them too: kubectl get cronjobs,jobs,pods,events -o yaml --show-managed-fields")
	case name != "":
		b.lack("%s itself: its object is gone, by the history limits, its TTL or by hand", name)
	default:
		b.lack("the object of that run: it is gone, by the history limits, its TTL or by hand")
	}
}

// resourceOf is how kubectl names a run.
func resourceOf(r *Run) string {
	if r.Job != nil {
		return "job/" + Quoted(r.Name)
	}
	group := ""
	if before, _, grouped := cutLast(r.APIVersion, "/"); grouped {
		group = "." + before
	}
	return lower(r.Kind) + group + "/" + Quoted(r.Name)
}

// tellEnd says how a run ended, or what it does; of a kind that is no Job no more than that.
func (b *builder) tellEnd(r *Run) jobEnd {
	switch {
	case r.Remembered != nil:
		return b.tellRemembered(r.Remembered, r.by())
	case r.Job != nil:
		return b.tellJob(r.Job, r.by())
	case r.Phase == cron.Complete:
		b.say("%s succeeded at %s.", r.by(), b.when(r.Ended))
	case r.Phase == cron.Failed:
		b.say("%s failed at %s.", r.by(), b.when(r.Ended))
	default:
		b.say("%s has not ended.", r.by())
	}
	return jobEnd{}
}
