// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"testing"
	"time"

	robfig "github.com/robfig/cron/v3"

	"github.com/carillon-dev/carillon/schedule"
)

// The speed goals: Next and Prev under 200 ns without allocation, ten years of
// missed minutes counted in under 1 µs. The sub-benchmarks named robfig show the
// library that the Kubernetes controller uses, on the same question; it can count
// only by walking from one time to the next.

var benchZones = []string{"UTC", "Europe/Berlin"}

var benchSchedules = map[string]string{
	"every minute":    "* * * * *",
	"every 5 minutes": "*/5 * * * *",
	"hourly":          "0 * * * *",
	"daily":           "30 3 * * *",
	"weekdays at 9":   "0 9 * * 1-5",
	"monthly":         "0 0 1 * *",
	"31st":            "0 0 31 * *",
	"13th or Friday":  "0 12 13 * 5",
	"leap day":        "0 0 29 2 *",
}

// benchTimes are spread over some years, so that no branch is learnt by heart.
func benchTimes(loc *time.Location) []time.Time {
	ts := make([]time.Time, 256)
	for i := range ts {
		ts[i] = time.Unix(1767225600+int64(i)*1_234_567, 500).In(loc)
	}
	return ts
}

var sinkTime time.Time
var sinkInt int

func BenchmarkNext(b *testing.B) { benchSearch(b, schedule.Schedule.Next, true) }

func BenchmarkPrev(b *testing.B) { benchSearch(b, schedule.Schedule.Prev, false) }

func benchSearch(b *testing.B, search func(schedule.Schedule, time.Time) time.Time, oracle bool) {
	for name, expr := range benchSchedules {
		for _, zone := range benchZones {
			loc, err := schedule.LoadZone(zone)
			if err != nil {
				b.Fatal(err)
			}
			ts := benchTimes(loc)
			b.Run(name+"/"+zone, func(b *testing.B) {
				s, err := schedule.Parse(expr, loc)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					sinkTime = search(s, ts[i%len(ts)])
					i++
				}
			})
			if !oracle {
				continue
			}
			b.Run(name+"/"+zone+"/robfig", func(b *testing.B) {
				s, err := robfig.ParseStandard("CRON_TZ=" + zone + " " + expr)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					sinkTime = s.Next(ts[i%len(ts)])
					i++
				}
			})
		}
	}
}

// benchItems are what only a Timetable takes, or places where its zone changes.
var benchItems = map[string]string{
	"daily":        "30 3 * * *",
	"in the gap":   "30 2 * * *",
	"last weekday": "0 18 LW * *",
	"2nd Tuesday":  "0 9 * * 2#2",
	"seconds":      "*/20 * 8-18 * * *",
	"years":        "0 0 9 1 1 * 2030/5",
}

// BenchmarkItem asks items of a Timetable, with its defaults.
func BenchmarkItem(b *testing.B) {
	loc, err := schedule.LoadZone("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	ts := benchTimes(loc)
	for name, cron := range benchItems {
		s := mustCompile(b, cron, schedule.Options{Zone: loc})
		for question, ask := range map[string]func(time.Time){
			"Next":          func(t time.Time) { sinkTime = s.Next(t) },
			"Prev":          func(t time.Time) { sinkTime = s.Prev(t) },
			"CountTenYears": func(t time.Time) { sinkInt = s.Count(t.AddDate(-10, 0, 0), t) },
		} {
			b.Run(name+"/"+question, func(b *testing.B) {
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					ask(ts[i%len(ts)])
					i++
				}
			})
		}
	}
}

func BenchmarkCountTenYears(b *testing.B) {
	from := time.Date(2016, 3, 1, 12, 34, 56, 0, time.UTC)
	to := from.AddDate(10, 0, 0)
	for name, expr := range benchSchedules {
		for _, zone := range benchZones {
			b.Run(name+"/"+zone, func(b *testing.B) {
				s, err := schedule.Parse("TZ="+zone+" "+expr, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					sinkInt = s.Count(from, to)
				}
			})
			if name == "every minute" || name == "every 5 minutes" {
				continue // it takes seconds
			}
			b.Run(name+"/"+zone+"/robfig", func(b *testing.B) {
				s, err := robfig.ParseStandard("CRON_TZ=" + zone + " " + expr)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					sinkInt = 0
					for t := s.Next(from); !t.IsZero() && !t.After(to); t = s.Next(t) {
						sinkInt++
					}
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, expr := range benchSchedules {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := schedule.Parse(expr, time.UTC); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/robfig", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := robfig.ParseStandard(expr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
