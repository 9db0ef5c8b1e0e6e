// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// Outcome says what became of scheduled times. Each scheduled time has one outcome for the life of a process, however
// many passes meet it: a time that Forbid holds up has none until it starts late, or until another one takes its place.
type Outcome struct {
	Result Result
	Why    Why
	// Count is how many scheduled times it is, at least one.
	Count int
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
)

// Whys are all reasons.
var Whys = []Why{WhyForbidden, WhySuspended, WhySharedName, WhyOutage, WhyDeadline, WhyFailed, WhyForeign, WhyTooMany}

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
}

type openRun struct {
	Time time.Time `json:"time"`
	Why  Why       `json:"why"`
}

// account is one pass over the ledger.
type account struct {
	ledger
	outcomes []Outcome
}

func (a *account) enter(result Result, why Why, count int) {
	if count > 0 {
		a.outcomes = append(a.outcomes, Outcome{Result: result, Why: why, Count: count})
	}
}

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
func accountFor(in Input, s standing, tm timing, t turn, e edit) account {
	prev := in.memo.ledger
	a := account{ledger: prev}
	if open := prev.Open; open != nil && !open.Time.After(e.since) { // the edit has cancelled it
		a.enter(open.Why.Result(), open.Why, 1)
		a.Open = nil
	}
	if !s.open {
		a.Suspended = prev.Suspended || in.Spec.Suspend
		return a
	}
	a.Suspended = false

	base, due, fate := tm.base, tm.due, t.fate
	if done := in.done.started; done != nil && due.IsZero() { // its child was looked for, and the books have it already
		base, due, fate = baseOf(in, in.State), done.start.Time, createdOrFound(done)
	}
	a.close(base, due, tm.earliest)

	from := maxTime(base, e.since)
	if prev.Upto != nil {
		from = maxTime(from, *prev.Upto)
	}
	latest := due
	if due.IsZero() {
		latest = s.calendar.last(from, in.Now).UTC()
	}
	if latest.After(from) {
		a.passedOver(s.calendar, from, due, latest, tm.earliest, prev, fate)
		a.Upto = &latest
	} else {
		a.Upto = &from
	}

	wasOpen := prev.Open != nil && prev.Open.Time.Equal(due)
	if due.IsZero() || !wasOpen && !due.After(from) {
		return a
	}
	switch fate {
	case fateStarted:
		a.enter(Started, "", 1)
	case fateAdopted:
		if wasOpen { // a create of ours whose answer got lost had succeeded
			a.enter(Started, "", 1)
		}
	case fateShared:
		a.enter(Skipped, WhySharedName, 1)
	default:
		a.Open = &openRun{Time: due, Why: fate.waitsFor()}
		return a
	}
	a.Open = nil
	return a
}

// close names the outcome of the open time, once it is clear that it will not start any more.
func (a *account) close(base, due, earliest time.Time) {
	open := a.Open
	switch {
	case open == nil || open.Time.Equal(due):
		return
	case open.Time.Equal(base): // it has started after all: our create whose answer got lost, or another process
		a.enter(Started, "", 1)
	case open.Time.Before(due), due.IsZero() && !open.Time.After(earliest):
		a.enter(open.Why.Result(), open.Why, 1)
	default: // the clock was set back
		return
	}
	a.Open = nil
}

// passedOver names the outcomes of the times in (from, latest] except for due.
func (a *account) passedOver(c calendar, from, due, latest, earliest time.Time, prev ledger, f fate) {
	n := c.count(from, latest)
	if !due.IsZero() {
		n--
	}
	switch {
	case n <= 0:
	case prev.Suspended:
		a.enter(Skipped, WhySuspended, n)
	case due.IsZero():
		a.enter(Missed, WhyDeadline, n)
	case prev.Upto == nil && f != fateStarted && f != fateShared && f != fateAdopted:
		// A new process, and the start is held up: so it may have been for long, and another process has counted that.
	default:
		late := 0
		if earliest.After(from) {
			late = min(n, c.count(from, earliest))
		}
		a.enter(Missed, WhyDeadline, late)
		a.enter(Missed, WhyOutage, n-late)
	}
}
