// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
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

// While no Calendar can be read, a Timetable that names one says why, and what is to be done; one that names none is as
// ever (TT-263).
func TestCalendarsCannotBeRead(t *testing.T) {
	tt := &timetable.Object{Timetable: *tick()}
	tt.Spec.Schedules = []v1alpha1.Schedule{{Name: "main", Cron: "*/10 * * * *"}}
	obstacle := func(why string) string {
		_, policy, _, err := worldKind.Read(tt, adapter.ReadOptions{
			Dependency:        func(string, adapter.Dependency) (adapter.Object, bool) { return nil, false },
			DependencyTrouble: func(kind schema.GroupVersionKind) string { return map[string]string{"Calendar": why}[kind.Kind] },
		})
		if err != nil {
			t.Fatal(err)
		}
		if policy.Timing.Obstacle == nil {
			return ""
		}
		return policy.Timing.Obstacle.Key + ": " + policy.Timing.Obstacle.Message
	}
	if got := obstacle("no"); got != "" {
		t.Errorf("without a Calendar: %s", got)
	}
	tt.Spec.Exclude = []v1alpha1.Exclusion{{Calendar: new("holidays")}}
	for why, want := range map[string]string{
		"": "CalendarNotFound: calendar holidays does not exist in this namespace; create it, or take it out of exclude",
		"the controller may not": "CalendarNotFound: spec.exclude names a Calendar, and no Calendar can be read: the controller may not: ask an administrator to grant " +
			"get, list and watch of calendars.batch.carillon.dev to the controller",
	} {
		if got := obstacle(why); got != want {
			t.Errorf("%q: %s", why, got)
		}
	}
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
