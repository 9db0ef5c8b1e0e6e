// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels and annotations of what a Timetable starts, and the annotation that people set on the Timetable itself.
const (
	// LabelTimetableName is the label with the Timetable's name.
	LabelTimetableName = "carillon.dev/timetable-name"
	// LabelTimetableUID is the label with the Timetable's UID.
	LabelTimetableUID = "carillon.dev/timetable-uid"
	// LabelTrigger is the label that says why the run was started: schedule, catch-up, or manual (by hand).
	LabelTrigger = "carillon.dev/trigger"
	// LabelSchedule is the label with the first name of the schedules that named the time.
	LabelSchedule = "carillon.dev/schedule"
	// AnnotationScheduledTime is the annotation with the scheduled time: RFC 3339, in the Timetable's time zone.
	AnnotationScheduledTime = "carillon.dev/scheduled-time"
	// AnnotationAttempt is the annotation with the number of the attempt: 1, 2, ….
	AnnotationAttempt = "carillon.dev/attempt"
	// AnnotationResume is the annotation of a Timetable of which any new value ends a pause.
	AnnotationResume = "carillon.dev/resume"
)
