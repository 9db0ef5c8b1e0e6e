// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// An item is one schedule of a source, without window and exclusions.
type item struct {
	name string
	// instants are its times.
	instants cron.Times
	// wall are the wall clock times that it names, written as if the clock showed UTC; nil if it names instants only.
	wall cron.Times
	// shifts tells that a wall clock time which does not exist moves to the end of the gap. Otherwise it is skipped.
	shifts bool
}

func newItem(i timeset.Item, spec timeset.Spec) item {
	read := item{name: cmp.Or(i.Name, "main"), shifts: cmp.Or(spec.DST.Gap, schedule.GapShift) == schedule.GapShift && (i.Cron == "" || namesHours(i.Cron))}
	alone := timeset.Spec{Hash: spec.Hash, Items: []timeset.Item{i}, TimeZone: spec.TimeZone, DST: spec.DST}
	if set, err := timeset.Compile(alone); err == nil {
		read.instants = set
	}
	if i.Every != "" {
		return read
	}
	i.At = withoutOffset(i.At)
	alone.Items, alone.TimeZone = []timeset.Item{i}, ""
	if set, err := timeset.Compile(alone); err == nil {
		read.wall = set
	}
	return read
}

// withoutOffset gives the moments that a wall clock has to place.
func withoutOffset(moments []string) []string {
	var local []string
	for _, text := range moments {
		if m, err := timeset.ParseMoment(text); err == nil && !m.Zoned {
			local = append(local, text)
		}
	}
	return local
}

// namesHours tells whether the times of a cron text are placed where the clock changes. Those whose hours begin with a
// star flow with the clock.
func namesHours(text string) bool {
	fields := strings.Fields(text)
	switch {
	case len(fields) == 1:
		return fields[0] != "@hourly"
	case len(fields) < 5:
		return true
	}
	hours := fields[1]
	if len(fields) > 5 {
		hours = fields[2]
	}
	for part := range strings.SplitSeq(hours, ",") {
		if strings.HasPrefix(part, "*") || strings.HasPrefix(part, "?") {
			return false
		}
	}
	return true
}

// names tells whether the item names a wall clock time.
func (i item) names(wall time.Time) bool {
	return i.wall != nil && has(i.wall, wall)
}

// has tells whether an instant is one of some times.
func has(times cron.Times, t time.Time) bool {
	return times.Next(t.Add(-time.Second)).Equal(t)
}

// itemText is a schedule of a Timetable in one line.
func itemText(i timeset.Item) string {
	switch {
	case i.Every != "" && i.Anchor != "":
		return fmt.Sprintf("every %s from %s", i.Every, i.Anchor)
	case i.Every != "":
		return "every " + i.Every
	case len(i.At) > 0:
		const most = 3
		if len(i.At) > most {
			return fmt.Sprintf("at %s and %d more moments", strings.Join(i.At[:most], ", "), len(i.At)-most)
		}
		return "at " + strings.Join(i.At, ", ")
	}
	text := i.Cron
	if i.DayRule == schedule.DayRuleBoth {
		text += " (on days that match both day fields)"
	}
	if i.EveryWeeks > 1 {
		text += fmt.Sprintf(" (every %d weeks from %s)", i.EveryWeeks, i.Anchor)
	}
	return text
}
