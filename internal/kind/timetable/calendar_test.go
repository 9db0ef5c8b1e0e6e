// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// largest is the largest Calendar that there may be.
func largest(name string) *v1alpha1.Calendar {
	c := &v1alpha1.Calendar{}
	c.Name = name
	for i := range 1000 {
		c.Spec.Periods = append(c.Spec.Periods, v1alpha1.CalendarPeriod{Period: v1alpha1.Period(fmt.Sprintf("%d-12-%02d", 2000+i/20, 1+i%20))})
	}
	return c
}

// A Calendar is read once for all Timetables that name it; one that was changed is another object, and nothing is left
// of those that nobody has any more.
func TestCalendarIsReadOnce(t *testing.T) {
	calendar := largest("holidays")
	if first := timetable.ReadCalendar(calendar); timetable.ReadCalendar(calendar) != first {
		t.Error("it was read twice")
	}
	if timetable.ReadCalendar(calendar.DeepCopy()) == timetable.ReadCalendar(calendar) {
		t.Error("a changed one was not read")
	}
	for i := range 100 {
		timetable.ReadCalendar(largest(fmt.Sprint("gone-", i)))
	}
	left := timetable.CalendarsRead()
	for range 1000 {
		runtime.GC()
		if left = timetable.CalendarsRead(); left <= 50 {
			break
		}
	}
	if left > 50 {
		t.Errorf("%d are remembered, although nobody has them", left)
	}
	runtime.KeepAlive(calendar)
}

// A Calendar that a thousand Timetables name is asked for at each of their passes.
func BenchmarkReadCalendar(b *testing.B) {
	b.Run("known", func(b *testing.B) {
		calendar := largest("holidays")
		b.ReportAllocs()
		for b.Loop() {
			timetable.ReadCalendar(calendar)
		}
	})
	b.Run("changed", func(b *testing.B) {
		calendar := largest("holidays")
		b.ReportAllocs()
		for b.Loop() {
			timetable.ReadCalendar(calendar.DeepCopy())
		}
	})
}
