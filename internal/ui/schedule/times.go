// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/upcoming"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// shownTimes is how many of the next times are shown.
const shownTimes = 5

// nextTimes are the next ones, in the zone of the schedule and in that of the viewer.
type nextTimes struct {
	// Zone and Yours name the zones. Same: clocks show the same in both at all the times.
	Zone, Yours string
	Same        bool
	// Assumed: nobody has named a zone.
	Assumed bool
	Times   []nextTime
	// Ending says why there are fewer, Obstacle why there are none; "" if it does not matter.
	Ending, Obstacle string
	// Omitted are those between them that do not come, and Exclusions what says so, in words.
	Omitted []string
	// Held: times pass without a run, as it is.
	Held bool
}

// nextTime is one of them.
type nextTime struct {
	At time.Time
	// There is what clocks of the schedule's zone show, Here those of the viewer; Distance is how far away it is.
	There, Here, Distance string
	// Notes are what else there is to say of it.
	Notes []string
}

func nextTimesOf(s *workload.Scheduled, now time.Time, zone *time.Location) nextTimes {
	source := upcoming.Of(s, nil)
	list := source.List(now, shownTimes)
	n := nextTimes{Zone: source.ZoneName, Yours: nameOf(zone, now), Same: true, Assumed: source.ZoneAssumed, Obstacle: source.Obstacle, Ending: list.Ending()}
	if n.Zone == "" {
		n.Zone = source.Zone.String()
	}
	layout := "Mon 2 Jan, 15:04"
	for _, t := range list.Times {
		if t.At.Second() != 0 {
			layout = "Mon 2 Jan, 15:04:05"
		}
	}
	for _, t := range list.Times {
		here := layout
		if t.At.In(zone).Year() != now.In(zone).Year() {
			here = strings.Replace(layout, "Jan", "Jan 2006", 1)
		}
		_, offset := t.At.Zone()
		_, yours := t.At.In(zone).Zone()
		n.Same = n.Same && offset == yours
		next := nextTime{At: t.At, There: t.At.Format(here), Here: t.At.In(zone).Format(here), Distance: duration.FromNow(t.At, now), Notes: list.Notes(t)}
		if len(t.Names) > 0 {
			next.Notes = append([]string{strings.Join(t.Names, ", ")}, next.Notes...)
		}
		if !t.PlannedStart.IsZero() {
			next.Notes = append(next.Notes, "its run starts at "+t.PlannedStart.Format(time.TimeOnly)+" (jitter)")
		}
		n.Held = n.Held || t.Suspended
		n.Times = append(n.Times, next)
	}
	const most = 20
	for i := range list.Omissions[:min(len(list.Omissions), most)] {
		n.Omitted = append(n.Omitted, list.Omitted(list.Omissions[i]))
	}
	return n
}

// nameOf names a zone of a viewer.
func nameOf(zone *time.Location, now time.Time) string {
	if zone == time.Local {
		name, _ := now.In(zone).Zone()
		return name
	}
	return zone.String()
}
