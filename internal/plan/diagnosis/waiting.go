// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/duration"
)

// explainWaiting is about a time that has come, has not started, and is the latest that has.
func (b *builder) explainWaiting(t time.Time) {
	b.answer.ScheduledTime = optional(t)
	b.neighbours(t)
	planned := b.plannedStart(t)
	if b.stopped() {
		b.stoppedOnlyLater(planned)
		return
	}
	if planned.After(b.Now) {
		b.conclude(NotDue, "Jitter", "spec.jitter moves its start to %s", b.when(planned))
		return
	}
	lost, deadline := b.deadline(t)
	blocker := b.blocking()
	refused := b.refusedCreates(planned.Add(-time.Minute), b.Now)
	switch room := b.Scheduled.Policy.Room; {
	case deadline && !lost.After(b.Now):
		b.conclude(Missed, "Deadline", "it is older than its deadline, since %s", b.when(lost))
		b.show("spec", time.Time{}, "%s: a start later than %s is none", b.deadlineText(), b.clock(lost))
		if room.Limit == 0 || !b.lostTo(planned, lost) {
			b.infer("It was not started in time; what kept it is not shown.")
			b.controllers()
		}
		b.wouldDo(t)
	case blocker != nil && room.Limit > 0 && !room.Stops:
		stuck := b.blockedBy(blocker, "waits")
		b.conclude(Waits, "Overlap", "%s is still active, since %s%s", blocker.by(), b.when(blocker.Created), stuck)
		if blocker.ByHand && !b.handBlocks() {
			b.inferred()
		}
		b.untilWhen(t, lost, deadline)
		b.wouldDo(t)
	case len(refused) > 0:
		event := refused[len(refused)-1]
		b.conclude(Waits, "CreateFailed", "its object cannot be created")
		b.tells(event)
		b.say("The create of its object failed: %s.", firstLine(event.Message))
		b.quotas(event.Message)
		b.untilWhen(t, lost, deadline)
	case b.Now.Sub(planned) <= punctual:
		b.conclude(Waits, "Starting", "it has only just come, at %s", b.clock(t))
		b.wouldDo(t)
	default:
		b.explainNotServed(t, planned)
		b.untilWhen(t, lost, deadline)
	}
}

// stoppedOnlyLater says that what keeps a time from starting now may not have been so when it came.
func (b *builder) stoppedOnlyLater(planned time.Time) {
	field := map[string]string{"Suspended": "suspend", "SuspendedUntil": "suspendUntil"}[b.answer.Reason]
	if b.answer.Verdict != Suspended || field == "" {
		return
	}
	switch a, ok := b.authorOf(field); {
	case !ok || a.at.IsZero():
		b.inferred()
		b.infer("Since when is not told: it may have been suspended only after %s.", b.clock(planned))
	case a.at.After(planned):
		b.inferred()
		b.infer("That is shown no earlier than for %s: it may have been suspended only after %s, and then something else kept it.", b.clock(a.at), b.clock(planned))
	}
}

// lostTo tells of what held the room from when a start was planned until it was too late; false if nothing shows such a
// run.
func (b *builder) lostTo(planned, lost time.Time) bool {
	for _, r := range b.activeAt(planned, nil) {
		switch {
		case r.ByHand && r.Suspended:
		case r.Active():
			b.blockedBy(r, "waited")
			return true
		case !r.Ended.Before(lost):
			b.describe(r)
			b.show("spec", time.Time{}, "%s", b.overlapRule())
			b.tell(Sentence{Text: fmt.Sprintf("It waited for %s, which ended at %s, too late: %s.", r.by(), b.clock(r.Ended), b.overlapRule()), Inferred: r.ByHand && !b.handBlocks()})
			return true
		}
	}
	return false
}

// explainNotServed is about a time that nothing keeps from starting.
func (b *builder) explainNotServed(t, planned time.Time) {
	if !b.Read.Jobs {
		b.conclude(CannotTell, "", "its time came %s, and what runs was not looked at", duration.FromNow(planned, b.Now))
		b.objectGone("")
		return
	}
	if tt := b.timetable(); tt != nil && tt.Status.Cursor == nil {
		b.conclude(NotServed, "NotSeen", "no controller has looked at it yet")
		b.show("status", time.Time{}, "it has no cursor, and observedGeneration is %d", tt.Status.ObservedGeneration)
		b.infer("%s came %s; the first controller that looks starts nothing that is older than a minute.", b.clock(t), duration.FromNow(t, b.Now))
		b.controllers()
		return
	}
	starts := b.wouldDo(t)
	switch b.controllers() {
	case absent:
		b.conclude(NotServed, "NoController", "its time came %s, and no controller is at work", duration.FromNow(planned, b.Now))
		b.say("No controller renews its Lease, so nobody starts anything.")
	case atWork:
		b.conclude(NotServed, "Unknown", "its time came %s, and nothing shows why it has not started", duration.FromNow(planned, b.Now))
		b.infer("A controller is at work and has not started it: it may not serve this kind, may be behind, or may fail; its log tells.")
	default:
		b.conclude(NotServed, "Unknown", "its time came %s, and nobody has started it", duration.FromNow(planned, b.Now))
		b.infer("Nothing that is looked at keeps it from starting: most likely no controller is at work.")
	}
	if b.answer.Verdict == NotServed {
		b.inferred()
	}
	if starts {
		b.infer("By its rules Carillon would start it now.")
	}
	b.status()
	for _, event := range newest(b.warnings(), 3) {
		b.tells(event)
	}
	b.eventsGone(t)
	b.next("get events --field-selector involvedObject.name="+Quoted(b.Scheduled.Owner.Name), "what controllers have said of it")
}

// status shows how far the status has come.
func (b *builder) status() {
	m := &b.Scheduled.Memory
	if m.Cursor != nil {
		b.show("status.cursor", *m.Cursor, "all times until %s are decided", b.clock(*m.Cursor))
	}
	if m.LastSchedule != nil {
		b.show("status.lastScheduleTime", *m.LastSchedule, "%s", b.clock(*m.LastSchedule))
	} else {
		b.show("status", time.Time{}, "it has no lastScheduleTime: no run has ever been started, as far as it tells")
	}
	if tt := b.timetable(); tt != nil && tt.Status.ObservedGeneration < tt.Generation {
		b.show("status.observedGeneration", time.Time{}, "%d, and metadata.generation is %d: no controller has looked at the newest spec", tt.Status.ObservedGeneration, tt.Generation)
	}
}

// deadline is until when a time may start; ok is false if there is no limit.
func (b *builder) deadline(t time.Time) (lost time.Time, ok bool) {
	const longest = 200 * 365 * 24 * 3600 // seconds: more is none
	d := b.Scheduled.Policy.Deadline
	if d == nil || *d > longest {
		return time.Time{}, false
	}
	return t.Add(time.Duration(max(*d, 0)) * time.Second), true
}

func (b *builder) deadlineText() string {
	if tt := b.timetable(); tt != nil && tt.Spec.StartingDeadline != nil {
		return "spec.startingDeadline is " + string(*tt.Spec.StartingDeadline)
	}
	return fmt.Sprintf("spec.startingDeadlineSeconds is %d", *b.Scheduled.Policy.Deadline)
}

// untilWhen says how long a time that waits may go on.
func (b *builder) untilWhen(t, lost time.Time, deadline bool) {
	next := b.following(t)
	switch {
	case deadline && (next.IsZero() || lost.Before(next)):
		b.say("It may start until %s: %s.", b.when(lost), b.deadlineText())
		b.show("spec", time.Time{}, "%s", b.deadlineText())
	case !next.IsZero() && !b.Scheduled.Policy.Room.Queues:
		b.say("It may start until the next time comes, %s.", b.when(next))
	}
}

// blocking is the run that has been active longest, nil if none is: one that somebody started by hand only if there is
// no other, or if it surely counts.
func (b *builder) blocking() *Run {
	var byHand *Run
	for i := range b.Runs {
		r := &b.Runs[i]
		switch {
		case !r.Active() || r.ByHand && r.Suspended:
		case !r.ByHand || b.handBlocks():
			return r
		case byHand == nil:
			byHand = r
		}
	}
	return byHand
}

// blockedBy explains what holds the room, and why that does not end; waits is "waits" or "waited". It gives what keeps
// the run itself, if something does, for the end of a sentence.
func (b *builder) blockedBy(r *Run, waits string) (stuck string) {
	b.describe(r)
	b.show("spec", time.Time{}, "%s", b.overlapRule())
	what := "an earlier run"
	if r.ByHand {
		what = "a run that somebody started by hand"
	}
	inferred := r.ByHand && !b.handBlocks()
	b.tell(Sentence{Text: fmt.Sprintf("It %s for %s, %s, which has been active for %s: %s.", waits, what, r.by(), duration.Short(max(0, b.Now.Sub(r.Created))), b.overlapRule()), Inferred: inferred})
	if inferred {
		b.infer("%s", handWords)
	}
	if end := b.tellEnd(r); end.verdict == Pending || end.verdict == NotServed || end.verdict == Suspended {
		stuck = ", and " + end.summary
	}
	for _, event := range newest(b.aboutOwner("JobAlreadyActive", "ForbidConcurrent"), 2) {
		b.tells(event)
	}
	b.next("delete "+resourceOf(r), "to end that run, so that the next one can start")
	if b.timetable() == nil && r.Job != nil && r.Job.Spec.ActiveDeadlineSeconds == nil {
		b.say("Nothing bounds how long a run takes: .spec.jobTemplate.spec.activeDeadlineSeconds would.")
	}
	if tt := b.timetable(); tt != nil && tt.Spec.Timeout == nil {
		b.say("Nothing bounds how long a run takes: spec.timeout would.")
	}
	return stuck
}

// waitWords are what a Timetable's times wait for.
var waitWords = map[string]string{
	"Overlap":      "there is no room: earlier runs are active",
	"Stopping":     "the run that it replaces is not gone yet",
	"CreateFailed": "its object cannot be created",
	"NameTaken":    "an object of somebody else has the name of its object",
	"NotReady":     "the spec cannot be served",
	"Suspended":    "it is suspended",
}

// explainWaitingTime is about a time that is in status.waiting.
func (b *builder) explainWaitingTime(i int) {
	tt := b.timetable()
	w := &tt.Status.Waiting[i]
	t := w.ScheduledTime.UTC()
	b.answer.ScheduledTime = optional(t)
	b.neighbours(t)
	text := wordOr(waitWords[w.Reason], w.Reason)
	b.conclude(Waits, w.Reason, "since %s: %s", b.when(t), text)
	source := fmt.Sprintf("status.waiting[%d]", i)
	if w.Since != nil {
		b.show(source, w.Since.Time, "%s waits, reason %s; times have been waiting since %s", b.clock(t), w.Reason, b.clock(w.Since.Time))
	} else {
		b.show(source, time.Time{}, "%s waits, reason %s", b.clock(t), w.Reason)
	}
	if n := len(tt.Status.Waiting); n > 1 {
		b.say("It is number %d of %d times that wait.", i+1, n)
	}
	if w.Message != "" {
		b.quote(w.Message)
	}
	b.explainWaitReason(w, t)
	if lost, deadline := b.deadline(t); deadline {
		b.untilWhen(t, lost, deadline)
	}
}

func (b *builder) explainWaitReason(w *v1alpha1.WaitingTime, t time.Time) {
	switch w.Reason {
	case "Overlap", "Stopping":
		if r := b.blocking(); r != nil {
			b.blockedBy(r, "waits")
		} else {
			b.activeInStatus()
		}
	case "CreateFailed", "NameTaken":
		for _, event := range b.refusedCreates(t.Add(-time.Minute), b.Now) {
			b.tells(event)
			b.quotas(event.Message)
		}
		b.quotas(w.Message)
	case "NotReady":
		b.conditionEvidence(v1alpha1.ConditionReady)
	}
	b.wouldDo(t)
}

// activeInStatus shows what the status says is active.
func (b *builder) activeInStatus() {
	for i := range b.Scheduled.Memory.Active {
		active := &b.Scheduled.Memory.Active[i]
		text := active.Kind + " " + active.Name
		if !active.Started.IsZero() {
			text += ", started " + b.clock(active.Started)
		}
		if active.RetryAt != nil {
			text += ", waits for its next attempt at " + b.when(*active.RetryAt)
		}
		if active.Stopping != "" {
			text += ", is being stopped"
		}
		b.show("status.active", active.Started, "%s", text)
	}
	if !b.Read.Jobs {
		b.objectGone("")
	}
}
