// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// clockHorizon is how far ahead changes of the clocks are looked for.
const clockHorizon = 2 * 366 * 24 * time.Hour

var clockChanges = &Rule{
	ID: "clock-change", Level: Warning, Kinds: "CronJob (batch/v1, Volcano)",
	Summary: "a run falls into the hour that the clocks skip or show twice",
	Reason:  "On the day the clocks go forward a CronJob leaves such a run out, and on the day they go back it starts twice.",
	Cure:    "Take a time outside of that hour, the zone Etc/UTC, or a Timetable, which runs once on each of these days.",
	check: eachCron(func(s *Subject, c cronText) []problem {
		timing := s.scheduled.Policy.Timing
		if s.timetable != nil || s.obstacle() != nil || c.fields == nil || starred(c.fields[1]) || timing.Zone == nil || c.zone != "" || !s.has("spec", "timeZone") || max(s.starts.longest(), s.longestWithin(48*time.Hour)) < 4*time.Hour {
			return nil
		}
		wall, err := schedule.Parse(c.bare, time.UTC)
		if err != nil {
			return nil
		}
		var skipped, doubled time.Time
		for _, change := range changesOf(timing.Zone, s.now, s.now.Add(clockHorizon)) {
			from, to := change.span()
			t := wall.Next(from.Add(-time.Second))
			switch {
			case t.IsZero() || !t.Before(to):
			case change.after > change.before && skipped.IsZero():
				skipped = t
			case change.after < change.before && doubled.IsZero():
				doubled = t
			}
		}
		if skipped.IsZero() && doubled.IsZero() {
			return nil
		}
		const format = "15:04 on 2006-01-02"
		message := ""
		if !skipped.IsZero() {
			message = fmt.Sprintf("in %s there is no %s, and no run", timing.ZoneName, skipped.Format(format))
		}
		if !doubled.IsZero() {
			if message != "" {
				message += "; "
			} else {
				message = "in " + timing.ZoneName + " "
			}
			message += doubled.Format(format) + " comes twice, and so does the run"
		}
		return one(c.path, "%s", message)
	}),
}
