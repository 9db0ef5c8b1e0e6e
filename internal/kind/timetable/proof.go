// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// ownerKind is the kind of the owner of all children.
var ownerKind = v1alpha1.GroupVersion.WithKind("Timetable")

// triggerLabels are the values of the label carillon.dev/trigger.
var triggerLabels = map[v1alpha1.Trigger]string{
	v1alpha1.TriggerSchedule: "schedule",
	v1alpha1.TriggerCatchUp:  "catch-up",
	triggerManual:            "manual",
}

// Run is what a child was made for.
type Run struct {
	// ScheduledTime is the scheduled time, in UTC.
	ScheduledTime time.Time
	// Attempt counts from 1.
	Attempt int32
	// Trigger says why the run was started. It is Schedule if the child does not tell.
	Trigger v1alpha1.Trigger
	// Schedule is the first name of the schedules that named the time, "" if the child does not tell.
	Schedule string
}

// Owns tells whether an object is a child of this Timetable: its controller reference has the Timetable's UID, kind and
// group, and it carries the Timetable's UID label (timetable.md section 7). An object that only has the labels is
// nobody's.
func Owns(timetable, child metav1.Object) bool {
	return timetable.GetNamespace() == child.GetNamespace() && refersTo(metav1.GetControllerOfNoCopy(child), timetable) &&
		child.GetLabels()[v1alpha1.LabelTimetableUID] == string(timetable.GetUID())
}

// refersTo tells whether an owner reference is to this Timetable, in any version of its API.
func refersTo(ref *metav1.OwnerReference, timetable metav1.Object) bool {
	if ref == nil || ref.UID != timetable.GetUID() || ref.Kind != ownerKind.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == ownerKind.Group
}

// Proves tells which run a child of this Timetable was made for, if it proves one: its name is the one that its
// annotations give (timetable.md section 7). Other children of the Timetable count for room, and for nothing else.
func Proves(timetable, child metav1.Object) (Run, bool) {
	if !Owns(timetable, child) {
		return Run{}, false
	}
	return namedRun(timetable.GetName(), child)
}

// namedRun is the run that the annotations and the name of a child of a Timetable of this name agree on.
func namedRun(timetable string, child metav1.Object) (Run, bool) {
	annotations, labels := child.GetAnnotations(), child.GetLabels()
	scheduled, err := time.Parse(time.RFC3339, annotations[v1alpha1.AnnotationScheduledTime])
	if err != nil || scheduled.Nanosecond() != 0 {
		return Run{}, false
	}
	number := annotations[v1alpha1.AnnotationAttempt]
	attempt, err := strconv.ParseInt(number, 10, 32)
	if err != nil || attempt < 1 || strconv.FormatInt(attempt, 10) != number {
		return Run{}, false
	}
	if child.GetName() != ChildName(RunName(timetable, scheduled), int32(attempt)) {
		return Run{}, false
	}
	run := Run{
		ScheduledTime: scheduled.UTC(),
		Attempt:       int32(attempt),
		Trigger:       v1alpha1.TriggerSchedule,
		Schedule:      labels[v1alpha1.LabelSchedule],
	}
	if labels[v1alpha1.LabelTrigger] == triggerLabels[v1alpha1.TriggerCatchUp] {
		run.Trigger = v1alpha1.TriggerCatchUp
	}
	return run, true
}
