// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Calendar is a named list of periods, such as holidays or freezes, that the
// Timetables of its namespace can exclude. A change of it changes the times
// of each Timetable that names it, from then on.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=carillon
type Calendar struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the Calendar lists.
	//
	// +required
	Spec CalendarSpec `json:"spec"`
}

// CalendarSpec lists the periods of a Calendar.
type CalendarSpec struct {
	// The periods, in any order; they may overlap. Each is read in the time zone
	// of the Timetable that names the Calendar.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	Periods []CalendarPeriod `json:"periods"`
}

// CalendarPeriod is one period of a Calendar.
type CalendarPeriod struct {
	// When: 2026-12-25 or 2026-12-24/2027-01-02 (whole days, both included),
	// 12-25 or 12-24/01-02 (every year), or 2026-12-24T18:00/2026-12-27T06:00
	// (the end is not included).
	//
	// +required
	Period Period `json:"period"`

	// What people call it, such as Christmas. It has no effect.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name,omitempty"`
}

// CalendarList is a list of Calendars.
//
// +kubebuilder:object:root=true
type CalendarList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Calendar `json:"items"`
}
