// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

const (
	// maxSteps bounds the decisions of one sync. It needs about six.
	maxSteps = 50
	// firstBackoff is how soon a sync that failed is repeated; it doubles each time, up to lastBackoff or what the kind
	// says.
	firstBackoff, lastBackoff = 5 * time.Millisecond, 1000 * time.Second
	// progressEvery is after how many decisions progress is told; progressEveryOfMany is that where there are more than
	// manyChildren, all of which each decision looks at.
	progressEvery, progressEveryOfMany, manyChildren = 4096, 16, 64
)

// sync is one sync of the controller, as internal/controller/scheduled makes it on a server that does what is asked:
// decide, do the next step, tell how it went, decide again. Its first half goes up to the start; what that leaves is
// what the next sync gets. Where all goes well, and that is nearly always, a plan says all that is left to do, and
// nothing is decided again.
func (w *world) sync() {
	in := cron.Input{Now: w.now, Traits: w.traits, Owner: w.owner, Policy: w.policy, Stored: w.stored, Children: w.children, Carried: w.carried}
	plan := w.firstHalf(&in)
	w.carried = plan.Carried
	w.note(plan.Outcomes)
	wake, failed := plan.Wake, plan.Err
	if w.stepwise {
		plan = w.secondHalf(&in, plan)
		wake, failed = first(wake, plan.Wake), plan.Err
	} else {
		if plan.StatusWrite != nil {
			w.write(plan.StatusWrite)
		}
		w.prune(plan.Prune)
	}
	w.wake, w.retryAt = wake, time.Time{}
	if failed == nil {
		w.failures = 0
	} else {
		w.retryAt = w.now.Add(w.backoff())
	}
	w.noteWaiting()
	w.notePause()
}

func (w *world) backoff() time.Duration {
	after := firstBackoff << min(w.failures, 20)
	w.failures++
	if limit := w.traits.MaxBackoff; limit > 0 {
		after = min(after, limit)
	}
	return min(after, lastBackoff)
}

func (w *world) decide(in *cron.Input) cron.Plan {
	every := progressEvery
	if len(w.children) > manyChildren {
		every = progressEveryOfMany
	}
	if w.result.Decisions++; w.result.Decisions%every == 0 && w.options.Progress != nil && !w.stopped {
		w.stopped = !w.options.Progress(w.result.Object, w.now)
	}
	return cron.Decide(*in)
}

// firstHalf is all up to the start.
func (w *world) firstHalf(in *cron.Input) cron.Plan {
	plan := w.decide(in)
	for steps := 0; plan.NextStep() <= cron.StepCheckTemplate && steps < maxSteps; steps++ {
		switch plan.NextStep() {
		case cron.StepRead:
			for _, read := range plan.Read {
				w.answer(in, read)
			}
		case cron.StepStop:
			for _, d := range plan.Stop {
				w.stop(d)
				in.AddStopResult(d, nil)
			}
		case cron.StepStart:
			all := true
			for _, start := range plan.Starts {
				result := w.start(start)
				in.AddStartResult(start, result)
				all = all && result.Outcome == cron.CreateSucceeded && w.entered(plan.StatusWrite, result.Child)
			}
			if all && !w.stepwise && len(plan.Stop) == 0 && w.policy.Timeout == 0 {
				return plan // which says what is left to do if all goes well
			}
		default: // nobody tries templates here
			in.AddTemplateCheckResult(cron.TemplateCheckResult{Verdict: cron.TemplateUnjudged})
		}
		plan = w.decide(in)
	}
	return plan
}

// entered enters a child that was created into the status that is to be written, which was decided before it had a UID;
// false if that does not list it.
func (w *world) entered(write *cron.StatusWrite, c *cron.Child) bool {
	if write == nil || w.stepwise {
		return false
	}
	i := slices.IndexFunc(write.Memory.Active, func(run cron.ActiveRun) bool { return run.Name == c.Name && run.UID == "" })
	if i < 0 {
		return false
	}
	write.Memory.Active = slices.Clone(write.Memory.Active)
	run := &write.Memory.Active[i]
	run.APIVersion, run.Kind, run.UID, run.Started = c.APIVersion, c.Kind, c.UID, c.Created
	return true
}

// secondHalf is what comes after the start.
func (w *world) secondHalf(in *cron.Input, plan cron.Plan) cron.Plan {
	for steps := 0; plan.NextStep() != cron.StepPublish && steps < maxSteps; steps++ {
		switch plan.NextStep() {
		case cron.StepWriteStatus:
			w.write(plan.StatusWrite)
			in.AddStatusWriteResult(nil)
		case cron.StepPrune:
			w.prune(plan.Prune)
			for _, d := range plan.Prune {
				in.AddPruneResult(d, nil)
			}
		default:
			return plan
		}
		plan = w.decide(in)
	}
	return plan
}

// answer answers a live read.
func (w *world) answer(in *cron.Input, read cron.ReadRequest) {
	if read.Owner {
		in.AddReadOwnerResult(w.owner, w.policy, w.stored, nil)
		return
	}
	if i := w.named(read.Name); i >= 0 {
		c := w.children[i]
		in.AddReadChildResult(read, &c, nil)
		return
	}
	in.AddReadChildResult(read, nil, nil)
}

// write makes the status what a sync asks for, as far as the API of the kind can hold it.
func (w *world) write(write *cron.StatusWrite) {
	m, durable := write.Memory, w.traits.Durable
	if !durable.Has(cron.PartResults) {
		m.Cursor, m.Waiting, m.Results, m.Outlook = nil, nil, nil, nil
		runs := make([]cron.ActiveRun, len(m.Active))
		for i := range runs {
			runs[i].ObjectReference = m.Active[i].ObjectReference
		}
		if most := w.traits.MaxActive; most > 0 && len(runs) > most {
			runs = runs[:most]
		}
		m.Active = runs
		if !write.Changed.Has(cron.PartTiming) {
			m.Timing = w.stored.Timing
		}
	} else {
		if m.Timing.Fingerprint == "" {
			m.Timing = w.stored.Timing
		}
		w.setNext(write, &m)
	}
	w.stored = m
}

// setNext enters which times the status says are next. Decisions ask for them after an edit alone, and until all times
// up to it are decided: in a pause that may be long after.
func (w *world) setNext(write *cron.StatusWrite, m *cron.Memory) {
	set, _ := write.Times.(*timeset.Set)
	since := m.Timing.Since
	if decided := since == nil || m.Cursor != nil && !m.Cursor.Before(*since); decided && len(w.edits) == 0 {
		return
	}
	var outlook cron.Outlook
	if m.Outlook != nil {
		outlook = *m.Outlook
	}
	switch cause := m.Pause().Cause; {
	case write.Undecided:
	case cause == cron.PauseSuspended, cause == cron.PauseFailures:
		outlook.Next = nil
	case set != nil:
		outlook.Next = nil
		up := timetable.Upcoming{Now: write.Now}
		if m.Cursor != nil {
			up.Cursor = *m.Cursor
		}
		if until := w.policy.SuspendUntil; until != nil {
			up.SuspendedUntil = *until
		}
		up.Decided = func(t time.Time) bool { return decided(m, t) }
		for _, next := range timetable.NextTimes(set, up) {
			outlook.Next = append(outlook.Next, next.Time.Time)
		}
	}
	m.Outlook = &outlook
}

func decided(m *cron.Memory, t time.Time) bool {
	for i := range m.Active {
		if m.Active[i].Time.Equal(t) {
			return true
		}
	}
	for i := range m.Waiting {
		if m.Waiting[i].Time.Equal(t) {
			return true
		}
	}
	return false
}
