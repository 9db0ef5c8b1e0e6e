// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// explainRemembered is about a CronJob or Timetable of which only the journal tells: now, or at a time.
func (b *builder) explainRemembered(at *At) {
	if at != nil {
		b.answer.Asked = optional(at.From)
	}
	b.tellAbsent()
	if at == nil {
		b.explainLast()
		return
	}
	if at.Local != "" {
		b.say("The time is read in UTC: the journal does not have the zone of the schedule.")
	}
	switch found := b.rememberedIn(*at); {
	case at.From.After(b.Now):
		b.conclude(CannotTell, "", "it is to come, and the journal has what was")
		b.lack("the schedule: only the object has it")
	case len(found) > 0:
		b.explainRememberedRuns(found)
	case b.explainRememberedOmission(*at):
	default:
		b.explainNothingRemembered(*at)
	}
	b.nextCarillon("history "+b.remembersOf(), "its runs, and the times without one")
}

// remembersOf is how commands name the object.
func (b *builder) remembersOf() string {
	return strings.ToLower(b.answer.Object.Kind) + "/" + Quoted(b.answer.Object.Name)
}

// tellAbsent says why only the journal tells of the object.
func (b *builder) tellAbsent() {
	if b.Journal.Unasked == "" {
		b.say("There is no such object any more; this is what the journal remembers of one that had the name.")
		b.lack("the object itself: it is gone, and with it the schedule")
		return
	}
	b.say("This is what the journal remembers: %s.", b.Journal.Unasked)
	b.lack("the object itself, with its schedule")
}

// explainLast answers a question about the present: what was last.
func (b *builder) explainLast() {
	last := b.newestRemembered()
	switch {
	case b.Journal.Stopped:
		b.conclude(NotServed, "Stopped", "%s", b.Journal.Unasked)
	case b.Journal.Unasked == "":
		b.conclude(Gone, "", "the journal remembers what it did")
	}
	if last != nil {
		b.describe(last)
		b.answer.Run = last.facts()
		b.say("The last run was %s, which started %s.", last.by(), duration.FromNow(last.Created, b.Now))
		b.tellEnd(last)
		if b.answer.Verdict == "" {
			b.concludeRemembered(last)
		}
	}
	if omissions := b.Journal.Omissions; len(omissions) > 0 {
		o := &omissions[0]
		for i := range omissions {
			if omissions[i].ScheduledTime.After(o.ScheduledTime) {
				o = &omissions[i]
			}
		}
		if last == nil || o.ScheduledTime.After(last.Created) {
			b.show(journalSource, o.Seen, "%s", b.omissionText(o))
			b.say("After that nothing was started for %s: %s.", b.clock(o.ScheduledTime), omissionWhy(o))
		}
	}
	if b.answer.Verdict == "" {
		b.conclude(CannotTell, "", "the journal has no run of it")
	}
	b.nextCarillon("history "+b.remembersOf(), "its runs, and the times without one")
	if b.Journal.Stopped {
		b.answer.Next = append(b.answer.Next, Step{Command: "carillon up" + strings.TrimPrefix(b.kubectl(), "carillon kubectl"), Why: "to have it run again"})
	}
}

// newestRemembered is the run that was started last; nil if there is none.
func (e *Evidence) newestRemembered() *Run {
	if len(e.Runs) == 0 {
		return nil
	}
	return &e.Runs[len(e.Runs)-1]
}

// rememberedIn are the runs that are meant by a time: those that were made for it or, if there are none, started then.
func (e *Evidence) rememberedIn(at At) []*Run {
	var scheduled, started []*Run
	for i := range e.Runs {
		switch r := &e.Runs[i]; {
		case !r.ByHand && !r.ScheduledTime.IsZero() && at.Contains(r.ScheduledTime):
			scheduled = append(scheduled, r)
		case at.Contains(r.Created):
			started = append(started, r)
		}
	}
	if len(scheduled) > 0 {
		return scheduled
	}
	return started
}

// explainRememberedRuns tells of runs of one time: its tries, by their start.
func (b *builder) explainRememberedRuns(found []*Run) {
	for _, r := range found {
		b.describe(r)
	}
	first, last := found[0], found[len(found)-1]
	b.answer.Run = last.facts()
	if !first.ByHand {
		b.answer.ScheduledTime = optional(first.ScheduledTime)
	}
	b.concludeRemembered(first)
	if last.Attempt > 1 {
		b.say("%s is attempt %d of the run (spec.retry).", last.by(), last.Attempt)
	}
	b.tellEnd(last)
}

// concludeRemembered says whether a run started in time. Where the spec is not known nothing tells what a delay was
// for.
func (b *builder) concludeRemembered(r *Run) {
	late := r.Created.Sub(r.ScheduledTime)
	switch {
	case r.ByHand:
		b.conclude(RanByHand, "", "somebody started %s at %s", r.by(), b.clock(r.Created))
	case r.Created.IsZero() || r.ScheduledTime.IsZero():
		b.conclude(Ran, "", "%s was made for it", r.by())
	case r.Attempt > 1:
		b.conclude(Ran, "Retry", "%s is its attempt %d; of earlier attempts nothing is remembered", r.by(), r.Attempt)
	case late <= punctual:
		b.conclude(RanOnTime, "", "%s started at %s", r.by(), b.clock(r.Created))
	case r.Trigger == string(run.CatchUp):
		b.conclude(RanLate, "CatchUp", "%s started %s late", r.by(), duration.Short(late))
		b.say("It is a run that was made up for: nobody looked when its time came.")
	default:
		b.conclude(RanLate, "Unknown", "%s started %s late", r.by(), duration.Short(late))
		b.infer("The journal does not say what it waited for: an earlier run, jitter, or a controller that did not work then.")
	}
}

// explainRememberedOmission answers from an omission of a time; false if there is none.
func (b *builder) explainRememberedOmission(at At) bool {
	for i := range b.Journal.Omissions {
		o := &b.Journal.Omissions[i]
		for _, t := range []time.Time{o.ScheduledTime, o.Until} {
			if !t.IsZero() && at.Contains(t) {
				b.answer.ScheduledTime = optional(t)
				return b.explainOmission(t)
			}
		}
	}
	if !b.explainOmission(at.From) {
		return false
	}
	b.inferred()
	b.infer("Whether the schedule named just %s is not in the journal, which has the first and the last of them.", b.clock(at.From))
	return true
}

// explainNothingRemembered is about a time of which the journal has neither a run nor an omission.
func (b *builder) explainNothingRemembered(at At) {
	b.conclude(CannotTell, "", "the journal has neither a run nor an omission of it")
	if since := b.Journal.Since; since.IsZero() || since.After(at.From) {
		b.conclude(CannotTell, "Forgotten", "the journal does not reach back so far")
		if !since.IsZero() {
			b.lack("the journal remembers nothing before %s", b.clock(since))
		}
		return
	}
	if stopped := b.Journal.StoppedAt; !stopped.IsZero() && at.From.After(stopped) {
		b.conclude(NotServed, "Stopped", "%s", b.Journal.Unasked)
		b.inferred()
		b.infer("The last sign of that Carillon is of %s: nothing has started since.", b.when(stopped))
	}
	before, after := b.around(at.From)
	for _, r := range []*Run{before, after} {
		if r != nil {
			b.describe(r)
		}
	}
	switch {
	case before != nil && after != nil:
		b.say("The last run before it was %s, the first after it %s.", b.startOf(before), b.startOf(after))
	case before != nil:
		b.say("The last run before it was %s; there is none after it.", b.startOf(before))
	case after != nil:
		b.say("There is no run before it; the first after it was %s.", b.startOf(after))
	}
	if b.answer.Verdict == NotServed {
		return
	}
	b.infer("Each run is written there when its object is made, so none was started: the schedule did not name the time, or Carillon did not run then.")
}

// around are the runs that started last before a time, and first after it; nil where there is none.
func (e *Evidence) around(t time.Time) (before, after *Run) {
	for i := range e.Runs {
		switch r := &e.Runs[i]; {
		case r.Created.Before(t):
			before = r
		case after == nil:
			after = r
		}
	}
	return before, after
}

func (b *builder) startOf(r *Run) string { return r.by() + " at " + b.clock(r.Created) }
