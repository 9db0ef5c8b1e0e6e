// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Upcoming says which times of a set are next.
type Upcoming struct {
	// Now is the clock reading of the pass. A time whose planned start has come is not next.
	Now time.Time
	// Cursor is the time up to which all are decided; zero if none is.
	Cursor time.Time
	// SuspendedUntil is spec.suspendUntil: what passes before it does not start. Zero if there is none.
	SuspendedUntil time.Time
	// Decided tells of a time later than Cursor whether it is decided already, being active or waiting; there are few of
	// them. Nil: none is.
	Decided func(time.Time) bool
	// Several says that the spec has several schedules, so that their names are told.
	Several bool
}

// NextTimes gives the times that will start next if nothing else happens, at most five (timetable.md 4.2). While
// nothing starts because of a suspension without end or of failures there are none; who asks then knows.
func NextTimes(set *timeset.Set, u Upcoming) []v1alpha1.NextTime {
	first := u.Now
	if u.SuspendedUntil.After(u.Now) {
		first = u.SuspendedUntil.Add(-1) // the instant itself is free
	}
	// A time starts before the one that follows it is due, so of those up to first only the last can still be to come.
	at := set.Prev(first.Add(1))
	if at.IsZero() {
		at = set.Next(first)
	}
	if !at.IsZero() && !at.After(u.Cursor) {
		at = set.Next(u.Cursor)
	}
	var next []v1alpha1.NextTime
	for ; !at.IsZero() && len(next) < maxNext; at = set.Next(at) {
		start := set.PlannedStart(at)
		if !start.After(first) || u.Decided != nil && u.Decided(at) {
			continue
		}
		one := v1alpha1.NextTime{Time: metav1.NewTime(at)}
		if !start.Equal(at) {
			one.StartsAt = new(metav1.NewTime(start))
		}
		if u.Several {
			one.Schedules = set.Names(at)
		}
		next = append(next, one)
	}
	return next
}
