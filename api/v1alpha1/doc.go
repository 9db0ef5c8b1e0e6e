// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Carillon's own kinds, group batch.carillon.dev: Timetable and Calendar. It needs
// apimachinery and nothing else, so that other programs can import it.
//
//	timetable.go  Timetable and its spec       schedule.go  when: schedules, zone, window, exclusions
//	policy.go     what if: catch-up, room, retry, history       template.go  what: the object that is started
//	status.go     what became of each scheduled time            calendar.go  Calendar
//	text.go       strings with a form of their own              names.go     labels and annotations of what is started
//
// The comments of types and fields are what "kubectl explain" shows; the whole contract is docs/contract/timetable.md,
// whose rules (V1 …) the markers hold word for word.
//
// +kubebuilder:object:generate=true
// +groupName=batch.carillon.dev
package v1alpha1
