// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// clockTolerance is how far a status may be ahead of the clock.
const clockTolerance = time.Minute

// explainNow answers a question about the present: what ran last, and why the next run has not started.
func (b *builder) explainNow() {
	last := b.tellLast()
	if b.stopped() || !b.readable() {
		return
	}
	b.clockBehind()
	if tt := b.timetable(); tt != nil && len(tt.Status.Waiting) > 0 {
		b.explainWaitingTime(0)
		return
	}
	if due := b.due(); !due.IsZero() {
		b.explainWaiting(due)
		return
	}
	next, reason := b.following(b.Now), ""
	if base := b.base(); base.Sub(b.Now) > clockTolerance && b.Scheduled.Owner.Created.Before(base) {
		next, reason = b.following(base), "Clock"
	}
	if next.IsZero() {
		b.conclude(Completed, "NoMoreTimes", "no scheduled time will come again")
		b.show("schedule", time.Time{}, "%s names no time after %s", b.scheduleText(), b.clock(b.Now))
		b.next("edit "+b.resource(), "to give it another schedule")
		return
	}
	b.answer.NextTime, b.answer.PreviousTime = optional(next), optional(b.previous(b.Now))
	if reason == "Clock" {
		last += "; all before it count as decided, by a clock that was ahead of this one"
	}
	b.conclude(NotDue, reason, "the next time is %s%s", b.when(next), last)
	b.show("schedule", time.Time{}, "%s names %s next", b.scheduleText(), b.clock(next))
	if start := b.plannedStart(next); start.After(next) {
		b.say("spec.jitter moves its start to %s.", b.clock(start))
	}
	b.whatKeeps(next)
	b.conditionEvidence(v1alpha1.ConditionHealthy)
	b.wouldDo(next)
	b.next("get "+b.resource()+" -o yaml", "the object with its status")
}

// due is the latest time that has come and is not decided, zero if there is none.
func (b *builder) due() time.Time {
	times, base := b.Scheduled.Policy.Timing.Times, b.base()
	if base.IsZero() { // a file without a status tells of no past
		base = b.Now
	}
	t := times.LastBetween(base, b.Now).UTC()
	if t.IsZero() || t.Year() < 1971 {
		return time.Time{}
	}
	if edit, ok := b.editedAfter(t); ok && b.Scheduled.Memory.Cursor == nil {
		if served := b.Scheduled.Memory.Timing; served.Since != nil && !served.Presumed && served.Since.Equal(edit) {
			b.say("%s came before this schedule was served, since %s: an edit starts nothing for times before it.", b.clock(t), b.clock(edit))
			b.show("annotation carillon.dev/timetable", edit, "the schedule has been served as it is since %s", b.clock(edit))
			return time.Time{}
		}
		b.infer("The schedule may have been written only after %s; Carillon starts nothing for times before an edit, the controller of Kubernetes may.", b.clock(t))
		b.writtenBy("schedule", "timeZone")
	}
	if b.hasStarted(t) {
		return time.Time{} // and the status does not tell yet
	}
	return t
}

// hasStarted tells whether anything shows that the run of a time has started.
func (b *builder) hasStarted(t time.Time) bool {
	active := func(r cron.ActiveRun) bool {
		named, ok := timeInName(b.Scheduled, r.Name)
		return r.Time.Equal(t) || ok && b.sameTime(named, t)
	}
	event, _ := b.createdBy(t)
	return event != nil || len(b.runsAt(t)) > 0 || slices.ContainsFunc(b.Scheduled.Memory.Active, active)
}

// tellLast tells what ran last, and gives that in a few words for the first line.
func (b *builder) tellLast() string {
	r := b.newestRun()
	last := b.Scheduled.Memory.LastSchedule
	if b.unseen() {
		b.say("The status names active runs whose objects are gone, or were not found.")
		b.activeInStatus()
	}
	if r == nil || last != nil && last.After(r.ScheduledTime) {
		return b.tellLastWithout(last)
	}
	b.describe(r)
	b.answer.Run = r.facts()
	late := r.Created.Sub(b.plannedStart(r.ScheduledTime))
	how := "on time"
	if late > punctual {
		how = duration.Short(late) + " late"
	}
	if r.Attempt > 1 {
		how = fmt.Sprintf("as attempt %d", r.Attempt)
	}
	b.say("The last run is %s, for %s; it started %s.", r.by(), b.when(r.ScheduledTime), how)
	b.tellEnd(r)
	return "; the last run " + map[string]string{"Succeeded": "succeeded", "Failed": "failed", "Active": "is active", "Cancelled": "was cancelled", "Unknown": "has ended"}[r.result()]
}

// tellLastWithout tells of the last run by the status, where its object is gone.
func (b *builder) tellLastWithout(last *time.Time) string {
	if tt := b.timetable(); tt != nil && len(tt.Status.Ledger) > 0 {
		entry := &tt.Status.Ledger[0]
		b.say("The newest result is of %s: %s.", b.when(entry.ScheduledTime.Time), resultWords(entry))
		b.show("status.ledger[0]", entry.ScheduledTime.Time, "%s", b.entryText(entry))
		return "; the newest result is " + string(entry.Result)
	}
	if last == nil {
		if !b.Read.Jobs {
			b.objectGone("")
		}
		b.say("No run of it is known.")
		return ""
	}
	b.show("status.lastScheduleTime", *last, "%s", b.clock(*last))
	b.say("The last run was that of %s; its object is gone, or was not found.", b.when(*last))
	if ok := b.Scheduled.Memory.LastSuccessful; ok != nil {
		b.show("status.lastSuccessfulTime", *ok, "%s", b.clock(*ok))
	}
	b.objectGone("")
	return ""
}

// stopped answers for what keeps everything from starting; false if nothing does.
func (b *builder) stopped() bool {
	s := b.Scheduled
	since, ends := b.namespaceEnds()
	switch {
	case s.Owner.Deleting:
		t := timeOf(s.Content.GetDeletionTimestamp())
		b.conclude(Deleting, "Deleting", "since %s", b.when(t))
		b.show("metadata.deletionTimestamp", t, "%s; finalizers: %s", b.clock(t), wordOr(listed(s.Content.GetFinalizers()), "none"))
		b.say("Nothing starts any more. Its finalizers have to go before it does.")
	case ends:
		b.conclude(Deleting, "NamespaceTerminating", "with its namespace, %s", s.Owner.Namespace)
		b.show("Namespace "+s.Owner.Namespace, since, "it is being deleted: nothing can be created in it")
	case s.Unreadable != nil:
		return !b.readable()
	case s.Policy.Timing.Obstacle != nil:
		b.conditionEvidence(v1alpha1.ConditionReady)
		return !b.readable()
	case s.Policy.ChildObstacle != nil && s.Policy.ChildObstacle.Check != 0:
		b.conclude(NotReady, "", "%s", firstLine(s.Policy.ChildObstacle.Message))
		b.conditionEvidence(v1alpha1.ConditionReady)
		b.show("spec", time.Time{}, "%s", firstLine(s.Policy.ChildObstacle.Message))
		b.next("edit "+b.resource(), "correct it; nothing starts before that")
	case s.Policy.Suspend:
		b.conclude(Suspended, "Suspended", "%snothing starts until spec.suspend is false", b.suspendedBy())
		b.nextIfResumed()
		b.next("patch "+b.resource()+` --type=merge -p '{"spec":{"suspend":false}}'`, b.resumeAdvice())
	case s.Policy.SuspendUntil != nil && b.Now.Before(*s.Policy.SuspendUntil):
		b.conclude(Suspended, "SuspendedUntil", "nothing starts before %s", b.when(*s.Policy.SuspendUntil))
		b.show("spec.suspendUntil", time.Time{}, "%s", b.clock(*s.Policy.SuspendUntil))
		b.writtenBy("suspendUntil")
		b.next("patch "+b.resource()+` --type=merge -p '{"spec":{"suspendUntil":null}}'`, "to let it go on now")
	default:
		return b.pausedOrNotReady()
	}
	return true
}

// pausedOrNotReady answers for what the conditions of a Timetable tell.
func (b *builder) pausedOrNotReady() bool {
	tt := b.timetable()
	if tt == nil {
		return false
	}
	if c := b.condition(v1alpha1.ConditionReady); c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration >= tt.Generation &&
		c.Reason != "TemplateRejected" && c.Reason != "FormerKindNotWatched" && c.Reason != "OutcomeTooExpensive" {
		b.conclude(NotReady, c.Reason, "%s", firstLine(c.Message))
		b.conditionEvidence(v1alpha1.ConditionReady)
		b.next("edit "+b.resource(), "correct it; nothing starts before that")
		return true
	}
	c := b.condition(v1alpha1.ConditionPaused)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != "Failures" || c.ObservedGeneration < tt.Generation {
		return false
	}
	b.conclude(Paused, "Failures", "after %s in a row", quantity.Count(int(tt.Status.ConsecutiveFailures), "failed run"))
	b.conditionEvidence(v1alpha1.ConditionPaused)
	b.next(fmt.Sprintf("annotate %s --overwrite %s=%s", b.resource(), v1alpha1.AnnotationResume, b.Now.UTC().Format("20060102T150405")), "when the cause is mended: any new value lets it go on")
	return true
}

func (b *builder) condition(kind string) *metav1.Condition {
	if tt := b.timetable(); tt != nil {
		return meta.FindStatusCondition(tt.Status.Conditions, kind)
	}
	return nil
}

// conditionEvidence shows a condition, if there is one.
func (b *builder) conditionEvidence(kind string) {
	if c := b.condition(kind); c != nil {
		b.show("condition "+kind, c.LastTransitionTime.Time, "%s since %s, reason %s: %s", c.Status, b.clock(c.LastTransitionTime.Time), c.Reason, firstLine(c.Message))
	}
}

// suspendedBy shows who suspended it, and since when. It gives who that is, for the beginning of a sentence; "" if
// nothing tells.
func (b *builder) suspendedBy() (by string) {
	b.show("spec.suspend", time.Time{}, "true")
	a, ok := b.writtenBy("suspend")
	if ok && !a.at.IsZero() {
		b.say("It has been suspended since %s at the latest, by %s.", b.when(a.at), a.manager)
		by = "by " + a.manager + ": "
	}
	b.conditionEvidence(v1alpha1.ConditionPaused)
	return by
}

// nextIfResumed says what would come if nothing were suspended.
func (b *builder) nextIfResumed() {
	if b.Scheduled.Policy.Timing.Times == nil {
		return
	}
	if next := b.following(b.Now); !next.IsZero() {
		b.answer.NextTime = optional(next)
		b.say("The next scheduled time would be %s.", b.when(next))
	}
}

// resumeAdvice says what happens at the end of a suspension.
func (b *builder) resumeAdvice() string {
	if tt := b.timetable(); tt != nil {
		if tt.Spec.OnResume == v1alpha1.CatchUpOnResume {
			return "to let it go on; times that passed are made up for as spec.catchUp says"
		}
		return "to let it go on; times that passed meanwhile are skipped"
	}
	if due := b.dueSince(); !due.IsZero() {
		if lost, deadline := b.deadline(due); !deadline || lost.After(b.Now) {
			return "to let it go on; the time " + b.clock(due) + " has passed meanwhile and would start at once"
		}
	}
	return "to let it go on"
}

// dueSince is the latest time that has come since the last one that started.
func (b *builder) dueSince() time.Time {
	times, base := b.Scheduled.Policy.Timing.Times, b.base()
	if times == nil || base.IsZero() {
		return time.Time{}
	}
	return times.LastBetween(base, b.Now)
}

// clockBehind tells of a status that is ahead of the clock.
func (b *builder) clockBehind() {
	m := &b.Scheduled.Memory
	for _, of := range []struct {
		source string
		time   *time.Time
	}{{"status.cursor", m.Cursor}, {"status.lastScheduleTime", m.LastSchedule}} {
		if t := of.time; t != nil && t.Sub(b.Now) > clockTolerance {
			b.show(of.source, *t, "%s, which is %s: a clock was ahead, or this one is behind", b.clock(*t), duration.FromNow(*t, b.Now))
			b.infer("Nothing starts for times before %s: all until then are decided.", b.clock(*t))
		}
	}
}
