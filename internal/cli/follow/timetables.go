// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// timetableName is the kind, of which the API has one.
const timetableName = "Timetable"

// timetableView is what is remembered of a Timetable.
type timetableView struct {
	// said is the last line about what comes next.
	said console.Line
	// startsJobs: what it starts has lines of its own.
	startsJobs bool
}

// followTimetables follows Timetables, without what their children are made of.
func (f *Follower) followTimetables(ctx context.Context) {
	k := kind.Timetable{}
	f.watch(ctx, k.Info().OwnerResource, func(informer cache.SharedIndexInformer) error {
		return typed(k, k.Info().Owner, func(obj kind.Object, _ *unstructured.Unstructured) {
			if tt, ok := obj.(*timetable.Object); ok {
				f.timetable(&tt.Timetable)
			}
		}, func(u *unstructured.Unstructured) { f.forgetTimetable(u.GetUID()) })(informer)
	}, "spec", "template", "spec")
}

// timetable says what comes next, as the status has it: the controller knows Calendars, pauses, and what is wrong.
func (f *Follower) timetable(tt *v1alpha1.Timetable) {
	line, known := comesNext(tt, f.opts.Now())
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.timetables[tt.UID]
	now := timetableView{said: before.said, startsJobs: isJob(timetable.ChildKind(tt).Kind)}
	if !known {
		f.timetables[tt.UID] = now
		return
	}
	line.Type, line.Object = console.Due, ObjectName(v1alpha1.GroupVersion.Group, timetableName, tt.Namespace, tt.Name)
	now.said = line
	f.timetables[tt.UID] = now
	if line.Message != before.said.Message || !sameTime(line.Due, before.said.Due) {
		f.opts.Console.Print(line)
	}
}

// comesNext gives the next run of a Timetable, or why there is none; false while its controller has not said, or has
// not looked since what it has said has passed.
func comesNext(tt *v1alpha1.Timetable, now time.Time) (line console.Line, known bool) {
	s := &tt.Status
	is := func(condition string) (reason string, holds bool) {
		c := meta.FindStatusCondition(s.Conditions, condition)
		if c == nil {
			return "", false
		}
		return c.Reason, c.Status == "True"
	}
	ready, isReady := is(v1alpha1.ConditionReady)
	if ready == "" {
		return line, false
	}
	paused, isPaused := is(v1alpha1.ConditionPaused)
	switch _, completed := is(v1alpha1.ConditionCompleted); {
	case completed:
		line.Message = "has no next run: no scheduled time will come again"
	case !isReady && timetable.Reason(ready).Stops() != timetable.StopsNothing:
		line.Message = "starts nothing until this is mended: " + ready
	case isPaused && paused == "Suspended":
		line.Message = "is suspended"
	case isPaused && paused == "Failures":
		line.Message = "is paused, because too many runs failed in a row"
	case len(s.Next) > 0:
		i := slices.IndexFunc(s.Next, func(n v1alpha1.NextTime) bool { return startOf(n).After(now) })
		if i < 0 {
			return line, false
		}
		at := startOf(s.Next[i])
		zone := tt.Spec.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		if loc, err := time.LoadLocation(zone); err == nil {
			at = at.In(loc)
		}
		line.Due, line.Message = &at, zone
	case len(s.Active) > 0: // the last one: what follows shows when it has ended
		return line, false
	default:
		line.Message = "has no next run; see its status: carillon kubectl describe timetable " + tt.Name
	}
	return line, true
}

// startOf is when the run of a time that is to come starts.
func startOf(n v1alpha1.NextTime) time.Time {
	if n.StartsAt != nil {
		return n.StartsAt.Time
	}
	return n.Time.Time
}

func sameTime(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}

func (f *Follower) forgetTimetable(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.timetables, uid)
}

// worthTelling tells which events of a Timetable that are no Warnings are passed on: those of what no other line shows.
func (f *Follower) worthTelling(e *corev1.Event) bool {
	if e.InvolvedObject.Kind != timetableName {
		return false
	}
	switch e.Reason {
	case "RunRetrying", "RunCancelled", "TimesSkipped", "Resumed":
		return true
	case "RunStarted", "RunSucceeded":
		f.mu.Lock()
		defer f.mu.Unlock()
		tt, known := f.timetables[e.InvolvedObject.UID]
		return known && !tt.startsJobs
	}
	return false
}
