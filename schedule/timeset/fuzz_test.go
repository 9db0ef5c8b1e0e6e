// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"errors"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Whatever a spec says and whenever one asks: it is a set that answers consistently, or an obstacle in one line.
func FuzzCompile(f *testing.F) {
	f.Add("*/10 * * * *", int16(0), "", "", "2027-03-01T14:00", "Europe/Berlin", "12-24/01-02", "2026-05-04", int64(1777896200), uint8(0))
	f.Add("0 9 * * 1", int16(2), "2026-01-05", "", "", "UTC", "01-01/12-31", "", int64(0), uint8(7))
	f.Add("", int16(0), "1970-01-01T00:00Z", "1h", "", "Pacific/Apia", "2011-12-30T00:00/2011-12-31T12:00", "02-29", int64(1<<60), uint8(9))
	f.Add("H H(0-7) L,LW * FRI#2", int16(-1), "", "99999h", "0000-01-01T00:00", "America/Havana", "", "02-28/02-29", int64(-1<<60), uint8(255))
	f.Fuzz(func(t *testing.T, cron string, weeks int16, anchor, every, at, zone, period, shared string, sec int64, dst uint8) {
		spec := timeset.Spec{TimeZone: zone, Jitter: time.Duration(sec), MinInterval: time.Second, DST: schedule.DST{
			Gap:     []schedule.Gap{"", schedule.GapSkip}[dst%2],
			Overlap: []schedule.Overlap{"", schedule.OverlapLast, schedule.OverlapBoth}[dst/2%3],
		}}
		if cron != "" {
			spec.Items = append(spec.Items, timeset.Item{Cron: cron, EveryWeeks: int(weeks), Anchor: anchor})
		}
		if every != "" {
			spec.Items = append(spec.Items, timeset.Item{Name: "every", Every: every, Anchor: anchor})
		}
		if at != "" {
			spec.Items = append(spec.Items, timeset.Item{Name: "at", At: []string{at}})
		}
		if period != "" {
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Period: period})
		}
		if shared != "" {
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Calendar: timeset.NewCalendar("shared", []string{shared})})
		}
		if len(spec.Fingerprint()) != 16 {
			t.Fatal("no fingerprint")
		}
		set, err := timeset.Compile(spec)
		if err != nil {
			if obstacle, ok := errors.AsType[*timeset.Obstacle](err); !ok || obstacle.Reason == "" || set != nil {
				t.Fatalf("%#v", err)
			}
			checkMessage(t, cron+every+at+zone+period+shared, err)
			return
		}
		from := time.Unix(sec, 0).UTC()
		next, end := set.Search(from)
		set.Excluded().Next(from)
		set.Prev(from)
		if next.IsZero() != (end != timeset.Found) {
			t.Fatalf("Search(%v) = %v, %v", from, next, end)
		}
		if next.IsZero() || from.Year() < 1900 || next.Year() > 2300 {
			return
		}
		if !next.After(from) || !set.Has(next) || set.Count(from, next) != 1 || !set.LastBetween(from, next).Equal(next) || !set.Prev(next.Add(1)).Equal(next) {
			t.Fatalf("%+v: Next(%v) = %v", spec, from, next)
		}
		if len(set.Names(next)) == 0 || set.Excluded().Has(next) || set.PlannedStart(next).Before(next) {
			t.Fatalf("%+v: names %v of %v", spec, set.Names(next), next)
		}
	})
}
