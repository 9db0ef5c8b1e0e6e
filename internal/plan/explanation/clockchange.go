// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
)

// A ClockChange is a day on which the clocks change, and what becomes of the times of the schedule on it.
type ClockChange struct {
	// At is the instant of the change, in the zone after it.
	At time.Time `json:"at"`
	// Date is the day, From what the clock shows at the change, and To what it shows instead.
	Date string `json:"date"`
	From string `json:"from"`
	To   string `json:"to"`
	// ShiftSeconds is by how much the clock is moved: above 0 forward, below 0 back.
	ShiftSeconds int64 `json:"shiftSeconds"`
	// Effect is none, skipped, shifted, doubled, once, fewer or more.
	Effect string `json:"effect"`
	// Times are the local times that the clock skips or shows twice, in words: at most a few.
	Times []string `json:"times"`
	// Runs are how many times the schedule has on that day, and UsualRuns on a day like it without the change.
	Runs      int `json:"runs"`
	UsualRuns int `json:"usualRuns"`
	// Words say what happens.
	Words string `json:"words"`
}

// The effects of a change.
const (
	effectNone    = "none"
	effectSkipped = "skipped"
	effectShifted = "shifted"
	effectDoubled = "doubled"
	effectOnce    = "once"
	effectFewer   = "fewer"
	effectMore    = "more"
)

const (
	day = 24 * time.Hour
	// often is how many times a day make a schedule one of which no single time is told.
	often = 12
	// mostTimes is how many local times are written out.
	mostTimes = 3
)

// change is a change of a zone's offset from before to after, in seconds, at an instant.
type change struct {
	at            time.Time
	before, after int64
}

// changes are those of the zone in the two years.
func (s *subject) changes() []change {
	clock := schedule.ClockOf(s.zone)
	_, end, offset := clock.Stretch(s.now.Unix())
	var found []change
	for end <= s.until.Unix() {
		_, next, after := clock.Stretch(end)
		if after != offset {
			found = append(found, change{time.Unix(end, 0).UTC(), offset, after})
		}
		if next <= end {
			break
		}
		end, offset = next, after
	}
	return found
}

// wallAt is what the clock shows with an offset.
func wallAt(at time.Time, offset int64) time.Time {
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

func (s *subject) clockChanges() []ClockChange {
	all := []ClockChange{}
	if s.wall == nil {
		return all
	}
	for _, c := range s.changes() {
		all = append(all, s.clockChange(c))
	}
	return all
}

func (s *subject) clockChange(c change) ClockChange {
	from, to := wallAt(c.at, c.before), wallAt(c.at, c.after)
	date := from.Truncate(day)
	if to.Before(from) {
		date = to.Truncate(day)
	}
	told := ClockChange{At: c.at.In(s.zone), Date: date.Format(time.DateOnly), From: clockTime(from), To: clockTime(to), ShiftSeconds: c.after - c.before, Times: []string{}}
	start, end := date.Add(-time.Duration(c.before)*time.Second-time.Second), date.Add(day-time.Duration(c.after)*time.Second-time.Second)
	told.Runs = s.placed.Count(start, end)
	told.UsualRuns = s.wall.Count(date.Add(-time.Second), date.Add(day-time.Second))
	low, high := from, to
	if to.Before(from) {
		low, high = to, from
	}
	var first time.Time
	n := 0
	for at := s.wall.Next(low.Add(-time.Second)); !at.IsZero() && at.Before(high); at = s.wall.Next(at) {
		if n++; n == 1 {
			first = at
		}
		if n <= mostTimes {
			told.Times = append(told.Times, clockTime(at))
		}
		if n > 2*mostTimes {
			break
		}
	}
	s.effect(&told, c, first, n)
	if told.Effect != effectNone && s.times != nil && s.times.Count(start, end) == 0 && told.Runs > 0 {
		told.Effect, told.Words = effectNone, "That day is left out or outside the window."
	}
	return told
}

// effect says what becomes of n local times, the first of which is given.
func (s *subject) effect(told *ClockChange, c change, first time.Time, n int) {
	forward := c.after > c.before
	times := strings.Join(told.Times, ", ")
	if n > mostTimes {
		times += " and others"
	}
	what := times + " does"
	comes := times + " comes"
	if n > 1 {
		what, comes = times+" do", times+" come"
	}
	offset := func(o int64) string { return time.Unix(0, 0).In(time.FixedZone("", int(o))).Format("-07:00") }
	switch {
	case n == 0 && told.UsualRuns == 0 && told.Runs == 0:
		told.Effect, told.Words = effectNone, "It does not run on that day."
	case n == 0 && forward:
		told.Effect, told.Words = effectNone, "Nothing changes: it has no time in what the clock skips."
	case n == 0:
		told.Effect, told.Words = effectNone, "Nothing changes: it has no time in what comes twice."
	case told.UsualRuns >= often && told.Runs != told.UsualRuns:
		told.Effect = effectFewer
		if told.Runs > told.UsualRuns {
			told.Effect = effectMore
		}
		told.Words = fmt.Sprintf("%s on that day instead of %d.", words.Count(told.Runs, "run"), told.UsualRuns)
	case forward && s.fires(c.at) && !s.onWall(wallAt(c.at, c.after)):
		told.Effect = effectShifted
		told.Words = fmt.Sprintf("%s not exist: it runs at %s %s instead.", what, told.To, offset(c.after))
	case forward && s.fires(c.at) && s.shifts():
		told.Effect = effectShifted
		told.Words = fmt.Sprintf("%s not exist: what would run then falls together with %s, one run.", what, told.To)
	case forward && told.Runs == 0:
		told.Effect, told.Words = effectSkipped, what+" not exist: no run on that day."
	case forward:
		told.Effect = effectSkipped
		told.Words = fmt.Sprintf("%s not exist: skipped. %s on that day instead of %d.", what, words.Count(told.Runs, "run"), told.UsualRuns)
	default:
		early, late := first.Add(-time.Duration(c.before)*time.Second), first.Add(-time.Duration(c.after)*time.Second)
		switch {
		case s.fires(early) && s.fires(late):
			told.Effect = effectDoubled
			told.Words = fmt.Sprintf("%s twice, and it runs twice: with %s and again with %s.", comes, offset(c.before), offset(c.after))
		case s.fires(late):
			told.Effect, told.Words = effectOnce, fmt.Sprintf("%s twice; it runs once, the second time (%s).", comes, offset(c.after))
		default:
			told.Effect, told.Words = effectOnce, fmt.Sprintf("%s twice; it runs once, the first time (%s).", comes, offset(c.before))
		}
	}
}

// shifts tells that all its times name hours and move to the end of a gap.
func (s *subject) shifts() bool {
	if !s.asTimetable || s.timetable != nil && s.timetable.Spec.DST.Gap == v1alpha1.SkipGap {
		return false
	}
	return !slices.ContainsFunc(s.items, func(i item) bool { return i.expression != nil && !i.expression.NamesHours() })
}

func (s *subject) fires(at time.Time) bool  { return s.placed.Next(at.Add(-time.Second)).Equal(at) }
func (s *subject) onWall(at time.Time) bool { return s.wall.Next(at.Add(-time.Second)).Equal(at) }

// clockTime writes what a clock shows.
func clockTime(at time.Time) string {
	if at.Second() != 0 {
		return at.Format(time.TimeOnly)
	}
	return at.Format("15:04")
}
