// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
)

// rhythm is a schedule of the simulated world together with an independent idea of when it fires: the minutes of an
// hour, found by walking, or a period. A rhythm with neither is a user's mistake and never fires.
type rhythm struct {
	text   string
	minute func(m int) bool
	every  time.Duration
}

var rhythms = []rhythm{
	{text: "*/2 * * * *", minute: func(m int) bool { return m%2 == 0 }},
	{text: "* * * * *", minute: func(int) bool { return true }},
	{text: "1-59/2 * * * *", minute: func(m int) bool { return m%2 == 1 }},
	{text: "*/3 * * * *", minute: func(m int) bool { return m%3 == 0 }},
	{text: "*/7 * * * *", minute: func(m int) bool { return m%7 == 0 }},
	{text: "5,25,45 * * * *", minute: func(m int) bool { return m%20 == 5 }},
	{text: "3-59/5 * * * *", minute: func(m int) bool { return m%5 == 3 }},
	{text: "0-58/4 * * * *", minute: func(m int) bool { return m%4 == 0 }},
	{text: "@every 3m", every: 3 * time.Minute},
	{text: "@every 20s", every: 20 * time.Second},
	{text: "@every 90s", every: 90 * time.Second},
	{text: "61 * * * *"},
}

// places are the time zones of the simulated world: minutes differ between them, and the last one does not exist.
var places = []string{"", "Asia/Kathmandu", "Asia/Kolkata", "Mars/Olympus"}

var locations = func() map[string]*time.Location {
	found := map[string]*time.Location{}
	for _, name := range places {
		if loc, err := time.LoadLocation(name); err == nil {
			found[name] = loc
		}
	}
	return found
}()

// rhythmOf is the rhythm of a spec, one that never fires if the spec holds a mistake.
func rhythmOf(spec cron.Spec) rhythm {
	loc := time.UTC
	if spec.TimeZone != nil {
		loc = locations[*spec.TimeZone]
	}
	for _, r := range rhythms {
		if r.text != spec.Schedules[0] || loc == nil {
			continue
		}
		if fires := r.minute; fires != nil {
			_, offset := at("12:00").In(loc).Zone()
			r.minute = func(m int) bool { return fires(((m+offset/60)%60 + 60) % 60) }
		}
		return r
	}
	return rhythm{}
}

// fires tells whether there is any scheduled time.
func (r rhythm) fires() bool { return r.minute != nil || r.every > 0 }

// last is the latest scheduled time up to t, of a rhythm of minutes.
func (r rhythm) last(t time.Time) time.Time {
	for t = t.UTC().Truncate(time.Minute); !r.minute(t.Minute()); t = t.Add(-time.Minute) {
	}
	return t
}

// next is the first scheduled time after t; for a period, the latest instant that may be it.
func (r rhythm) next(t time.Time) time.Time {
	if r.every > 0 {
		return t.Add(r.every)
	}
	for t = t.UTC().Truncate(time.Minute).Add(time.Minute); !r.minute(t.Minute()); t = t.Add(time.Minute) {
	}
	return t
}
