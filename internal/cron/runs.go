// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/schedule"
)

// Outcome says what became of scheduled times. Each scheduled time has one outcome for the life of a process, however
// many passes meet it: a time that Forbid holds up has none until it starts late, or until another one takes its place.
type Outcome struct {
	Result Result
	Why    Why
	// Count is how many scheduled times it is, at least one; First and Last are the first and the last of them.
	Count       int
	First, Last time.Time
}

// Result is the outcome in one word.
type Result string

const (
	// Started: its child was created.
	Started Result = "started"
	// Skipped: it did not start, by what the user asked for.
	Skipped Result = "skipped"
	// Missed: it should have started, and did not.
	Missed Result = "missed"
)

// Why says why a scheduled time did not start; "" for one that did.
type Why string

const (
	// WhyForbidden (skipped): a child was unfinished and concurrencyPolicy is Forbid.
	WhyForbidden Why = "forbidden"
	// WhySuspended (skipped): the CronJob was suspended at that time.
	WhySuspended Why = "suspended"
	// WhySharedName (skipped): its child would have the name of an earlier one's (cronjob.md B7).
	WhySharedName Why = "shared_name"
	// WhyOutage (missed): nobody looked between it and the next one, which starts in its place.
	WhyOutage Why = "outage"
	// WhyDeadline (missed): it was found too late for spec.startingDeadlineSeconds.
	WhyDeadline Why = "deadline"
	// WhyFailed (missed): the API refused or failed what the start needed, until its time was over.
	WhyFailed Why = "failed"
	// WhyForeign (missed): an object of someone else held its child's name.
	WhyForeign Why = "foreign"
	// WhyTooMany (missed): the kind starts nothing after more than 100 missed times.
	WhyTooMany Why = "too_many"
	// WhyEdit (missed): the schedule was changed before it could start, or at a time that nothing tells exactly.
	WhyEdit Why = "edit"
)

// Whys are all reasons.
var Whys = []Why{WhyForbidden, WhySuspended, WhySharedName, WhyOutage, WhyDeadline, WhyFailed, WhyForeign, WhyTooMany, WhyEdit}

// Result is whether times that did not start for this reason were skipped or missed.
func (w Why) Result() Result {
	switch w {
	case WhyForbidden, WhySuspended, WhySharedName:
		return Skipped
	default:
		return Missed
	}
}

// fate is what a pass makes of the time that is due.
type fate int

const (
	fateNone      fate = iota // no time is due
	fateStarted               // its child is created, or will be by this very plan
	fateAdopted               // its child was there, from an earlier pass or process
	fateShared                // its name is used up
	fateForbidden             // it waits for an unfinished child
	fateFailed                // it waits for the API
	fateForeign               // it waits for its name
	fateTooMany               // it waits for a human
)

// createdOrFound tells whether the child of a create that was not answered by it is of that very create.
func createdOrFound(s *started) fate {
	if unclear(s.err) {
		return fateStarted
	}
	return fateAdopted
}

// waitsFor is the reason that becomes final if the time never starts.
func (f fate) waitsFor() Why {
	switch f {
	case fateForbidden:
		return WhyForbidden
	case fateForeign:
		return WhyForeign
	case fateTooMany:
		return WhyTooMany
	default:
		return WhyFailed
	}
}

// ledger is what the outcomes named so far leave for the next pass (memo). A process that has none counts from what
// was recorded: lastScheduleTime, or the creation.
type ledger struct {
	// Upto: every scheduled time up to this one has its outcome, or is Open.
	Upto *time.Time `json:"upto,omitempty"`
	// Open is a scheduled time that may still start.
	Open *openRun `json:"open,omitempty"`
	// Suspended: the latest pass found the CronJob suspended.
	Suspended bool `json:"suspended,omitempty"`
	// Untold were missed, and no event has told of them yet; Told is when one did last.
	Untold []missed   `json:"untold,omitempty"`
	Told   *time.Time `json:"told,omitempty"`
}

type openRun struct {
	Time time.Time `json:"time"`
	Why  Why       `json:"why"`
}

// account is one pass over the ledger.
type account struct {
	ledger
	outcomes []Outcome
	// told are the misses that this pass tells, missedUpto is the last of them, and wake is when it is time for those
	// that it does not tell yet.
	told       []missed
	missedUpto time.Time
	wake       time.Time
}

func (a *account) enter(result Result, why Why, p passed) {
	if p.Count <= 0 {
		return
	}
	a.outcomes = append(a.outcomes, Outcome{Result: result, Why: why, Count: p.Count, First: p.First, Last: p.Last})
	if result == Missed {
		a.miss(why, p)
	}
}

func one(t time.Time) passed { return passed{Count: 1, First: t, Last: t} }

// lost tells whether this pass found scheduled times that are too old for the deadline.
func (a *account) lost() bool {
	for _, o := range a.outcomes {
		if o.Why == WhyDeadline {
			return true
		}
	}
	return false
}

// accountFor names the outcomes of the scheduled times that have passed since the ledger was closed. It is a function of
// the pass's input, so all plans of a pass that get to the same point name the same ones; the shell counts them once.
// kept is the state as the children show it.
func accountFor(in Input, all []Child, kept State, s standing, tm timing, t turn, e edit) account {
	prev := in.memo.ledger
	a := account{ledger: prev}
	if in.Owner.Deleting {
		return a
	}
	if open := prev.Open; open != nil && !open.Time.After(e.since) { // the edit has cancelled it
		a.enter(open.Why.Result(), open.Why, one(open.Time))
		a.Open = nil
	}
	base, due, fate := baseOf(in, kept), tm.due, t.fate
	if done := in.done.started; done != nil && due.IsZero() { // its child was looked for, and the books have it already
		base, due, fate = baseOf(in, in.State), done.start.Time, createdOrFound(done)
	}
	from := a.countsFrom(in, base, e)
	if !in.Spec.Suspend {
		a.passedByEdit(in, all, s, e, from)
	}
	if !s.open {
		a.Suspended = prev.Suspended || in.Spec.Suspend
		a.tell(in, all, nil, time.Time{}, true)
		return a
	}
	a.Suspended = false
	from = maxTime(from, e.since)

	a.close(base, due, tm.earliest)
	if prev.Upto == nil && base.After(from) {
		// Children prove later times than the status: the process that started them died before it could write or tell
		// anything.
		if !finerThanNames(in, s.calendar) {
			a.enter(Missed, WhyOutage, s.calendar.passed(from, base, provedBetween(in, all, from, base)))
		}
		from = base
	}

	latest := due
	if due.IsZero() {
		latest = s.calendar.last(from, in.Now).UTC()
	}
	if latest.After(from) {
		a.passedOver(in, s.calendar, from, due, latest, tm.earliest, fate)
		a.Upto = &latest
	} else {
		a.Upto = &from
	}
	a.enterDue(prev, from, due, fate)
	if !a.doubtful(in, t) {
		a.tell(in, all, s.calendar, due, e.fresh || a.over(fate, baseOf(in, kept)))
	}
	return a
}

// countsFrom is the instant up to which every scheduled time has been accounted for: in this process, or by what is
// recorded.
func (a *account) countsFrom(in Input, base time.Time, e edit) time.Time {
	from := baseOf(in, in.State)
	if a.Upto != nil {
		from = maxTime(base, *a.Upto)
	}
	if e.now.Missed != nil {
		a.missedUpto = *e.now.Missed
		from = maxTime(from, a.missedUpto)
	}
	return from
}

// passedByEdit names what an edit has passed over: times of the former timetable that nobody got to before it, and times
// of the present one that may be later than the edit.
func (a *account) passedByEdit(in Input, all []Child, s standing, e edit, from time.Time) {
	why := WhyEdit
	if a.Suspended {
		why = WhySuspended
	}
	if e.fresh || e.now.Presumed && a.Upto == nil {
		a.enter(why.Result(), why, passedByEdit(calendarOf(in, e.before), s.calendar, from, e.after, e.since,
			provedBetween(in, all, from, e.since)))
	}
}

// enterDue names the outcome of the time that is due.
func (a *account) enterDue(prev ledger, from, due time.Time, f fate) {
	wasOpen := prev.Open != nil && prev.Open.Time.Equal(due)
	if due.IsZero() || !wasOpen && !due.After(from) {
		return
	}
	switch f {
	case fateStarted:
		a.enter(Started, "", one(due))
	case fateAdopted:
		if wasOpen { // a create of ours whose answer got lost had succeeded
			a.enter(Started, "", one(due))
		}
	case fateShared:
		a.enter(Skipped, WhySharedName, one(due))
	default:
		a.Open = &openRun{Time: due, Why: f.waitsFor()}
		return
	}
	a.Open = nil
}

// over tells whether misses do not go on: something starts, or is there, perhaps since an earlier pass that did not know.
// When lastScheduleTime has moved past a miss, no other process would find it.
func (a *account) over(f fate, served time.Time) bool {
	return f == fateStarted || f == fateAdopted || f == fateShared ||
		slices.ContainsFunc(a.Untold, func(m missed) bool { return !m.Last.After(served) })
}

// finerThanNames tells whether several scheduled times share one name.
func finerThanNames(in Input, c calendar) bool {
	return slices.ContainsFunc(c, func(s schedule.Schedule) bool {
		period, every := s.Every()
		return every && period < in.Traits.NameUnit
	})
}

// close names the outcome of the open time, once it is clear that it will not start any more.
func (a *account) close(base, due, earliest time.Time) {
	open := a.Open
	switch {
	case open == nil || open.Time.Equal(due):
		return
	case open.Time.Equal(base): // it has started after all: our create whose answer got lost, or another process
		a.enter(Started, "", one(open.Time))
	case open.Time.Before(due), due.IsZero() && !open.Time.After(earliest):
		a.enter(open.Why.Result(), open.Why, one(open.Time))
	default: // the clock was set back
		return
	}
	a.Open = nil
}

// passedOver names the outcomes of the times in (from, latest] except for due.
func (a *account) passedOver(in Input, c calendar, from, due, latest, earliest time.Time, f fate) {
	prev := in.memo.ledger
	until := latest
	if !due.IsZero() {
		until = due.Add(-time.Nanosecond)
	}
	n := c.count(from, until)
	waits := f == fateForbidden || f == fateNone && in.Spec.Concurrency == batchv1.ForbidConcurrent
	switch {
	case n <= 0:
	case prev.Suspended:
		a.enter(Skipped, WhySuspended, c.passed(from, until, nil))
	case due.IsZero():
		a.enter(Missed, WhyDeadline, c.passed(from, until, nil))
	case prev.Upto == nil && waits:
		// A new process, and a child is in the way: so it may have been for long, and another process has told that.
	case f == fateTooMany:
		a.enter(Missed, WhyTooMany, c.passed(from, until, nil))
	default:
		between := from
		if earliest.After(from) {
			between = earliest
			if until.Before(between) {
				between = until
			}
		}
		a.enter(Missed, WhyDeadline, c.passed(from, between, nil))
		a.enter(Missed, WhyOutage, c.passed(between, until, nil))
	}
}
