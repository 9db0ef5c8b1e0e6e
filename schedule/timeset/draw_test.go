// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"fmt"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

var (
	crons = []string{"*/7 * * * *", "10,40 */9 * * * *", "0 30 2 * * * 2011-2026", "15 2 LW,1W * *", "0 0-3 * * SUN#1,SUNL", "30 */3 * * *", "0 2 * * *", "30 2 * * *", "0,30 1-3 * * 1-5", "15 0 * * SUN", "0 9 29 2 *", "59 23 * * 0,1"}
	// Clocks that change at night, at midnight (missing, or twice), by half an hour, by a day.
	zones = []string{"UTC", "Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Africa/Cairo"}
	turns = []time.Time{
		time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC), time.Date(2024, 12, 31, 23, 0, 0, 0, time.UTC),
		time.Date(2027, 2, 28, 12, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC),
	}
	changesOf = sync.OnceValue(func() map[string][]time.Time {
		changes := map[string][]time.Time{}
		for _, zone := range zones {
			loc, err := time.LoadLocation(zone)
			if err != nil {
				panic(err)
			}
			_, before := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC).In(loc).Zone()
			for t := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); t.Year() < 2028; t = t.Add(30 * time.Minute) {
				if _, offset := t.In(loc).Zone(); offset != before {
					changes[zone] = append(changes[zone], t)
					before = offset
				}
			}
		}
		return changes
	})
)

// place is where most of what is drawn lies: near a change of the clock, the turn of a year, a leap day.
type place struct {
	zone string
	at   time.Time
}

func drawPlace(t *rapid.T, zone string) place {
	if changes := changesOf()[zone]; len(changes) > 0 && rapid.IntRange(0, 2).Draw(t, "turn of a year") > 0 {
		return place{zone, rapid.SampledFrom(changes).Draw(t, "change")}
	}
	return place{zone, rapid.SampledFrom(turns).Draw(t, "turn")}
}

// local draws a wall clock time at most some quarters of an hour away, whether it exists or not.
func (p place) local(t *rapid.T, quarters int) time.Time {
	loc, _ := time.LoadLocation(p.zone)
	_, offset := p.at.In(loc).Zone()
	wall := p.at.Add(time.Duration(offset) * time.Second).Truncate(15 * time.Minute)
	return wall.Add(time.Duration(rapid.IntRange(-quarters, quarters).Draw(t, "quarters")) * 15 * time.Minute)
}

func (p place) moment(t *rapid.T) string {
	return p.local(t, 8).Format("2006-01-02T15:04") + rapid.SampledFrom([]string{"", "", "", "Z", "+02:00"}).Draw(t, "offset")
}

func (p place) period(t *rapid.T) string {
	first, last := p.local(t, 200), p.local(t, 200)
	if rapid.Bool().Draw(t, "hours") {
		first, last = p.local(t, 8), p.local(t, 8)
	}
	if last.Before(first) {
		first, last = last, first
	}
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return first.Format("01-02")
	case 1:
		return first.Format("01-02") + "/" + last.Format("01-02")
	case 2:
		return rapid.SampledFrom([]string{"02-29", "02-28/03-01", "02-28/02-29", "02-20/02-29", "12-24/01-02", "11-02/10-25"}).Draw(t, "days")
	case 3:
		return first.Format("2006-01-02")
	case 4:
		return first.Format("2006-01-02") + "/" + last.Format("2006-01-02")
	}
	return first.Format("2006-01-02T15:04") + "/" + last.Add(15*time.Minute).Format("2006-01-02T15:04")
}

func drawItem(t *rapid.T, p place, name string) timeset.Item {
	item := timeset.Item{Name: name}
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		item.Every = rapid.SampledFrom([]string{"1h", "37m", "6h", "24h", "97s", "168h"}).Draw(t, "every")
		item.Anchor = rapid.SampledFrom([]string{"", p.moment(t)}).Draw(t, "anchor")
	case 1:
		item.At = rapid.SliceOfN(rapid.Custom(p.moment), 1, 5).Draw(t, "at")
	default:
		item.Cron = rapid.SampledFrom(crons).Draw(t, "cron")
		if rapid.Bool().Draw(t, "weeks") {
			item.EveryWeeks = rapid.IntRange(2, 5).Draw(t, "everyWeeks")
			item.Anchor = rapid.SampledFrom([]string{"2026-01-05", "2030-03-03", p.local(t, 200).Format("2006-01-02")}).Draw(t, "anchor")
		}
	}
	return item
}

func drawSpec(t *rapid.T, p place) (timeset.Spec, calendars) {
	spec := timeset.Spec{
		Hash:     schedule.Hash{Namespace: "ops", Name: "nightly"},
		TimeZone: p.zone,
		DST: schedule.DST{
			Gap:     rapid.SampledFrom([]schedule.Gap{"", schedule.GapShift, schedule.GapSkip}).Draw(t, "gap"),
			Overlap: rapid.SampledFrom([]schedule.Overlap{"", schedule.OverlapFirst, schedule.OverlapLast, schedule.OverlapBoth}).Draw(t, "overlap"),
		},
		Jitter: time.Duration(rapid.IntRange(0, 7200).Draw(t, "jitter")) * time.Second,
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "items") {
		spec.Items = append(spec.Items, drawItem(t, p, fmt.Sprintf("item-%d", i)))
	}
	calendars := calendars{}
	for range rapid.IntRange(0, 3).Draw(t, "exclusions") {
		period := p.period(t)
		if rapid.Bool().Draw(t, "calendar") {
			both := []string{period, p.period(t)}
			calendar := timeset.NewCalendar("c", both)
			calendars[calendar] = both
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Calendar: calendar})
		} else {
			spec.Exclude = append(spec.Exclude, timeset.Exclusion{Period: period})
		}
	}
	if rapid.Bool().Draw(t, "notBefore") {
		spec.NotBefore = p.at.Add(-time.Duration(rapid.IntRange(0, 48).Draw(t, "hours before")) * time.Hour)
	}
	if rapid.Bool().Draw(t, "notAfter") {
		spec.NotAfter = p.at.Add(time.Duration(rapid.IntRange(0, 48).Draw(t, "hours after")) * time.Hour)
	}
	return spec, calendars
}
