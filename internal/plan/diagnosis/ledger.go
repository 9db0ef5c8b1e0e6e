// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/duration"
)

// explainByLedger is about a scheduled time of a Timetable of which no object is left: its status tells.
func (b *builder) explainByLedger(t time.Time) {
	tt := b.timetable()
	for i := range tt.Status.Waiting {
		if tt.Status.Waiting[i].ScheduledTime.Time.Equal(t) {
			b.explainWaitingTime(i)
			return
		}
	}
	if i := entryAt(tt.Status.Ledger, t, t.Add(time.Nanosecond)); i >= 0 {
		b.explainEntry(i, t)
		return
	}
	cursor := tt.Status.Cursor
	switch {
	case t.Before(b.Scheduled.Owner.Created): // what a journal has of it is from before the object was restored
		if !b.explainOmission(t) {
			b.tooOld(t)
		}
	case cursor == nil || t.After(cursor.Time):
		if later := b.following(t); !later.IsZero() && !later.After(b.Now) {
			b.infer("A later time has come since, %s: which of them starts, spec.catchUp says.", b.clock(later))
		}
		b.explainWaiting(t)
	case b.explainOmission(t), b.explainSilence(t):
	default:
		b.explainForgotten(t)
	}
}

// explainForgotten is about a time that is decided and has left the ledger.
func (b *builder) explainForgotten(t time.Time) {
	tt := b.timetable()
	b.conclude(CannotTell, "Forgotten", "what became of it is not kept any more")
	b.show("status.cursor", tt.Status.Cursor.Time, "all times until %s are decided", b.clock(tt.Status.Cursor.Time))
	if n := len(tt.Status.Ledger); n > 0 {
		oldest := tt.Status.Ledger[n-1].ScheduledTime.Time
		b.show(fmt.Sprintf("status.ledger[%d]", n-1), oldest, "the oldest result that is kept is of %s", b.clock(oldest))
	} else {
		b.lack("status.ledger: it is empty")
	}
	b.lack("the result of %s: spec.history.ledger says how many are kept", b.clock(t))
	c := tt.Status.Counts
	b.show("status.counts", time.Time{}, "so far %d started, %d skipped, %d missed", c.Started, c.Skipped, c.Missed)
	b.eventsGone(t)
	b.next("patch "+b.resource()+` --type=merge -p '{"spec":{"history":{"ledger":100}}}'`, "to keep 100 results from now on")
}

// entryAt is the ledger's entry of a time in [from, until), -1 if there is none.
func entryAt(ledger []v1alpha1.LedgerEntry, from, until time.Time) int {
	for i := range ledger {
		first, last := ledger[i].ScheduledTime.Time, ledger[i].ScheduledTime.Time
		if u := ledger[i].Until; u != nil && u.After(last) {
			last = u.Time
		}
		if first.Before(until) && !last.Before(from) {
			return i
		}
	}
	return -1
}

// reasonWords are what the reasons of a ledger mean.
var reasonWords = map[string]string{
	"RunFailed":    "its last attempt failed",
	"Timeout":      "it took longer than spec.timeout, or than its Job's deadline",
	"Replaced":     "it was stopped for its successor (spec.concurrency.policy Replace)",
	"Deleted":      "its object was deleted by somebody",
	"Suspended":    "it passed while suspended",
	"Paused":       "it passed while paused after failures",
	"Excluded":     "it lies in an exclusion",
	"Superseded":   "it waited, and a newer time took its place",
	"QueueFull":    "it found the queue full",
	"Edited":       "an edit of the timing took it out, or named it too late",
	"Outage":       "nobody looked in time: no controller was at work",
	"CatchUpLimit": "it was beyond the number that spec.catchUp.limit makes up for",
	"Deadline":     "it could not start within spec.startingDeadline",
	"CreateFailed": "the API server refused its object, until a newer time took its place",
	"NameTaken":    "an object of somebody else had its name, until a newer time took its place",
	"NotReady":     "the spec could not be served, until a newer time took its place",
}

func resultWords(entry *v1alpha1.LedgerEntry) string {
	text := lower(string(entry.Result))
	if why := reasonWords[entry.Reason]; why != "" {
		text += ", " + why
	} else if entry.Reason != "" {
		text += ", reason " + entry.Reason
	}
	return text
}

// entryText is a ledger's entry as evidence.
func (b *builder) entryText(entry *v1alpha1.LedgerEntry) string {
	text := b.clock(entry.ScheduledTime.Time)
	if entry.Until != nil {
		text += " to " + b.clock(entry.Until.Time)
	}
	text += " " + string(entry.Result)
	if entry.Reason != "" {
		text += "/" + entry.Reason
	}
	if entry.Count > 1 {
		text += fmt.Sprintf(", %d times", entry.Count)
	}
	if entry.Run != "" {
		text += ", run " + entry.Run
	}
	if entry.StartTime != nil {
		text += ", started " + b.clock(entry.StartTime.Time)
	}
	if entry.EndTime != nil {
		text += ", ended " + b.clock(entry.EndTime.Time)
	}
	if entry.Message != "" {
		text += ": " + firstLine(entry.Message)
	}
	return text
}

// explainEntry is about a time that is in the ledger.
func (b *builder) explainEntry(i int, t time.Time) {
	entry := &b.timetable().Status.Ledger[i]
	source := fmt.Sprintf("status.ledger[%d]", i)
	b.show(source, t, "%s", b.entryText(entry))
	why := wordOr(reasonWords[entry.Reason], firstLine(entry.Message))
	switch entry.Result {
	case v1alpha1.ResultSkipped:
		verdict := Skipped
		if entry.Reason == "Excluded" {
			verdict = Excluded
		}
		b.conclude(verdict, entry.Reason, "%s", why)
	case v1alpha1.ResultMissed:
		b.conclude(Missed, entry.Reason, "%s", why)
	default:
		b.explainEntryOfRun(entry, t)
	}
	if entry.Message != "" {
		b.quote(entry.Message)
	}
	if entry.Count > 1 && entry.Until != nil {
		b.say("So were all %d times from %s to %s.", entry.Count, b.clock(entry.ScheduledTime.Time), b.clock(entry.Until.Time))
	}
	b.entryAdvice(entry, t)
}

func (b *builder) explainEntryOfRun(entry *v1alpha1.LedgerEntry, t time.Time) {
	facts := &RunFacts{Kind: b.childKind(), Name: entry.Run, Trigger: string(entry.Trigger), Attempt: max(1, int(entry.Attempts)), ScheduledTime: optional(t),
		StartTime: optional(timeOf(entry.StartTime)), EndTime: optional(timeOf(entry.EndTime)), Result: string(entry.Result)}
	b.answer.Run = facts
	planned, start := b.plannedStart(t), timeOf(entry.StartTime)
	late := start.Sub(planned)
	switch {
	case start.IsZero() || entry.Attempts > 1 && late > punctual: // the start is that of the first attempt that was still there
		b.conclude(Ran, entry.Reason, "%s", resultWords(entry))
	case late > punctual:
		facts.LateSeconds = new(start.Sub(t).Seconds())
		b.conclude(RanLate, string(entry.Trigger), "%s started %s late; %s", entry.Run, duration.Short(late), resultWords(entry))
		if entry.Trigger == v1alpha1.TriggerCatchUp {
			b.say("It is a run that was made up for: nobody looked when its time came.")
		} else if since, held := b.tellHeldUp(planned, &Run{Child: childCreated(start)}); held {
			if !since.IsZero() {
				b.infer("What kept it after that is not shown.")
			}
		} else {
			b.infer("It came while somebody looked and started late: it waited, for room or because its object could not be created.")
		}
	default:
		facts.LateSeconds = new(max(0, start.Sub(t).Seconds()))
		b.conclude(RanOnTime, entry.Reason, "%s started at %s; %s", entry.Run, b.clock(start), resultWords(entry))
	}
	if entry.Attempts > 1 {
		b.say("It took %d attempts.", entry.Attempts)
	}
	b.objectGone(entry.Run)
}

func (b *builder) childKind() string {
	if kind := b.timetable().Spec.Template.Kind; kind != "" {
		return kind
	}
	return "Job"
}

// entryAdvice says what to do about a result.
func (b *builder) entryAdvice(entry *v1alpha1.LedgerEntry, t time.Time) {
	switch entry.Reason {
	case "Deadline":
		b.say("A longer spec.startingDeadline lets such a time start later.")
	case "Outage":
		b.controllers()
		b.say("spec.catchUp says which of the times start that came while nobody looked.")
	case "QueueFull":
		b.say("spec.concurrency.queueLimit says how many times may wait.")
	case "CreateFailed", "NameTaken":
		for _, event := range b.refusedCreates(t.Add(-time.Minute), b.Now) {
			b.tells(event)
		}
	case "Superseded":
		b.say("spec.concurrency.policy Queue lets several times wait.")
	case "Edited":
		if s := b.timetable().Status.Timing; s != nil {
			b.show("status.timing", s.Since.Time, "this timing has been served since %s", b.clock(s.Since.Time))
		}
	}
	b.next("get "+b.resource()+" -o yaml", "the object with its ledger")
}
