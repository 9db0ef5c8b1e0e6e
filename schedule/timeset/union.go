// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import "github.com/carillon-dev/carillon/schedule"

// maxSources is how many sources a union may have: the most schedules of a Timetable.
const maxSources = 16

// union is the instants of any of its sources, each once.
type union struct {
	sources []source
	clock   schedule.Clock
}

func (u union) after(sec int64) (int64, end) { return u.afterBut(-1, sec) }

// afterBut leaves a source out.
func (u union) afterBut(but int, sec int64) (next int64, end end) {
	end = over
	for i, s := range u.sources {
		if i == but {
			continue
		}
		if t, e := s.after(sec); e == found && (end != found || t < next) {
			next, end = t, found
		}
	}
	return next, end
}

func (u union) before(sec int64) (last int64, end end) {
	end = over
	for _, s := range u.sources {
		if t, e := s.before(sec); e == found && (end != found || t > last) {
			last, end = t, found
		}
	}
	return last, end
}

func (u union) count(from, to int64) int64 {
	most, n, others := u.largest(from, to)
	days := (to - from) / secondsPerDay
	switch {
	case others == 0:
		return n
	case others <= days+64:
		return n + u.extra(most, from, to)
	}
	return u.countByDays(from, to)
}

// largest returns the source that has most in [from, to), how many it has, and how many
// the others have together.
func (u union) largest(from, to int64) (most int, n, others int64) {
	n = -1
	for i, s := range u.sources {
		count := s.count(from, to)
		if others += count; count > n {
			most, n = i, count
		}
	}
	return most, n, others - n
}

// extra walks the instants of all sources but one and counts those that it does not have.
func (u union) extra(but int, from, to int64) (n int64) {
	for sec := from - 1; ; {
		next, end := u.afterBut(but, sec)
		if end != found || next >= to {
			return n
		}
		if !has(u.sources[but], next) {
			n++
		}
		sec = next
	}
}

func (u union) walk(from, to int64) int64 {
	if from >= to {
		return 0
	}
	most, n, others := u.largest(from, to)
	if others == 0 {
		return n
	}
	return n + u.extra(most, from, to)
}

// calm is how far from a change of the clock a day must be so that no time of it is moved,
// comes twice, or was moved to it. No clock has ever been put by more than a day.
const calm = 2 * secondsPerDay

// countByDays walks one of each kind of days. Far from any change of the clock a cron
// expression names the same times of day on each day that it names, and a grid with the
// same phase does.
func (u union) countByDays(from, to int64) (n int64) {
	known := map[look]int64{}
	for from < to {
		start, end, offset := u.clock.Stretch(from)
		stop := min(end, to)
		first := -floorDiv(-(max(from, start+calm)+offset), secondsPerDay)*secondsPerDay - offset
		last := floorDiv(min(to, end-calm)+offset, secondsPerDay)*secondsPerDay - offset
		if first >= last {
			n += u.walk(from, stop)
			from = stop
			continue
		}
		n += u.walk(from, first) + u.walk(last, stop)
		for day := first; day < last; day += secondsPerDay {
			look, ok := u.look(day)
			count, isKnown := known[look]
			if !ok || !isKnown {
				count = u.walk(day, day+secondsPerDay)
			}
			if ok && !isKnown {
				known[look] = count
			}
			n += count
		}
		from = stop
	}
	return n
}

// look is what a day's times follow from, if it is far from any change of the clock.
type look struct {
	// named tells of each cron expression whether it names the day.
	named [maxSources]bool
	// phase is, for each grid, where it stands when the day begins.
	phase [maxSources]int64
}

// look returns that of the day that begins at an instant; ok is false if it has times that
// belong to no other day.
func (u union) look(day int64) (look look, ok bool) {
	if len(u.sources) > maxSources {
		return look, false
	}
	for i, s := range u.sources {
		switch s := s.(type) {
		case grid:
			look.phase[i] = floorMod(day-s.anchor, s.step)
		case moments:
			if s.count(day, day+secondsPerDay) > 0 {
				return look, false
			}
		default:
			next, end := s.after(day - 1)
			look.named[i] = end == found && next < day+secondsPerDay
		}
	}
	return look, true
}
