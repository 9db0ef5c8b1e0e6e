// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"errors"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/outcome"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// calendarKind is the kind that Timetables depend on.
var calendarKind = v1alpha1.GroupVersion.WithKind("Calendar")

// ReadChild implements adapter.Kind. An object is a Timetable's only if it carries its UID label, too (timetable.md
// section 7): one that lost it is as if nothing controlled it.
func (k Kind) ReadChild(obj adapter.Object, kind schema.GroupVersionKind, owner adapter.Object) (cron.Child, error) {
	switch obj.(type) {
	case *unstructured.Unstructured, *batchv1.Job:
	default:
		return cron.Child{}, adapter.Wrong(info, &unstructured.Unstructured{}, obj)
	}
	child := adapter.Child(obj, kind, info)
	child.OwnDeadline = kind == batchv1.SchemeGroupVersion.WithKind("Job")
	if ref := child.Controller; ref != nil {
		if run, proved := namedRun(ref.Name, obj); proved {
			child.Attempt, child.Trigger = int(run.Attempt), cron.Trigger(run.Trigger)
		} else {
			child.Stamp = "" // it counts for room, and for nothing else
		}
		if obj.GetLabels()[v1alpha1.LabelTimetableUID] != string(ref.UID) {
			child.Controller = nil
		}
	}
	is, err := childOutcome(kind, obj, func() *outcome.Rule { return k.ruleFor(owner, kind) })
	if is.Phase == outcome.Unfinished && outcome.Known(kind.GroupVersion().String(), kind.Kind) == nil {
		is = recordedOutcome(owner, obj)
	}
	if err != nil { // what cannot be evaluated counts as false
		child.Remark = &cron.Remark{Event: adapter.Warning(adapter.OutcomeErrorReason), Key: "outcome", Message: err.Error()}
	}
	if is.Phase == outcome.Unfinished && errors.Is(err, outcome.ErrTooExpensive) {
		child.Obstacle = (&Obstacle{OutcomeTooExpensive, "the end of " + obj.GetName() + " cannot be told: spec." + err.Error()}).asCron()
	}
	switch is.Phase {
	case outcome.Succeeded:
		child.Phase, child.Succeeded = cron.Complete, true
	case outcome.Failed:
		child.Phase, child.TimedOut = cron.Failed, is.DeadlineExceeded
	}
	if !is.Ended.IsZero() {
		child.Finished = &is.Ended
	}
	if stopped := outcome.Stopped(obj); !stopped.IsZero() {
		child.Stopped, child.FailedByStop = true, is.Phase == outcome.Failed && outcome.FailedByStop(stopped, is.Ended)
	}
	return child, nil
}

// recordedOutcome tells how a child has ended as the status tells it, for kinds whose end spec.outcome tells: that may
// be another one by now, or about another kind, and what was decided is final (timetable.md 3.9). Unfinished is one of
// a run that the status does not tell the end of: also one that was never counted, because it began before the first
// cursor. Nobody can tell such a run from one that was counted and left the ledger since, once the ledger has lost
// anything.
func recordedOutcome(owner, child adapter.Object) outcome.Outcome {
	var s *v1alpha1.TimetableStatus
	switch tt := owner.(type) {
	case *Object:
		if tt == nil {
			return outcome.Outcome{}
		}
		s = &tt.Status
	case *compactTimetable:
		if tt == nil {
			return outcome.Outcome{}
		}
		s = &tt.status
	default:
		return outcome.Outcome{}
	}
	run, proves := Proves(owner, child)
	at := run.ScheduledTime
	isOf := func(a v1alpha1.ActiveRun) bool { return a.ScheduledTime.Time.Equal(at) }
	goesOn := func(a v1alpha1.ActiveRun) bool {
		return isOf(a) && a.Attempt <= run.Attempt && (a.Attempt < run.Attempt || a.RetryAt == nil)
	}
	if !proves || s.Cursor == nil || at.After(s.Cursor.Time) || slices.ContainsFunc(s.Active, goesOn) ||
		slices.ContainsFunc(s.Waiting, func(w v1alpha1.WaitingTime) bool { return w.ScheduledTime.Time.Equal(at) }) {
		return outcome.Outcome{}
	}
	ended := outcome.Outcome{Phase: outcome.Failed}
	i := entryOf(s.Ledger, at)
	if i < 0 {
		if ledgerIsWhole(s) && !slices.ContainsFunc(s.Active, isOf) { // of a run that is active it is an earlier attempt
			return outcome.Outcome{}
		}
		return ended
	}
	switch e := &s.Ledger[i]; {
	case e.Run == "": // it did not start, as far as was known: a create whose answer got lost
		return outcome.Outcome{}
	case e.Result == v1alpha1.ResultSucceeded:
		ended.Phase = outcome.Succeeded
		fallthrough
	default:
		if e.EndTime != nil {
			ended.Ended = e.EndTime.Time
		}
	}
	return ended
}

// entryOf is the index of the entry that tells what became of a time, -1 if there is none: that of a run of it, else
// one of times that did not start. Those of one timing lie among the runs of another one, so that their range says
// nothing of a run.
func entryOf(ledger []v1alpha1.LedgerEntry, at time.Time) int {
	if i := slices.IndexFunc(ledger, func(e v1alpha1.LedgerEntry) bool { return e.Run != "" && at.Equal(e.ScheduledTime.Time) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(ledger, func(e v1alpha1.LedgerEntry) bool {
		return !at.Before(e.ScheduledTime.Time) && (at.Equal(e.ScheduledTime.Time) || e.Until != nil && !at.After(e.Until.Time))
	})
}

// ledgerIsWhole tells whether the ledger has every result that was counted.
func ledgerIsWhole(s *v1alpha1.TimetableStatus) bool {
	listed, counts := int64(0), &s.Counts
	for i := range s.Ledger {
		listed += int64(max(1, s.Ledger[i].Count))
	}
	return listed >= counts.Succeeded+counts.Failed+counts.Cancelled+counts.Skipped+counts.Missed
}

// Build implements adapter.Kind.
func (k Kind) Build(obj adapter.Object, start adapter.Start) (adapter.Object, error) {
	tt, ok := k.object(obj)
	if !ok {
		return nil, adapter.Wrong(info, tt, obj)
	}
	template, obstacle := tt.compilation().template()
	if obstacle != nil {
		return nil, apierrors.NewBadRequest(obstacle.Message)
	}
	s := Start{
		Run:  Run{ScheduledTime: start.Time, Attempt: int32(start.Attempt), Trigger: v1alpha1.Trigger(start.Trigger)},
		Zone: start.Timing.Zone,
	}
	if set, ok := start.Timing.Times.(*timeset.Set); ok {
		s.Schedules, s.PreviousTime, s.NextTime = set.Names(start.Time), set.Prev(start.Time), set.Next(start.Time)
	}
	if results := start.Memory.Results; results != nil && results.Last.SuccessScheduled != nil {
		s.LastSuccessScheduledTime = *results.Last.SuccessScheduled
	}
	child, obstacle := template.buildTyped(tt, s)
	if obstacle != nil {
		return nil, apierrors.NewBadRequest(obstacle.Message)
	}
	return child, nil
}

// ChildKinds implements adapter.ChildChooser: the kind of the template, and then those of active runs that were started
// from another one.
func (Kind) ChildKinds(obj adapter.Object) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	var active []v1alpha1.ActiveRun
	switch tt := obj.(type) {
	case *Object:
		if tt == nil || tt.trouble != nil {
			return nil
		}
		kinds, active = append(kinds, schema.FromAPIVersionAndKind(templateKind(&tt.Spec.Template))), tt.Status.Active
	case *compactTimetable:
		if tt == nil {
			return nil
		}
		kinds, active = append(kinds, tt.childKind.Value()), tt.status.Active
	}
	for i := range active {
		if kind := schema.FromAPIVersionAndKind(runKind(&active[i])); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// TrimChild implements adapter.ChildChooser. Of a known kind the status tells how it ended; an expression may ask for
// anything.
func (Kind) TrimChild(child adapter.Object, kind schema.GroupVersionKind) adapter.Object {
	if job, ok := child.(*batchv1.Job); ok {
		job.ManagedFields, job.Spec = nil, batchv1.JobSpec{}
		return job
	}
	object, ok := child.(*unstructured.Unstructured)
	if !ok {
		return child
	}
	object.SetManagedFields(nil)
	if outcome.Known(kind.GroupVersion().String(), kind.Kind) != nil {
		maps.DeleteFunc(object.Object, func(member string, _ any) bool {
			return member != "apiVersion" && member != "kind" && member != "metadata" && member != "status"
		})
	}
	return object
}

// MayBeChild implements adapter.ChildChooser.
func (Kind) MayBeChild(kind schema.GroupVersionKind) bool { return kind.Group != ownerKind.Group }

// ChildObstacle implements adapter.ChildChooser.
func (Kind) ChildObstacle(kind schema.GroupVersionKind, trouble adapter.ChildTrouble) *cron.Obstacle {
	reason, cure := KindNotAllowed, ": ask an administrator to grant it to the controller (label rbac.carillon.dev/aggregate-to-timetable-children)"
	switch {
	case trouble.Former:
		return (&Obstacle{FormerKindNotWatched, "a run is active that is a " + kind.Kind + " of " + kind.GroupVersion().String() + ", the kind that " +
			"spec.template had before, and cannot be followed: " + trouble.Why + ": have that mended, or take the run out of status.active"}).asCron()
	case trouble.NotServed:
		reason, cure = KindNotFound, ": correct spec.template, or install what serves it"
	case trouble.NotNamespaced:
		cure = ": name a namespaced kind in spec.template"
	case !(Kind{}).MayBeChild(kind): // whoever grants it
		cure = ": name another kind in spec.template"
	}
	return (&Obstacle{reason, "a " + kind.Kind + " of " + kind.GroupVersion().String() + " cannot be started: " + trouble.Why + cure}).asCron()
}

// DependencyKinds implements adapter.Dependent.
func (Kind) DependencyKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{calendarKind}
}

// Dependencies implements adapter.Dependent.
func (Kind) Dependencies(obj adapter.Object) []adapter.Dependency {
	var names []string
	switch tt := obj.(type) {
	case *Object:
		if tt != nil && tt.trouble == nil {
			names = Calendars(&tt.Spec)
		}
	case *compactTimetable:
		if tt != nil {
			names = tt.calendars
		}
	}
	var dependencies []adapter.Dependency
	for _, name := range names {
		dependencies = append(dependencies, adapter.Dependency{Kind: calendarKind, Name: name})
	}
	return dependencies
}
