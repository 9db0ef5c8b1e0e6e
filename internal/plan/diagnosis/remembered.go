// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Journal is what is remembered of an object when the API server has forgotten it. The zero value is that there is
// none.
type Journal struct {
	// Since is from when on all is remembered; zero if nothing is.
	Since time.Time
	// Runs and Omissions are those of Evidence.Scheduled.
	Runs      []run.Run
	Omissions []run.Omission
	// Gone is the run of the Job that is asked about, Only the CronJob or Timetable, if the journal alone tells of it;
	// nil in all other cases. Runs that have not ended are among Runs then, too.
	Gone *run.Run
	Only *Object
	// Unasked says why no API server was asked about that; "" if one was, and the object is gone. Stopped: it is that
	// the Carillon whose journal this is does not run.
	Unasked string
	Stopped bool
	// StoppedAt is when that Carillon gave its last sign; zero if that is not known.
	StoppedAt time.Time
	// Flags are those that name the journal in commands, with a space before each; "" if others do.
	Flags string
}

// journalSource is how evidence names a journal.
const journalSource = "journal"

// Remember adds what a journal has. Runs whose objects are there, or that have not ended while the object could be
// read, add nothing.
func (e *Evidence) Remember(journal Journal) {
	e.Journal = journal
	for i := range journal.Runs {
		r := &journal.Runs[i]
		if !e.sameObject(r) && (journal.Only != nil || r.Outcome.Ended()) {
			e.Runs = append(e.Runs, rememberedRun(r))
		}
	}
	slices.SortStableFunc(e.Runs, func(a, b Run) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
}

// rememberedRun is a run of a journal as evidence.
func rememberedRun(r *run.Run) Run {
	got := Run{
		Child: cron.Child{
			APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Created: r.Created, Attempt: r.Retry, Phase: cron.Failed,
		},
		ScheduledTime: r.ScheduledTime, ByHand: r.Trigger == run.Manual, Trigger: string(r.Trigger), Ended: r.Ended, Remembered: r,
	}
	if !r.ScheduledTime.IsZero() {
		got.TimeFrom = journalSource
	}
	switch {
	case r.Outcome == run.Succeeded:
		got.Phase = cron.Complete
	case !r.Outcome.Ended():
		got.Phase = cron.Unfinished
	}
	return got
}

// sameObject tells whether a run is among those that are known.
func (e *Evidence) sameObject(r *run.Run) bool {
	return slices.ContainsFunc(e.Runs, func(have Run) bool { return have.UID == r.UID && r.UID != "" || have.Name == r.Name })
}

// kept are the runs whose objects are there.
func (e *Evidence) kept() []*Run {
	var found []*Run
	for i := range e.Runs {
		if e.Runs[i].Remembered == nil {
			found = append(found, &e.Runs[i])
		}
	}
	return found
}

// tellRemembered says how a run ended of which only the journal tells.
func (b *builder) tellRemembered(r *run.Run, subject string) jobEnd {
	took := ""
	if d := r.Duration(b.Now); d > 0 && r.Outcome.Ended() {
		took = ", after " + duration.Short(d)
	}
	when := ""
	if !r.Ended.IsZero() {
		when = " at " + b.when(r.Ended)
	}
	detail := rememberedDetail(r)
	end := jobEnd{verdict: Failed, reason: r.Reason, summary: "at " + b.when(r.Ended)}
	switch r.Outcome {
	case run.Succeeded:
		b.say("%s succeeded%s%s%s.", subject, when, took, detail)
		end.verdict, end.reason = Succeeded, ""
	case run.Failed:
		why := cmp.Or(failureWords[r.Reason], firstLine(r.Message), "the journal does not tell why")
		b.say("%s failed%s%s: %s%s.", subject, when, took, why, detail)
		end.summary = why
	case run.Cancelled:
		why := cmp.Or(firstLine(r.Message), "it did not end by itself")
		b.say("%s was cancelled%s%s: %s%s.", subject, when, took, why, detail)
		end.verdict, end.summary = Cancelled, why
	case run.Active:
		end.summary = "it ran when the journal was written last, and nobody could be asked how it goes on"
		if b.Journal.Stopped {
			end.summary = "it had " + run.LeftWords
		}
		b.say("%s had not ended when %s%s.", subject, map[bool]string{true: "Carillon stopped", false: "the journal was written last"}[b.Journal.Stopped], detail)
		end.verdict = CannotTell
	default:
		b.say("%s has ended, and nobody saw how%s.", subject, detail)
		end.verdict, end.summary = CannotTell, "it has ended, and nobody saw how"
	}
	if r.Kind == "Job" {
		b.nextCarillon("logs job/"+Quoted(r.Name), "what it has written, from the journal")
	}
	return end
}

// rememberedDetail is what the attempts of a run tell, for the end of a sentence.
func rememberedDetail(r *run.Run) string {
	var parts []string
	if r.ExitCode != nil && (*r.ExitCode != 0 || r.Outcome != run.Succeeded) {
		text := fmt.Sprintf("exit code %d", *r.ExitCode)
		if words := exitWords[*r.ExitCode]; words != "" {
			text += ": " + words
		}
		parts = append(parts, text)
	}
	if r.Attempts > 1 {
		parts = append(parts, quantity.Count(r.Attempts, "attempt"))
	}
	if r.MemoryPeak > 0 {
		parts = append(parts, "at most "+quantity.Bytes(r.MemoryPeak)+" of memory")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// explainOmission answers for a scheduled time of which the journal knows that it was not started; false if it does
// not.
func (b *builder) explainOmission(t time.Time) bool {
	for i := range b.Journal.Omissions {
		o := &b.Journal.Omissions[i]
		last := o.ScheduledTime
		if o.Until.After(last) {
			last = o.Until
		}
		if t.Before(o.ScheduledTime) || t.After(last) {
			continue
		}
		verdict, why := Skipped, omissionWhy(o)
		switch {
		case o.Missed:
			verdict = Missed
		case o.Reason == "Excluded":
			verdict = Excluded
		}
		b.conclude(verdict, o.Reason, "%s", why)
		b.show(journalSource, o.Seen, "%s", b.omissionText(o))
		if o.Count > 1 && !o.Until.IsZero() {
			b.say("So were all %d times from %s to %s.", o.Count, b.clock(o.ScheduledTime), b.clock(o.Until))
		}
		if b.Scheduled == nil {
			return true
		}
		for _, event := range b.naming(b.aboutOwner("MissSchedule", "JobAlreadyActive", "ForbidConcurrent"), t) {
			b.tells(event)
		}
		if o.Reason == "Overlap" {
			for _, r := range b.blockersAt(t) {
				end := "has not ended yet"
				if !r.Active() {
					end = "ended at " + b.clock(r.Ended)
				}
				b.say("%s had begun before and %s: %s.", r.by(), end, b.overlapRule())
			}
		}
		return true
	}
	return false
}

// omissionWhy says why nothing was started.
func omissionWhy(o *run.Omission) string {
	return cmp.Or(reasonWords[o.Reason], firstLine(o.Message), "why is not told")
}

func (b *builder) omissionText(o *run.Omission) string {
	text := b.clock(o.ScheduledTime)
	if !o.Until.IsZero() {
		text += " to " + b.clock(o.Until)
	}
	word := "skipped"
	if o.Missed {
		word = "missed"
	}
	text += " " + word
	if o.Reason != "" {
		text += ", reason " + o.Reason
	}
	if o.Count > 1 {
		text += fmt.Sprintf(", %d times", o.Count)
	}
	return text
}

// explainSilence answers for a time that the journal would know if a run of it had started; false if it cannot tell.
func (b *builder) explainSilence(t time.Time) bool {
	since := b.Journal.Since
	if since.IsZero() {
		return false
	}
	if since.After(t) {
		b.lack("the journal remembers nothing before %s", b.clock(since))
		return false
	}
	b.conclude(Missed, "Unknown", "the journal has no run of it")
	b.inferred()
	b.show(journalSource, since, "all runs since %s are in it; none is of %s", b.clock(since), b.clock(t))
	b.infer("Each run is written there when its object is made, so none was started for %s.", b.clock(t))
	b.infer("Nor does the journal say that it was skipped: most likely Carillon did not run then, or the schedule was another one.")
	return true
}

// explainGone is about a Job of which only the journal tells.
func (b *builder) explainGone(r *run.Run) {
	b.show(journalSource, r.Created, "created %s", b.clock(r.Created))
	b.answer.Run = rememberedFacts(r)
	owner := strings.ToLower(r.Owner.Kind) + "/" + r.Owner.Name
	switch {
	case r.Owner.Name == "":
		b.say("It was created at %s on its own: no schedule made it.", b.when(r.Created))
	case r.Trigger == run.Manual:
		b.say("Somebody started it by hand from %s, at %s.", owner, b.when(r.Created))
	case r.ScheduledTime.IsZero():
		b.say("%s started it.", owner)
	case r.Lateness() > punctual:
		b.say("%s started it for %s, %s late.", owner, b.clock(r.ScheduledTime), duration.Short(r.Lateness()))
	default:
		b.say("%s started it for %s, on time.", owner, b.clock(r.ScheduledTime))
	}
	b.answer.ScheduledTime = optional(r.ScheduledTime)
	end := b.tellRemembered(r, "It")
	b.conclude(end.verdict, end.reason, "%s", end.summary)
	if b.Journal.Unasked != "" {
		b.lack("the Job itself: %s", b.Journal.Unasked)
		return
	}
	b.lack("the Job itself: its object is gone, by the history limits, its TTL or by hand")
}

// rememberedFacts are those for the answer.
func rememberedFacts(r *run.Run) *RunFacts {
	got := rememberedRun(r)
	return got.facts()
}

// nextCarillon suggests a command of this program about the same place, which only a Carillon of this machine has a
// journal for.
func (b *builder) nextCarillon(command, why string) {
	flags := strings.TrimPrefix(b.kubectl(), "carillon kubectl")
	if flags == b.kubectl() {
		flags = ""
	}
	flags += b.Journal.Flags
	step := Step{Command: "carillon " + command + flags + " -n " + Quoted(b.answer.Object.Namespace), Why: why}
	if !slices.Contains(b.answer.Next, step) {
		b.answer.Next = append(b.answer.Next, step)
	}
}
