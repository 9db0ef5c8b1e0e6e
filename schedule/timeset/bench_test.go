// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// tenSchedules is the timing of the goal for Next and LastBetween: ten schedules, exclusions and a zone with summer
// time.
func tenSchedules() timeset.Spec {
	spec := timeset.Spec{TimeZone: "Europe/Berlin", Exclude: []timeset.Exclusion{
		{Calendar: timeset.NewCalendar("de", []string{"01-01", "05-01", "10-03", "12-24/12-26", "2026-04-03", "2026-04-06", "2026-05-14"})},
		{Period: "2026-12-24T18:00/2026-12-27T06:00"},
	}}
	for i, cron := range []string{"0 2 * * *", "30 4 1,15 * *", "*/15 9-17 * * 1-5", "0 */2 * * *", "5 0 * * SUN", "0 12 29 2 *", "15 3 * * 1-5",
		"0 0 1 1 *", "45 23 * * *"} {
		spec.Items = append(spec.Items, timeset.Item{Name: fmt.Sprintf("item-%d", i), Cron: cron})
	}
	spec.Items = append(spec.Items, timeset.Item{Name: "weeks", Cron: "0 9 * * 1", EveryWeeks: 2, Anchor: "2026-01-05"})
	return spec
}

// sixteen is as many schedules as a Timetable may have, all of them with many times.
func sixteen() timeset.Spec {
	spec := timeset.Spec{TimeZone: "Europe/Berlin"}
	for i := range 16 {
		spec.Items = append(spec.Items, timeset.Item{Name: fmt.Sprintf("item-%d", i), Cron: fmt.Sprintf("*/%d * * * %d", i%3+1, i%7)})
	}
	return spec
}

var (
	monday = time.Date(2026, 5, 4, 12, 3, 20, 0, time.UTC)
	sink   any
)

func BenchmarkNext(b *testing.B) {
	for name, spec := range map[string]timeset.Spec{
		"one daily":     items(timeset.Item{Cron: "30 2 * * *"}),
		"every":         items(timeset.Item{Every: "1h"}),
		"at":            items(timeset.Item{At: []string{"2027-03-01T14:00", "2028-06-01T08:30"}}),
		"weeks":         {TimeZone: "Europe/Berlin", Items: []timeset.Item{{Cron: "0 9 * * 1", EveryWeeks: 2, Anchor: "2026-01-05"}}},
		"ten schedules": tenSchedules(),
	} {
		b.Run(name, func(b *testing.B) {
			set := mustCompile(b, spec)
			b.ReportAllocs()
			for b.Loop() {
				sink = set.Next(monday).Unix() > 0
			}
		})
	}
}

func BenchmarkLastBetween(b *testing.B) {
	set := mustCompile(b, tenSchedules())
	b.ReportAllocs()
	for b.Loop() {
		sink = set.LastBetween(monday.AddDate(0, 0, -7), monday).Unix() > 0
	}
}

// The search that gives up is the dearest there is: an exclusion a year.
func BenchmarkGivesUp(b *testing.B) {
	for name, spec := range map[string]timeset.Spec{
		"all days":     excluding(timeset.Exclusion{Period: "01-01/12-31"}),
		"no such days": {Items: []timeset.Item{{Cron: "0 9 * * *"}}, TimeZone: "Europe/Berlin", Exclude: []timeset.Exclusion{{Period: "2026-01-01"}}},
		"all its days": {Items: []timeset.Item{{Cron: "0 9 29 2 *"}}, TimeZone: "Europe/Berlin", Exclude: []timeset.Exclusion{{Period: "02-29"}}},
	} {
		b.Run(name, func(b *testing.B) {
			set := mustCompile(b, spec)
			for b.Loop() {
				sink = set.Next(monday).Unix() > 0 || set.Excluded().Next(monday).Unix() > 0
			}
		})
	}
}

// An outage of 400 days.
func BenchmarkCount(b *testing.B) {
	minutely := timeset.Item{Cron: "* * * * *"}
	holidays := tenSchedules().Exclude
	for name, spec := range map[string]timeset.Spec{
		"minutely":               items(minutely),
		"minutely with holidays": {Items: []timeset.Item{minutely}, Exclude: holidays, TimeZone: "Europe/Berlin"},
		"two minutely":           items(minutely, timeset.Item{Name: "b", Cron: "*/2 * * * *"}),
		"ten schedules":          tenSchedules(),
		"sixteen minutely":       sixteen(),
	} {
		b.Run(name, func(b *testing.B) {
			set := mustCompile(b, spec)
			b.ReportAllocs()
			for b.Loop() {
				sink = set.Count(monday.AddDate(0, 0, -400), monday) > 0
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, spec := range map[string]timeset.Spec{"one daily": items(timeset.Item{Cron: "30 2 * * *"}), "ten schedules": tenSchedules()} {
		spec.MinInterval = 10 * time.Second
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = mustCompile(b, spec)
			}
		})
	}
}
