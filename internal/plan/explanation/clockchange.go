// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/api/v1alpha1"
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

	// loses and repeats tell that runs are lost, or come more often, which surprises. severalTimes: it is so of schedules
	// with several times in that hour; flows: of ones that flow with the clock.
	loses, repeats, severalTimes, flows bool
	// leftOut tells that some of it comes from exclusions or the window.
	leftOut bool
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

// worstFirst are the effects; of those of several schedules the first one is told.
var worstFirst = []string{effectSkipped, effectFewer, effectDoubled, effectMore, effectShifted, effectOnce, effectNone}

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
	if s.all == nil {
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
	told := ClockChange{At: c.at.In(s.zone), Date: date.Format(time.DateOnly), From: clockTime(from), To: clockTime(to),
		ShiftSeconds: c.after - c.before, Effect: effectNone, Times: []string{}}
	d := s.dayOf(c, date)
	told.Runs, told.UsualRuns = d.runs(s.all)
	var effects []effect
	for _, i := range s.items {
		if i.onWall == nil {
			continue
		}
		e := d.effect(i.onWall, s.all, i.shifts(s))
		e.item, e.namesHours = i.name, i.expression == nil || i.expression.NamesHours()
		effects = append(effects, e)
		for _, text := range e.times {
			if !slices.Contains(told.Times, text) && len(told.Times) < mostTimes {
				told.Times = append(told.Times, text)
			}
		}
	}
	slices.Sort(told.Times)
	told.join(effects)
	return told
}

// join puts together what becomes of the times of each item.
func (told *ClockChange) join(effects []effect) {
	var parts []string
	alike := !slices.ContainsFunc(effects, func(e effect) bool { return e.words != effects[0].words })
	for _, e := range effects {
		if slices.Index(worstFirst, e.what) < slices.Index(worstFirst, told.Effect) {
			told.Effect = e.what
		}
		told.surprises(e)
		told.leftOut = told.leftOut || e.leftOut
		switch {
		case alike:
			parts = []string{e.words}
		case e.what != effectNone || e.leftOut:
			parts = append(parts, e.item+": "+e.words)
		}
	}
	if len(parts) == 0 && len(effects) > 0 {
		// Of some it says that they do not run on that day.
		busiest := slices.MaxFunc(effects, func(a, b effect) int { return cmp.Compare(a.usual, b.usual) })
		parts = []string{busiest.words}
	}
	told.Words = strings.Join(parts, " ")
}

// surprises notes whether people lose runs by it or get more of them. Times that flow with the clock are as many as the
// hours that pass, which is what one expects of them.
func (told *ClockChange) surprises(e effect) {
	switch e.what {
	case effectSkipped:
		told.loses = told.loses || !e.leftOut
	case effectFewer:
		told.loses = told.loses || e.namesHours
	case effectDoubled:
		told.repeats = true
	case effectMore:
		told.repeats = told.repeats || e.namesHours
	default:
		return
	}
	told.severalTimes = told.severalTimes || e.n > 1
	told.flows = told.flows || !e.namesHours
}

// shifts tells that times of the item which do not exist move to the end of the gap.
func (i item) shifts(s *subject) bool {
	if !s.asTimetable || s.timetable != nil && s.timetable.Spec.DST.Gap == v1alpha1.SkipGap {
		return false
	}
	return i.expression == nil || i.expression.NamesHours()
}

// clockTime writes what a clock shows.
func clockTime(at time.Time) string {
	if at.Second() != 0 {
		return at.Format(time.TimeOnly)
	}
	return at.Format("15:04")
}
