// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// clockYears is for how many years days on which the clock changes are looked at.
const clockYears = 2

// clockChange gives the first day from now on on which a CronJob has other times than cron, because the clock changes:
// cron runs an entry that names hours once on each of these days, a CronJob skips it in spring, and runs it twice in
// autumn. skipped tells which. ok is false if there is no such day within two years.
func (t timing) clockChange(zone *time.Location, now time.Time) (day time.Time, skipped, ok bool) {
	if t.flows || t.both {
		return time.Time{}, false, false
	}
	ours, err := schedule.Parse(t.cron, zone)
	if err != nil {
		return time.Time{}, false, false
	}
	theirs, err := schedule.Compile(schedule.Item{Cron: t.cron}, schedule.Options{Zone: zone})
	if err != nil {
		return time.Time{}, false, false
	}
	end := now.AddDate(clockYears, 0, 0)
	clock := schedule.ClockOf(zone)
	for at := now.Unix(); at < end.Unix(); {
		_, change, _ := clock.Stretch(at)
		if change >= end.Unix() {
			break
		}
		if day, skipped, ok = differ(ours, theirs, time.Unix(change, 0).In(zone)); ok {
			return day, skipped, true
		}
		at = change
	}
	return time.Time{}, false, false
}

// differ finds the first time, around a change of the clock, that only one of two schedules has.
func differ(ours, theirs schedule.Schedule, change time.Time) (day time.Time, skipped, ok bool) {
	const around = 4 * time.Hour
	a, b := ours.Next(change.Add(-around)), theirs.Next(change.Add(-around))
	for end := change.Add(around); ; a, b = ours.Next(a), theirs.Next(b) {
		switch inA, inB := !a.IsZero() && a.Before(end), !b.IsZero() && b.Before(end); {
		case inA && inB && a.Equal(b):
		case inB && (!inA || b.Before(a)):
			return b, true, true
		case inA:
			return a, false, true
		default:
			return time.Time{}, false, false
		}
	}
}
