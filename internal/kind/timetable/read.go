// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// What the API fills in where a spec says nothing (timetable.md 2).
const (
	defaultLateAfter     = 10 * time.Minute
	defaultRetryDelay    = 10 * time.Second
	defaultRetryMaxDelay = 10 * time.Minute
	defaultCatchUpLimit  = 10
	defaultQueueLimit    = 10
	defaultHistory       = 3
	defaultLedger        = 20
)

const (
	// ceiling is how many runs may be active whatever the policy (timetable.md 3.6).
	ceiling = 100
	// nameIsLock is how long a child is kept at least (timetable.md 5.5 F3).
	nameIsLock = time.Minute
	// maxBackoff is how soon what was refused is tried again at the latest (timetable.md 5.9).
	maxBackoff = 30 * time.Second
)

// policy translates a spec.
func (k Kind) policy(tt *Object, options adapter.ReadOptions) cron.Policy {
	spec, d := &tt.Spec, durations{}
	p := cron.Policy{
		CatchUp: cron.CatchUp{Policy: cron.CatchUpPolicy(spec.CatchUp.Policy), Limit: orDefault(spec.CatchUp.Limit, defaultCatchUpLimit)},
		Room:    room(&spec.Concurrency),
		Suspend: spec.Suspend,

		PauseAfterFailures: orDefault(spec.PauseAfterFailures, 0),
		ResumeToken:        ResumeToken(tt.Annotations[v1alpha1.AnnotationResume]),
		CatchUpOnResume:    spec.OnResume == v1alpha1.CatchUpOnResume,

		Succeeded:   d.retention("history.succeeded.maxAge", &spec.History.Succeeded),
		Failed:      d.retention("history.failed.maxAge", &spec.History.Failed),
		KeepAtLeast: nameIsLock,
		Ledger:      orDefault(spec.History.Ledger, defaultLedger),
		LateAfter:   d.readOr("lateAfter", spec.LateAfter, defaultLateAfter),
		Conditions:  true,
	}
	if until := spec.SuspendUntil; until != nil {
		p.SuspendUntil = new(wholeSecond(until.Time))
	}
	if spec.StartingDeadline != nil {
		p.Deadline = new(int64(d.read("startingDeadline", *spec.StartingDeadline) / time.Second))
	}
	if r := spec.Retry; r != nil {
		p.Retry = cron.Retry{Limit: int(r.Limit), Delay: d.readOr("retry.delay", r.Delay, defaultRetryDelay),
			MaxDelay: d.readOr("retry.maxDelay", r.MaxDelay, defaultRetryMaxDelay)}
	}
	if spec.Timeout != nil {
		p.Timeout = d.read("timeout", *spec.Timeout)
	}
	var template *Template
	if p.Timing, p.ChildObstacle, template = k.timing(tt, options, d.obstacle); template != nil {
		p.Template = template.Fingerprint()
	}
	return p
}

// timing reads what is asked for of times and children, and finds the first thing that is wrong with either, and the
// first for which no child can be made. The template is nil if it cannot be served.
//
// One that cannot be read is no other timing than the one before: which it is shows when it can be read again.
func (k Kind) timing(tt *Object, options adapter.ReadOptions, obstacle *Obstacle) (cron.Timing, *cron.Obstacle, *Template) {
	compiled := tt.compilation()
	times := compiled.timesOf(tt, options, k.MinInterval)
	set, inTimes := times.set, times.inTimes
	if set != nil && inTimes == nil {
		inTimes = allExcluded(tt, set)
	}
	if inTimes != nil && inTimes.Reason == CalendarNotFound && options.DependencyTrouble != nil {
		if why := options.DependencyTrouble(calendarKind); why != "" {
			inTimes = &Obstacle{CalendarNotFound, "spec.exclude names a Calendar, and no Calendar can be read: " + why +
				": ask an administrator to grant get, list and watch of calendars." + calendarKind.Group + " to the controller"}
		}
	}
	template, inTemplate := compiled.template()
	_, inOutcome := compiled.rule()
	t := cron.Timing{Fingerprint: times.fingerprint, ZoneName: times.spec.TimeZone}
	switch served := tt.Status.Timing; {
	case set != nil:
		t.Times, t.Zone = set, set.Location()
		if len(tt.Spec.Exclude) > 0 {
			t.Excluded = set.Excluded()
		}
	case served != nil:
		t.Fingerprint = served.Fingerprint
	}
	if template != nil && set != nil {
		if inTemplate = template.tooLargeFor(tt, set); inTemplate != nil {
			template = nil
		}
	}
	if template != nil {
		if seconds, short := template.ShortTTL(); short {
			t.Remarks = append(t.Remarks, cron.Remark{Event: adapter.Warning("ShortTTL"), Key: "short ttl", Message: fmt.Sprintf(
				"ttlSecondsAfterFinished of spec.template.spec is %d: a run whose object goes before its end was seen counts as Cancelled. "+
					"Set 600 or more, or none and spec.history", seconds)})
		}
	}
	inChild := FirstObstacle(inTemplate, inOutcome)
	t.Obstacle = FirstObstacle(obstacle, times.inJitter, inTimes, inChild).asCron()
	return t, inChild.asCron(), template
}

// wholeSecond is the first whole second that is not before t: a status holds no fractions, and no scheduled time has
// any.
func wholeSecond(t time.Time) time.Time {
	if whole := t.UTC().Truncate(time.Second); !whole.Before(t) {
		return whole
	}
	return t.UTC().Truncate(time.Second).Add(time.Second)
}

// allExcluded tells that of the times that are not decided yet no exclusion leaves any.
func allExcluded(tt *Object, set *timeset.Set) *Obstacle {
	from := tt.CreationTimestamp.Time
	if cursor := tt.Status.Cursor; cursor != nil {
		from = cursor.Time
	}
	if _, end := set.Search(from); end != timeset.GaveUp {
		return nil
	}
	return &Obstacle{AllExcluded, "spec.exclude leaves no scheduled time: correct it, or set suspend"}
}

// calendarsOf gives the Calendars that a spec names, of those that exist.
func calendarsOf(namespace string, spec *v1alpha1.TimetableSpec, options adapter.ReadOptions) []*v1alpha1.Calendar {
	if options.Dependency == nil {
		return nil
	}
	var found []*v1alpha1.Calendar
	for _, name := range Calendars(spec) {
		obj, there := options.Dependency(namespace, adapter.Dependency{Kind: calendarKind, Name: name})
		if calendar, ok := obj.(*v1alpha1.Calendar); there && ok {
			found = append(found, calendar)
		}
	}
	return found
}

// asCron gives an obstacle as decisions take it: the key is the reason. Nil is none.
func (o *Obstacle) asCron() *cron.Obstacle {
	if o == nil {
		return nil
	}
	check, word := cron.CheckScheduleFires, cron.InvalidSchedule
	switch {
	case o.Reason == UnknownTimeZone:
		word = cron.InvalidTimeZone
	case o.Reason.Stops() == StopsAll:
		check, word = cron.CheckChildKind, cron.InvalidTemplate
	case o.Reason.Stops() == StopsNothing:
		check, word = 0, cron.InvalidTemplate
	}
	return &cron.Obstacle{Check: check, Misconfigured: word,
		Remark: cron.Remark{Event: adapter.Warning("InvalidSpec"), Key: string(o.Reason), Message: o.Message}}
}

// obstacleOf is the reverse of asCron.
func obstacleOf(o *cron.Obstacle) *Obstacle {
	if o == nil {
		return nil
	}
	return &Obstacle{Reason: Reason(o.Key), Message: o.Message}
}

// room is what concurrency asks for (timetable.md 3.6).
func room(c *v1alpha1.Concurrency) cron.Room {
	r := cron.Room{Limit: max(1, orDefault(c.Limit, 1)), WaitLimit: 1}
	switch c.Policy {
	case v1alpha1.QueueConcurrent:
		r.Queues, r.WaitLimit = true, orDefault(c.QueueLimit, defaultQueueLimit)
	case v1alpha1.ReplaceConcurrent:
		r.Stops = true
	case v1alpha1.AllowConcurrent:
		r.Limit = ceiling
	}
	return r
}

// durations reads durations, and remembers the first that is none. The schema admits only those that are.
type durations struct{ obstacle *Obstacle }

func (d *durations) read(field string, text v1alpha1.Duration) time.Duration {
	duration, err := timeset.ParseDuration(string(text))
	if err != nil && d.obstacle == nil {
		d.obstacle = &Obstacle{InvalidSchedule, "spec." + field + ": " + err.Error()}
	}
	return duration
}

// readOr is read, and what the schema fills in for a text that is absent.
func (d *durations) readOr(field string, text v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if text == "" {
		return otherwise
	}
	return d.read(field, text)
}

func (d *durations) retention(field string, r *v1alpha1.Retention) cron.Retention {
	kept := cron.Retention{Limit: new(int32(orDefault(r.Limit, defaultHistory)))}
	if r.MaxAge != nil {
		kept.MaxAge = d.read(field, *r.MaxAge)
	}
	return kept
}

// orDefault is a number that the schema admits from 0 on, or what it fills in for one that is absent.
func orDefault(n *int32, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return max(0, int(*n))
}
