// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// Fingerprint returns 16 hex digits that tell one timing from another:
// schedules, zone, DST, window, exclusions and what the named Calendars hold. Defaults
// that are written out change nothing. It exists for a timing that has an [Obstacle], too.
// Jitter and MinInterval are not part of it, nor is Hash.
//
// It may be stored: later versions of this package give the same for the same Spec.
func (s Spec) Fingerprint() string {
	// What it is made of is written into objects that outlive this process (timetable.md 5.7): it may get new parts,
	// which must be left out where they have their default, and never lose or rename one.
	type item struct {
		Name       string   `json:"name"`
		Cron       string   `json:"cron,omitempty"`
		DayRule    string   `json:"dayRule,omitempty"`
		EveryWeeks int      `json:"everyWeeks,omitempty"`
		Every      string   `json:"every,omitempty"`
		Anchor     string   `json:"anchor,omitempty"`
		At         []string `json:"at,omitempty"`
	}
	type exclusion struct {
		Period   string   `json:"period,omitempty"`
		Calendar string   `json:"calendar,omitempty"`
		Periods  []string `json:"periods,omitempty"`
	}
	timing := struct {
		Schedules []item      `json:"schedules"`
		TimeZone  string      `json:"timeZone"`
		Gap       string      `json:"gap"`
		Overlap   string      `json:"overlap"`
		NotBefore string      `json:"notBefore,omitempty"`
		NotAfter  string      `json:"notAfter,omitempty"`
		Exclude   []exclusion `json:"exclude,omitempty"`
	}{
		TimeZone:  orDefault(s.TimeZone, "UTC"),
		Gap:       string(orDefault(s.DST.Gap, schedule.GapShift)),
		Overlap:   string(orDefault(s.DST.Overlap, schedule.OverlapFirst)),
		NotBefore: textOf(s.NotBefore),
		NotAfter:  textOf(s.NotAfter),
	}
	for _, i := range s.Items {
		timing.Schedules = append(timing.Schedules, item{
			orDefault(i.Name, mainItem), i.Cron, string(orDefault(i.DayRule, schedule.DayRuleEither)), i.EveryWeeks, i.Every, i.Anchor, i.At,
		})
	}
	for _, e := range s.Exclude {
		written := exclusion{Period: e.Period}
		if e.Calendar != nil {
			written.Calendar, written.Periods = e.Calendar.name, e.Calendar.periods
		}
		timing.Exclude = append(timing.Exclude, written)
	}
	text, err := json.Marshal(timing)
	if err != nil {
		panic(err) // strings and numbers always can be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// textOf writes an instant to the second, which is what the API keeps.
func textOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
