// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Memory is what is remembered of an object from one sync to the next, one type for all kinds. Of its parts those
// survive the process that the kind's status can hold (KindTraits.Durable): they come in Input.Stored and go out in
// Plan.StatusWrite. The others ride in the process, from Plan.Carried to Input.Carried, and so does what could not be
// written yet. The zero Memory is that of an object which nobody has seen before.
//
// A crash that loses what rides may start a scheduled time again whose child was deleted before it could be recorded,
// or start beside a child whose create was not answered and that the cache does not show yet. All else is rebuilt from
// the children.
//
// It is a value: no sync modifies what another one holds.
type Memory struct {
	// Active are the runs that have begun and have no result, as status.active has them, in their order.
	Active []ActiveRun
	// LastSchedule is status.lastScheduleTime, nil when absent; a pointer to the zero time is a value like any other.
	LastSchedule *time.Time
	// LastSuccessful is status.lastSuccessfulTime, nil when absent or when the kind has none.
	LastSuccessful *time.Time
	// Conditions are status.conditions; nil when the kind has none, or when they are not asked for.
	Conditions []metav1.Condition
	// Timing is the timing that was served last, zero when nothing tells.
	Timing ServedTiming
	// Cursor: every scheduled time up to this one has its outcome, or waits. Nil when nobody has counted yet.
	Cursor *time.Time
	// Waiting are scheduled times that have come and may still start, in their order.
	Waiting []WaitingTime
	// Outlook is what the status says of times to come; nil is the zero Outlook, as where the status says nothing of them.
	Outlook *Outlook
	// Results are the outcomes so far; nil when there are none, or where the status does not hold them.
	Results *Results

	// scheduleUnchangedSince is Owner.ScheduleUnchangedSince, in seconds; zero when it was unknown. It and what follows
	// are held by no status.
	scheduleUnchangedSince int64
	// process is nil when there is nothing in it, as at most times.
	process *inProcess
}

// Outlook is what a status says of times to come. It is never modified: a Memory gets another one.
type Outlook struct {
	// Pause is why no scheduled time started at the last sync although all was well, and NotReady is whether something was
	// wrong that kept them from starting.
	Pause    Pause
	NotReady bool
	// Next are the scheduled times that the status said are to come, in their order. Whoever writes the status makes them.
	Next []time.Time
	// Template is what is known of what the template makes.
	Template TemplateCheck
}

func (m *Memory) outlook() Outlook {
	if m.Outlook == nil {
		return Outlook{}
	}
	return *m.Outlook
}

// Pause is why no scheduled time started at the last sync although all was well.
func (m *Memory) Pause() Pause { return m.outlook().Pause }

// ActiveRun is a run that has begun and has no result yet.
type ActiveRun struct {
	// ObjectReference is that of its newest child.
	corev1.ObjectReference
	// What follows is zero in kinds whose status lists references only, for what an earlier sync started.

	// Time is its scheduled time, and Trigger what made it.
	Time    time.Time
	Trigger Trigger
	// Attempt is the number of the newest child in the run, from 1 on, and Started is when that was created.
	Attempt int
	Started time.Time
	// RetryAt is when the next attempt is to start; nil while the newest child may still end well.
	RetryAt *time.Time
	// Stopping is why it is being stopped, "" if it is not.
	Stopping Reason
}

func (r *ActiveRun) same(other *ActiveRun) bool {
	return r.ObjectReference == other.ObjectReference && r.Time.Equal(other.Time) && r.Trigger == other.Trigger && r.Attempt == other.Attempt &&
		r.Started.Equal(other.Started) && sameTime(r.RetryAt, other.RetryAt) && r.Stopping == other.Stopping
}

// WaitingTime is a scheduled time that has come and may still start.
type WaitingTime struct {
	// Time is the scheduled time.
	Time time.Time
	// Trigger is what is to make the run, if it starts.
	Trigger Trigger
	// Reason is what it waits for. In kinds whose status holds no waiting times it becomes final if it never starts.
	Reason Reason
	// Since is when times began to wait, one taking the place of another without interruption; nil where the status holds
	// no waiting times, and for those that were found late.
	Since *time.Time
	// Message is what the API said, and what to do about it; "" if this sync has nothing to say. Another message alone is
	// not worth a write.
	Message string
}

// inProcess are the parts of a Memory that no status holds.
type inProcess struct {
	// suspended: the latest sync found the object suspended.
	suspended bool
	// unreported were missed, and no event has reported them yet; reportedAt is when one last reported any.
	unreported []missed
	reportedAt *time.Time
	// unconfirmed are the names of children that may exist although neither the cache nor the status shows them.
	unconfirmed []string
	// unrecorded is the latest scheduled time that is known to have been served and that no status write has recorded
	// yet. Its child proves it, but anybody may delete that before a write succeeds.
	unrecorded *time.Time
	// takenOut are times of which the stored status says that they wait or are next, and which an edit took out that could
	// not be written yet: even if a later edit names them again, they do not start.
	takenOut []time.Time
	// attempts are runs with the newest attempt that is known of them, where no status write has recorded it yet: it runs,
	// and anybody may delete it before a write succeeds; or it has failed, and where the child does not tell when, the
	// next one counts from when this was first seen.
	attempts []ActiveRun
	// elsewhere are times that were given a result by a sync whose status write is still to be made.
	elsewhere []time.Time
	// ownerRemoved are times whose child was created, came back without our owner reference and was deleted again, where no
	// status write has recorded that yet: they are not created again.
	ownerRemoved []time.Time
	// ended are the scheduled times of runs that were given a result by a sync whose status write is still to be made.
	ended []time.Time
	// lasting are the events of lately whose cause lasts, and misconfigured is what the sync found.
	lasting       []lastingEvent
	misconfigured Misconfiguration
	// template is what was found out of the template and is not written yet, and unjudged is one of which nothing was.
	template TemplateCheck
	unjudged unjudgedTemplate
}

// orNil is nil for what holds nothing.
func (p inProcess) orNil() *inProcess {
	entries := len(p.unreported) + len(p.unconfirmed) + len(p.takenOut) + len(p.attempts) + len(p.elsewhere) + len(p.ownerRemoved) +
		len(p.ended) + len(p.lasting)
	if entries == 0 && !p.suspended && p.reportedAt == nil && p.unrecorded == nil && p.misconfigured == "" &&
		p.template == (TemplateCheck{}) && p.unjudged == (unjudgedTemplate{}) {
		return nil
	}
	return new(p)
}

// inProcess is what rides in the process only.
func (m *Memory) inProcess() inProcess {
	if m.process == nil {
		return inProcess{}
	}
	return *m.process
}

// Parts are a set of parts of a Memory.
type Parts uint

// The parts that some kind's status holds.
const (
	PartActive Parts = 1 << iota
	PartLastSchedule
	PartLastSuccessful
	PartConditions
	PartTiming
	PartCursor
	PartWaiting
	PartResults
	// PartGates are Pause and NotReady of the Outlook, and PartTemplate is its Template.
	PartGates
	PartTemplate
)

// Has tells whether all of these parts are in the set.
func (p Parts) Has(parts Parts) bool { return p&parts == parts }

// remembered is all that is known when a sync begins: what is stored, and what rides.
func (in *Input) remembered() Memory {
	m := in.Stored
	m.process, m.scheduleUnchangedSince = in.Carried.process, in.Carried.scheduleUnchangedSince
	if !in.Traits.Durable.Has(PartCursor) {
		m.Cursor = in.Carried.Cursor
	}
	if !in.Traits.Durable.Has(PartWaiting) {
		m.Waiting = in.Carried.Waiting
	} else {
		if slices.ContainsFunc(m.Waiting, in.hasNotCome) {
			m.Waiting = slices.DeleteFunc(slices.Clone(m.Waiting), in.hasNotCome)
		}
		m.Waiting = append(slices.Clip(m.Waiting), in.unrecordedWaiting()...)
	}
	if served := m.inProcess().unrecorded; served != nil {
		m.LastSchedule = later(m.LastSchedule, *served)
	}
	return m
}

// hasNotCome tells whether a time that is stored as waiting is yet to come, and no clock that was ahead has decided it: nobody
// of ours has written that, or what has is not believed (timetable.md 5.6). It comes by itself if the timing names it.
func (in *Input) hasNotCome(w WaitingTime) bool {
	return w.Time.After(in.Now) && w.Time.After(baseOf(in, &in.Stored))
}

// unrecordedWaiting are the times that wait because nobody can tell whether they have started, and that no status could
// record. They are later than the stored cursor.
func (in *Input) unrecordedWaiting() (waiting []WaitingTime) {
	for _, w := range in.Carried.Waiting {
		if w.Time.After(baseOf(in, &in.Stored)) && in.mayExist(childName(in, w.Time)) {
			waiting = append(waiting, w)
		}
	}
	return waiting
}

// waits tells whether a time is among those that wait.
func waits(waiting []WaitingTime, t time.Time) bool {
	return slices.ContainsFunc(waiting, func(w WaitingTime) bool { return w.Time.Equal(t) })
}

// firstWaiting is the first of the times that wait, nil if none does.
func (m *Memory) firstWaiting() *WaitingTime {
	if len(m.Waiting) == 0 {
		return nil
	}
	return &m.Waiting[0]
}

// changedFrom are the parts in which m differs from what is stored, of those that the kind's status holds; active are those of
// the active runs that are written. PartTiming is not among them: it is written only where that is worth it (edit.needsWrite).
func (m *Memory) changedFrom(stored *Memory, active []ActiveRun, durable Parts) Parts {
	var changed Parts
	if !sameRuns(active, stored.Active) {
		changed |= PartActive
	}
	if !sameTime(m.LastSchedule, stored.LastSchedule) {
		changed |= PartLastSchedule
	}
	if !sameTime(m.LastSuccessful, stored.LastSuccessful) {
		changed |= PartLastSuccessful
	}
	if !slices.EqualFunc(m.Conditions, stored.Conditions, sameCondition) {
		changed |= PartConditions
	}
	if !sameTime(m.Cursor, stored.Cursor) {
		changed |= PartCursor
	}
	if m.Results != stored.Results { // those that are the same are shared (Results.with)
		changed |= PartResults
	}
	is, was := m.outlook(), stored.outlook()
	if !is.Pause.same(&was.Pause) || is.NotReady != was.NotReady {
		changed |= PartGates
	}
	if is.Template != was.Template {
		changed |= PartTemplate
	}
	if !slices.EqualFunc(m.Waiting, stored.Waiting, WaitingTime.same) {
		changed |= PartWaiting
	}
	return changed & durable
}

func sameRuns(a, b []ActiveRun) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].same(&b[i]) {
			return false
		}
	}
	return true
}

func (w WaitingTime) same(other WaitingTime) bool {
	return w.Time.Equal(other.Time) && w.Trigger == other.Trigger && w.Reason == other.Reason && sameTime(w.Since, other.Since)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}

// carried is what this sync leaves for the next one in this process, beside what is written. A create that is still to
// be made has changed nothing yet.
func (s *syncState) carried(reported []lastingEvent, found Misconfiguration) Memory {
	known := &s.status
	if len(s.start.creates) > 0 {
		known = &s.observed.status
	}
	o := &s.outcomes
	p := inProcess{
		suspended: o.suspended, unreported: o.unreported, reportedAt: o.reportedAt, lasting: reported, misconfigured: found,
		unconfirmed: unconfirmedAfter(s.in, known), unrecorded: unrecordedTime(s.in, known), attempts: s.unrecordedAttempts(known),
		elsewhere: s.elsewhereTimes(), ownerRemoved: s.ownerRemovedTimes(), ended: s.endedRuns(), takenOut: s.takenOut,
		template: s.templateToCarry(), unjudged: s.unjudged,
	}
	if s.in.done.record != nil && s.in.done.record.err == nil && !s.undecided() && s.in.Policy.Timing.Times != nil {
		p.takenOut = nil // else the status still says that they wait or are next
	}
	m := Memory{Timing: s.served, Cursor: o.cursor, Waiting: o.waiting, process: p.orNil()}
	if !s.in.Owner.ScheduleUnchangedSince.IsZero() {
		m.scheduleUnchangedSince = s.in.Owner.ScheduleUnchangedSince.Unix()
	}
	return m
}

// carriedUndecided is what a sync leaves that decides nothing: what it got, and where the status holds a cursor the edit that
// it sees, or that would be forgotten when it is undone before anything is decided.
func (s *syncState) carriedUndecided() Memory {
	m := s.in.Carried
	if s.in.Traits.Durable.Has(PartCursor) {
		p := m.inProcess()
		p.takenOut = s.takenOutTimes()
		m.Timing, m.process = s.edit.now, p.orNil()
	}
	return m
}

// ownerRemovedTimes are those whose child lost our owner reference, without those that the status has a result of.
func (s *syncState) ownerRemovedTimes() []time.Time {
	times := append(slices.Clip(s.in.Carried.inProcess().ownerRemoved), s.start.ownerRemoved...)
	if s.in.done.record == nil || s.in.done.record.err != nil || s.undecided() {
		return times
	}
	return slices.DeleteFunc(times, func(t time.Time) bool {
		return !waits(s.outcomes.waiting, t) && s.outcomes.cursor != nil && !t.After(*s.outcomes.cursor)
	})
}

// unrecordedTime is lastScheduleTime as the sync knows it, nil if the server knows it too.
func unrecordedTime(in *Input, status *Memory) *time.Time {
	last := status.LastSchedule
	if last == nil || in.done.record != nil && in.done.record.err == nil {
		return nil
	}
	if stored := in.Stored.LastSchedule; stored != nil && !last.After(*stored) {
		return nil
	}
	return last
}
