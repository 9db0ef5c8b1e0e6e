// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

type condition = metav1.Condition

func keyOf(o *timetableOwner) types.NamespacedName {
	return types.NamespacedName{Namespace: ns, Name: o.name}
}

// statusWritten judges a status that a process wrote.
func (t *timetablesTruth) statusWritten(o *timetableOwner, before, tt *timetable.Object, by string) {
	was, is := &before.Status, &tt.Status
	counts := &is.Counts
	// A run of a process whose clock was far ahead, that went before it was recorded, counts as started at its time (5.6).
	ahead := t.fastest-t.slowest >= 30*time.Second
	if !ahead && counts.Started != counts.Succeeded+counts.Failed+counts.Cancelled+int64(len(is.Active)) {
		t.breaks("TG5: %s writes of %s that %d have started, of which %d are active, and %+v", by, o.name, counts.Started, len(is.Active), *counts)
	}
	if is.Cursor == nil && was.Cursor == nil {
		return // it was being deleted when it was first seen
	}
	if is.Cursor == nil || was.Cursor != nil && is.Cursor.Before(was.Cursor) {
		t.breaks("%s takes the cursor of %s back from %v to %v", by, o.name, was.Cursor, is.Cursor)
		return
	}
	if text, err := json.Marshal(is); err != nil || len(text) > 200<<10 {
		t.breaks("TG8: a status of %d bytes", len(text))
	}
	if was.Cursor == nil {
		o.began, o.first = t.world.Now(), o.created
		if v := t.managerOf(by).views[keyOf(o)]; v != nil && v.now.Add(-time.Minute).After(o.first) {
			o.first = v.now.Add(-time.Minute) // 5.1: what runs of the time before counts for room, and in the history
		}
	}
	for _, w := range is.Waiting {
		o.waited[w.ScheduledTime.Unix()] = true
	}
	if is.ConsecutiveFailures < was.ConsecutiveFailures && counts.Succeeded == was.Counts.Succeeded {
		t.breaks("%s clears the failures of %s although nothing has succeeded", by, o.name)
	}
	t.noMoreWait(o, is, by)
	t.allCounted(o, was, is, by)
	t.eachOnce(o, was, is, by)
	for _, run := range o.runs {
		c := run.newest()
		isOf := func(a v1alpha1.ActiveRun) bool { return a.ScheduledTime.Time.Equal(run.time) }
		listed := slices.ContainsFunc(is.Active, isOf)
		if listed || !decidedBy(is, run.time) || !run.time.After(o.first) && len(run.attempts) > 0 && !c.finished {
			continue
		}
		run.over = true
		unknown := t.unknownKind(o, c, by) && !slices.ContainsFunc(was.Active, isOf)
		if !c.gone && !c.finished && !c.meddled && !unknown && tt.DeletionTimestamp == nil {
			t.breaks("TG2: %s drops %s, which runs, from %s", by, c.name, o.name)
		}
	}
	if is.Timing != nil {
		for _, v := range o.versions {
			v.served = v.served || v.timing.fingerprint == is.Timing.Fingerprint
		}
	}
}

// noMoreWait: only as many times wait for room as the queue holds, or one (timetable.md 3.6).
func (t *timetablesTruth) noMoreWait(o *timetableOwner, is *v1alpha1.TimetableStatus, by string) {
	m := t.managerOf(by)
	v := m.views[keyOf(o)]
	if paused := conditionOf(is, v1alpha1.ConditionPaused); v == nil || v.obj == nil || paused != nil && paused.Status == "True" {
		return
	}
	places := 1
	for _, a := range t.asked(o, m, v) {
		if a.spec.CatchUp.Policy == v1alpha1.CatchUpAll { // what is made up for waits beside the others
			return
		}
		if limit := a.spec.Concurrency.QueueLimit; limit != nil {
			places = max(places, int(*limit))
		}
	}
	if n := countOf(is.Waiting, func(w v1alpha1.WaitingTime) bool { return w.Reason == "Overlap" }); n > places {
		t.breaks("%s lets %d times of %s wait for room, and there are %d places", by, n, o.name, places)
	}
}

// unreadable are the reasons for which a timing names no times.
var unreadable = []string{"InvalidSchedule", "UnknownTimeZone", "CalendarNotFound", "InvalidExclusion", "NeverFires", "TooFrequent"}

// allCounted is the first equation of TG5: with each status the number of times that have a result, have started or wait
// grows by that of the times between the two cursors: those of the timing that was served, and those that the former
// one had announced.
func (t *timetablesTruth) allCounted(o *timetableOwner, was, is *v1alpha1.TimetableStatus, by string) {
	total := is.Counts.Started + is.Counts.Skipped + is.Counts.Missed + int64(len(is.Waiting))
	grown := total - o.counted
	o.counted = total
	if was.Cursor == nil || is.Timing == nil {
		return // where it began nobody else knows
	}
	from, to := was.Cursor.Time, is.Cursor.Time
	times := map[int64]bool{}
	ready := conditionOf(is, v1alpha1.ConditionReady)
	readable := to.After(from) && (ready == nil || !slices.Contains(unreadable, ready.Reason))
	if readable {
		served := t.timingOf(o, is.Timing.Fingerprint, t.managerOf(by))
		if served == nil {
			t.breaks("%s writes of %s a timing %s that nobody asked for", by, o.name, is.Timing.Fingerprint)
			return
		}
		for at := range served.times.Between(from, to) {
			times[at.Unix()] = true
		}
		for at := range served.excluded.Between(from, to) {
			times[at.Unix()] = true
		}
	}
	// What the former timing had announced counts up to the edit, and as long as there is no other one that can be read.
	announced := to
	if readable && was.Timing != nil && is.Timing.Since.Time.Before(to) {
		announced = is.Timing.Since.Time
	}
	for _, next := range was.Next {
		if next.Time.After(from) && !next.Time.After(announced) {
			times[next.Time.Unix()] = true
		}
	}
	least := int64(len(times))
	for unix := range o.runs { // an edit may have come between a start and its record
		if at := time.Unix(unix, 0); at.After(from) && !at.After(to) {
			times[unix] = true
		}
	}
	if grown < least || grown > int64(len(times)) {
		t.breaks("TG5: %s moves the cursor of %s from %s to %s, between which there are %d times, and counts %d more",
			by, o.name, from.UTC().Format(time.TimeOnly), to.UTC().Format(time.TimeOnly), least, grown)
	}
}

// timingOf is the timing with that fingerprint that somebody asked for, or that a process made of a Timetable and the
// Calendar that it knew; nil if there is none.
func (t *timetablesTruth) timingOf(o *timetableOwner, fingerprint string, m *timetableManager) *timingTruth {
	candidates := []*timingTruth{t.timing(o.obj, m.cachedCalendar())}
	if v := m.views[keyOf(o)]; v != nil && v.obj != nil {
		candidates = append(candidates, v.timing)
		if v.before != nil {
			candidates = append(candidates, v.before)
		}
	}
	for _, v := range o.versions {
		candidates = append(candidates, v.timing)
	}
	i := slices.IndexFunc(candidates, func(c *timingTruth) bool { return c.fingerprint == fingerprint && c.times != nil })
	if i < 0 {
		return nil
	}
	return candidates[i]
}

// eachOnce is the other side of TG5: what a status adds to the ledger was not there before, and every run that is said to
// have started was.
func (t *timetablesTruth) eachOnce(o *timetableOwner, was, is *v1alpha1.TimetableStatus, by string) {
	for _, e := range is.Ledger {
		if e.Count > 1 {
			continue
		}
		same := func(other v1alpha1.LedgerEntry) bool {
			return other.ScheduledTime.Equal(&e.ScheduledTime) && other.Count <= 1
		}
		for _, old := range was.Ledger {
			if same(old) && (old.Result != e.Result || old.Reason != e.Reason) {
				t.breaks("TG5: %s gives %s of %s the result %s, which was %s", by, e.ScheduledTime.UTC().Format(time.TimeOnly), o.name, e.Result, old.Result)
			}
		}
		run := o.runs[e.ScheduledTime.Unix()]
		switch {
		case e.Result == v1alpha1.ResultSkipped || e.Result == v1alpha1.ResultMissed:
			if run != nil && !slices.ContainsFunc(was.Ledger, same) && slices.ContainsFunc(run.attempts, func(c *childTruth) bool { return !c.gone && !t.unknownKind(o, c, by) }) {
				t.breaks("TG5: %s says that %s of %s is %s %s, and %s was made for it", by, e.ScheduledTime.UTC().Format(time.TimeOnly), o.name, e.Result, e.Reason, run.newest().name)
			}
		case run == nil:
			t.breaks("TG5: %s says that %s of %s has %s, for which nothing was made", by, e.ScheduledTime.UTC().Format(time.TimeOnly), o.name, e.Result)
		case e.Result == v1alpha1.ResultSucceeded && !slices.ContainsFunc(run.attempts, func(c *childTruth) bool { return c.succeeded }):
			t.breaks("%s says that %s of %s has succeeded, which it has not", by, e.ScheduledTime.UTC().Format(time.TimeOnly), o.name)
		case e.Result == v1alpha1.ResultFailed && e.Reason != "Timeout" && run.newest().succeeded && !run.newest().stopped: // what is stopped may end unseen
			t.breaks("%s says that %s of %s has failed, which it has not", by, e.ScheduledTime.UTC().Format(time.TimeOnly), o.name)
		}
		if n := countOf(is.Ledger, same); n > 1 {
			t.breaks("TG5: %s gives %s of %s %d results", by, e.ScheduledTime.UTC().Format(time.TimeOnly), o.name, n)
		}
	}
}

// unknownKind tells whether a child is of a kind of which nothing tells a process that began after it was made: the
// template names another one by now, and no status has told of the run (timetable.md 5.7).
func (t *timetablesTruth) unknownKind(o *timetableOwner, c *childTruth, process string) bool {
	return c.kind != o.obj.Spec.Template.Kind && !c.recorded && c.made < t.managerOf(process).began
}

func countOf[T any](list []T, is func(T) bool) (n int) {
	for _, item := range list {
		if is(item) {
			n++
		}
	}
	return n
}
