// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// childMade judges a child that a process made.
func (t *timetablesTruth) childMade(o *timetableOwner, c *childTruth, child *unstructured.Unstructured, m *timetableManager) {
	t.made++
	annotations := child.GetAnnotations()
	scheduled, err := time.Parse(time.RFC3339, annotations[v1alpha1.AnnotationScheduledTime])
	c.attempt, _ = strconv.Atoi(annotations[v1alpha1.AnnotationAttempt])
	c.scheduled = scheduled.UTC()
	v := m.views[keyOf(o)]
	switch {
	case err != nil || c.attempt < 1:
		t.breaks("%s is made for no scheduled time", c.name)
		return
	case v == nil || v.obj == nil || v.obj.UID != o.uid:
		t.breaks("%s is made for %s, which no cache shows", c.name, o.uid)
		return
	case c.name != timetable.ChildName(timetable.RunName(o.name, scheduled), int32(c.attempt)):
		t.breaks("%s is made for %v, attempt %d", c.name, scheduled, c.attempt)
	case child.GetLabels()[v1alpha1.LabelTimetableUID] != string(o.uid):
		t.breaks("%s has no label that says whose it is", c.name)
	case !scheduled.After(o.created):
		t.breaks("TG4: %s is made for a time before the Timetable was", c.name)
	case c.attempt == 1 && !o.waited[scheduled.Unix()] && scheduled.After(v.now) && scheduled.After(m.process.Clock.Now()):
		t.breaks("%s is made early", c.name)
	}
	asked := t.asked(o, m, v)
	run := o.runs[scheduled.Unix()]
	if run == nil {
		run = &runTruth{time: c.scheduled}
		o.runs[scheduled.Unix()] = run
	}
	t.noSecond(o, run, c)
	if c.attempt == 1 {
		t.mayStart(o, c, v, m, asked)
		t.hasRoom(o, c, asked)
	} else {
		t.mayRepeat(o, run, c, m, asked)
	}
	run.attempts = append(run.attempts, c)
	run.over = false
}

// noSecond is TG1: the name is the lock while the child is there, and the status after that. What went before any status
// told of it may come again (S2).
func (t *timetablesTruth) noSecond(o *timetableOwner, run *runTruth, c *childTruth) {
	for _, first := range run.attempts {
		if first.attempt == c.attempt && first.recorded {
			t.breaks("TG1: %s is made again for %s; %s has made it before, and a status has told of it", c.name, o.name, first.maker)
		}
		if first.attempt == c.attempt && first.stopper == c.maker {
			t.breaks("TG1: %s is made again for %s by %s, which has stopped it", c.name, o.name, c.maker)
		}
		if first.attempt > c.attempt && (first.recorded || !first.gone || first.maker == c.maker) {
			t.breaks("TG1: %s is made after attempt %d", c.name, first.attempt)
		}
	}
	if len(run.attempts) == 0 && c.attempt == 1 && decidedBy(&o.obj.Status, c.scheduled) &&
		!slices.ContainsFunc(o.obj.Status.Active, func(a v1alpha1.ActiveRun) bool { return a.ScheduledTime.Time.Equal(c.scheduled) }) {
		t.breaks("TG5: %s is made for a time that has a result already", c.name)
	}
}

// mayStart judges the first child of a run by what was asked for.
func (t *timetablesTruth) mayStart(o *timetableOwner, c *childTruth, v *timetableView, m *timetableManager, asked []*timetableVersion) {
	at := c.scheduled
	never := func(is func(*timetableVersion) bool, format string, args ...any) {
		if allOf(asked, is) {
			t.breaks("%s is made for %s: "+format, append([]any{c.name, at.Format(time.RFC3339)}, args...)...)
		}
	}
	late := func(a *timetableVersion) time.Duration {
		if a.timing.times == nil {
			return v.now.Sub(at)
		}
		return v.now.Sub(a.timing.times.PlannedStart(at))
	}
	never(func(a *timetableVersion) bool { return a.timing.times == nil }, "TG8: nobody can read its timing")
	never(func(a *timetableVersion) bool { return a.timing.times != nil && !a.timing.names(at) }, "TG4: its timing does not name it")
	never(func(a *timetableVersion) bool {
		return !o.waited[at.Unix()] && a.timing.names(at) && a.timing.times.PlannedStart(at).After(v.now)
	}, "before its planned start")
	never(func(a *timetableVersion) bool {
		return a.spec.Suspend || a.spec.SuspendUntil != nil && v.now.Before(a.spec.SuspendUntil.Time)
	}, "TG3: it is suspended")
	never(func(a *timetableVersion) bool {
		return a.spec.StartingDeadline != nil && late(a) >= duration(a.spec.StartingDeadline)
	}, "TG3: it is too late for the deadline")
	if !o.waited[at.Unix()] && !notReady(&o.obj.Status) && !notReady(&v.obj.Status) {
		never(func(a *timetableVersion) bool {
			return a.spec.CatchUp.Policy == v1alpha1.CatchUpNone && late(a) > time.Minute
		},
			"TG3: it is late, and nothing is to be made up for")
		never(func(a *timetableVersion) bool {
			if a.spec.CatchUp.Policy != v1alpha1.CatchUpLatest || a.timing.times == nil {
				return false
			}
			next := o.nextServed(a.timing, at)
			return !next.IsZero() && !a.timing.times.PlannedStart(next).After(v.now)
		}, "TG3: it is not the latest time, and was not waiting")
	}
	t.noPast(o, c, asked)
	never(func(a *timetableVersion) bool {
		return a.spec.PauseAfterFailures != nil && unpausedFailures(&v.obj.Status) >= *a.spec.PauseAfterFailures && !t.succeededSince(o, &o.obj.Status)
	}, "so many runs have failed that none may start")
	s := &o.obj.Status
	if paused := conditionOf(s, v1alpha1.ConditionPaused); paused != nil && paused.Reason == "Failures" && s.Pause != nil && s.Pause.Since != nil &&
		len(asked) == 1 && s.Pause.Generation == o.obj.Generation && s.Pause.ResumeToken == timetable.ResumeToken(o.obj.Annotations[v1alpha1.AnnotationResume]) &&
		!t.succeededSince(o, s) {
		t.breaks("%s is made although %s is paused after %d failures", c.name, o.name, s.ConsecutiveFailures)
	}
}

// notReady tells whether a status says that scheduled times wait for a mend: which of them start then is not for catchUp
// to say (timetable.md 4.1).
func notReady(s *v1alpha1.TimetableStatus) bool {
	ready := conditionOf(s, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == "False" && ready.Reason != "TemplateRejected"
}

// nextServed is the time of a timing after another one, of which it is clear that no edit has taken it out: while an edit
// is not recorded, nobody can tell when a process has seen it, and only what the status has announced stays (5.7).
func (o *timetableOwner) nextServed(timing *timingTruth, at time.Time) time.Time {
	s := &o.obj.Status
	if s.Timing == nil || s.Timing.Fingerprint == timing.fingerprint {
		return timing.times.Next(at)
	}
	for _, next := range s.Next {
		if next.Time.After(at) && timing.names(next.Time.Time) {
			return next.Time.Time
		}
	}
	return time.Time{}
}

// unpausedFailures are how many runs have failed in a row, as a status tells that knows of no pause because of them.
func unpausedFailures(s *v1alpha1.TimetableStatus) int32 {
	switch {
	case s.Pause == nil:
		return s.ConsecutiveFailures
	case s.Pause.Since != nil:
		return 0
	}
	return s.ConsecutiveFailures - s.Pause.Base
}

// succeededSince tells whether a run has succeeded that a status does not tell of.
func (t *timetablesTruth) succeededSince(o *timetableOwner, s *v1alpha1.TimetableStatus) bool {
	for _, run := range o.runs {
		if len(run.attempts) > 0 && run.newest().succeeded && !run.over {
			return true
		}
	}
	return false
}

func conditionOf(s *v1alpha1.TimetableStatus, name string) *condition {
	i := slices.IndexFunc(s.Conditions, func(c condition) bool { return c.Type == name })
	if i < 0 {
		return nil
	}
	return &s.Conditions[i]
}

func duration(d *v1alpha1.Duration) time.Duration {
	parsed, err := time.ParseDuration(string(*d))
	must(err)
	return parsed
}

// noPast is TG4: nothing starts for a time at or before an edit that the timing before it did not name too. It was
// named by a timing that was asked for before it came, and no timing that was served since, up to the first one later
// that names it, has lacked it.
func (t *timetablesTruth) noPast(o *timetableOwner, c *childTruth, asked []*timetableVersion) {
	if o.obj.Status.Timing == nil {
		return // 5.7: an edit that comes before any status is none to the next process
	}
	var lacks string
	// With the Calendar that there was, or one that the process still knows.
	names := func(v *timetableVersion) bool {
		// Without its Calendar a timing is what a process knew of it before that went: a time of that has waited since.
		unread := v.timing.times == nil && o.waited[c.scheduled.Unix()]
		return unread || v.timing.names(c.scheduled) || slices.ContainsFunc(asked, func(a *timetableVersion) bool {
			return a.generation == v.generation && a.timing.names(c.scheduled)
		})
	}
	// What was edited before the first status is no edit: what that status serves was asked for from the first.
	first := slices.IndexFunc(o.versions, func(v *timetableVersion) bool { return v.served })
	for i, v := range o.versions {
		if i != first && v.set.After(c.scheduled.Add(-t.slowest)) || !names(v) {
			continue
		}
		lacked := false
		for _, w := range o.versions[i+1:] {
			if w.timing.times == nil {
				continue
			}
			if names(w) {
				break
			}
			if w.served {
				lacked, lacks = true, w.timing.fingerprint
			}
		}
		if !lacked {
			return
		}
	}
	t.breaks("TG4: %s is made for %s, which no timing before that named (or %s, that was served, did not)", c.name, c.scheduled.Format(time.RFC3339), lacks)
}

// limitOf is how many runs may be active.
func limitOf(spec *v1alpha1.TimetableSpec) int {
	switch c := &spec.Concurrency; {
	case c.Policy == v1alpha1.AllowConcurrent:
		return 100
	case c.Limit != nil:
		return int(*c.Limit)
	}
	return 1
}

func retriesOf(spec *v1alpha1.TimetableSpec) int {
	if spec.Retry == nil {
		return 0
	}
	return int(spec.Retry.Limit)
}

// isActive tells whether a run has begun and has no result: its newest child is unfinished, or another one is to come.
func (t *timetablesTruth) isActive(o *timetableOwner, run *runTruth, asked []*timetableVersion) bool {
	c := run.newest()
	switch {
	case !c.finished && !c.gone:
		return true
	case c.succeeded || run.over || c.gone && !c.recorded:
		return false
	}
	i := slices.IndexFunc(o.obj.Status.Active, func(a v1alpha1.ActiveRun) bool { return a.ScheduledTime.Time.Equal(run.time) })
	if i < 0 && !decidedBy(&o.obj.Status, run.time) && run.time.After(t.server.Clock.Now().Add(t.slowest)) {
		return false // nothing tells of it: a clock that was ahead began it, and its time has not come (5.6)
	}
	if i < 0 && (o.began == 0 || c.made <= o.began) {
		return false // nothing tells of it: it was made before the first cursor, and is too old for that by now
	}
	if c.gone && (i < 0 || o.obj.Status.Active[i].RetryAt == nil) || i >= 0 && o.obj.Status.Active[i].Stopping == "Replaced" {
		return false
	}
	return allOf(asked, func(a *timetableVersion) bool {
		return c.attempt <= retriesOf(a.spec) && a.spec.Concurrency.Policy != v1alpha1.ReplaceConcurrent
	})
}

// active are the runs that are active, but for one.
func (t *timetablesTruth) active(o *timetableOwner, but time.Time, asked []*timetableVersion) (names []string) {
	for _, run := range o.runs {
		if !run.time.Equal(but) && t.isActive(o, run, asked) {
			names = append(names, run.newest().name)
		}
	}
	slices.Sort(names)
	return names
}

// hasRoom is TG2.
func (t *timetablesTruth) hasRoom(o *timetableOwner, c *childTruth, asked []*timetableVersion) {
	limit := 0
	for _, a := range asked {
		limit = max(limit, limitOf(a.spec))
	}
	if active := t.active(o, c.scheduled, asked); len(active) >= limit {
		t.breaks("TG2: %s is made beside %v, and %d may be active", c.name, active, limit)
	}
}

// mayRepeat judges a later attempt: the first of its number, or one more because that went before any status told of it (S2),
// which is made as soon as that is seen.
func (t *timetablesTruth) mayRepeat(o *timetableOwner, run *runTruth, c *childTruth, m *timetableManager, asked []*timetableVersion) {
	if len(run.attempts) == 0 {
		t.breaks("%s is made, and nothing before it", c.name)
		return
	}
	before := run.newest()
	delay := time.Hour
	for _, v := range o.versions {
		if v.spec.Retry != nil {
			delay = min(delay, duration(&v.spec.Retry.Delay))
		}
	}
	switch {
	case before.attempt != c.attempt-1 && (before.attempt != c.attempt || before.recorded):
		t.breaks("%s is made after attempt %d", c.name, before.attempt)
	case !before.finished && !before.gone:
		t.breaks("TG2: %s is made while %s runs", c.name, before.name)
	case before.succeeded && !before.gone: // one that is stopped may end unseen
		t.breaks("%s is made although %s has succeeded", c.name, before.name)
	// The delay counts from the begin of the sync that first saw the end, and that may come while the sync goes on.
	case before.attempt < c.attempt && before.finished && m.process.Clock.Now().Sub(before.endedAt.Truncate(time.Second)) < delay-(t.fastest-t.slowest)-5*time.Second:
		t.breaks("%s is made %s after the attempt before it, which is too early", c.name, m.process.Clock.Now().Sub(before.endedAt))
	case run.over:
		t.breaks("TG1: %s is made, and its run has its result", c.name)
	case allOf(asked, func(a *timetableVersion) bool { return retriesOf(a.spec) < c.attempt-1 }):
		t.breaks("%s is made, and so many attempts are not asked for", c.name)
	}
}

// childDeleted judges a delete of a process.
func (t *timetablesTruth) childDeleted(o *timetableOwner, c *childTruth, m *timetableManager) {
	c.stopper = m.process.Name
	c.stopped = c.stopped || !c.finished || slices.ContainsFunc(o.obj.Status.Active, func(a v1alpha1.ActiveRun) bool { return a.ScheduledTime.Time.Equal(c.scheduled) })
	if there := t.server.Get("Timetable", ns, o.name); c.finished && (there == nil || there.GetUID() != o.uid) {
		return // its Timetable is gone, and so it goes anyway (5.8); the second half of a sync may not know yet
	}
	v := m.views[keyOf(o)]
	if v == nil || v.obj == nil || v.obj.UID != o.uid {
		t.breaks("%s is deleted for %s, which no cache shows", c.name, o.uid)
		return
	}
	asked := t.asked(o, m, v)
	// Under these it may be stopped, its end unseen.
	mayStop := func(a *timetableVersion) bool {
		return a.spec.Concurrency.Policy == v1alpha1.ReplaceConcurrent || a.spec.Timeout != nil && c.kind != "Job"
	}
	switch {
	case c.attempt == 0:
		t.breaks("%s is deleted, which the schedule did not start", c.name)
	case c.finished && t.world.Now()-c.made < time.Minute-(t.fastest-t.slowest) && c.ended < v.began-5*time.Minute:
		t.breaks("F3: %s is deleted %s after it was made", c.name, t.world.Now()-c.made)
	case c.finished && !slices.ContainsFunc(asked, mayStop) && !t.records(o, c) && c.ended < v.began && (o.began > 0 && c.made > o.began || v.now.Sub(c.scheduled) < time.Minute): // 5.1: no first cursor yet
		t.breaks("TG1: %s is deleted, and no status tells of it", c.name)
	case !c.finished && !slices.ContainsFunc(asked, mayStop) && !slices.ContainsFunc(o.obj.Status.Active, func(a v1alpha1.ActiveRun) bool { return a.Stopping != "" && a.ScheduledTime.Time.Equal(c.scheduled) }):
		t.breaks("%s is deleted while it runs, and nothing asks for that", c.name)
	}
}
