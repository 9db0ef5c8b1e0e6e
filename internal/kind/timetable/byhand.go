// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// triggerManual is the trigger of runs that no schedule has asked for.
const triggerManual v1alpha1.Trigger = "Manual"

// ChildKind is the kind of what a Timetable starts.
func ChildKind(tt *v1alpha1.Timetable) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(templateKind(&tt.Spec.Template))
}

// ByHand is what somebody wants who starts a run by hand.
type ByHand struct {
	// Request tells one such run from another: the same request makes a child of the same name.
	Request types.UID
	// Now is the instant of the start, which is the scheduled time of the run.
	Now time.Time
	// Parameters are values for this run; those that are not among them have their defaults. Nil gives none.
	Parameters map[string]string
	// Calendar gives the Calendars of the Timetable's namespace, nil for one that does not exist.
	Calendar func(name string) *v1alpha1.Calendar
}

// BuildByHand makes the child of a run that somebody starts by hand (timetable.md 3.12). Only a Timetable that has a
// UID owns the child.
//
// unread says why the times before and after are not known, which are then empty, and in UTC; nil if they are. The
// error is an *Obstacle that keeps the Timetable from starting anything, or says which parameter cannot have its value,
// or what of the Timetable cannot be read.
func BuildByHand(tt *Object, by ByHand) (child *unstructured.Unstructured, unread *Obstacle, err error) {
	if tt.trouble != nil {
		return nil, nil, tt.trouble
	}
	template, inTemplate := ReadTemplate(&tt.Spec)
	_, inOutcome := OutcomeRule(&tt.Spec)
	if obstacle := FirstObstacle(inTemplate, inOutcome); obstacle != nil {
		return nil, nil, obstacle
	}
	start := Start{
		Run:  Run{ScheduledTime: by.Now.UTC().Truncate(time.Second), Attempt: 1, Trigger: triggerManual},
		Name: ManualRunName(tt.Name, by.Request), Parameters: by.Parameters,
	}
	calendars := map[string]*timeset.Calendar{}
	for _, name := range Calendars(&tt.Spec) {
		if c := by.Calendar(name); c != nil {
			calendars[name] = ReadCalendar(c)
		}
	}
	spec, inJitter := Timing(tt, &tt.Spec, calendars, 0)
	set, inTimes := Times(spec)
	if set != nil {
		start.Zone, start.Schedules = set.Location(), set.Names(start.ScheduledTime)
		start.PreviousTime, start.NextTime = set.Prev(start.ScheduledTime), set.Next(start.ScheduledTime)
	}
	if last := tt.Status.LastSuccessScheduledTime; last != nil {
		start.LastSuccessScheduledTime = last.Time
	}
	child, obstacle := template.Build(tt, start)
	if obstacle != nil {
		return nil, nil, obstacle
	}
	if tt.UID == "" {
		child.SetOwnerReferences(nil)
		labels := child.GetLabels()
		delete(labels, v1alpha1.LabelTimetableUID)
		child.SetLabels(labels)
	}
	return child, FirstObstacle(inJitter, inTimes), nil
}
