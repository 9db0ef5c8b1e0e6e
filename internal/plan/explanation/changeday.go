// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// changeDay is a day on which the clock changes.
type changeDay struct {
	change
	// date is what the clock shows when the day begins; the clock skips or repeats what it shows from low until just
	// before high.
	date, low, high time.Time
	// start and end are instants: it is of those after start, up to end.
	start, end time.Time
	// outside tells that none of them is in the window.
	outside bool
}

func (s *subject) dayOf(c change, date time.Time) changeDay {
	d := changeDay{change: c, date: date, low: wallAt(c.at, c.before), high: wallAt(c.at, c.after)}
	if d.high.Before(d.low) {
		d.low, d.high = d.high, d.low
	}
	d.start = date.Add(-time.Duration(c.before)*time.Second - time.Second)
	d.end = date.Add(day - time.Duration(c.after)*time.Second - time.Second)
	d.outside = !s.notBefore.IsZero() && s.notBefore.After(d.end) || !s.notAfter.IsZero() && !s.notAfter.After(d.start)
	return d
}

// runs are how many times there are on the day, and how many without the change.
func (d changeDay) runs(of *onWall) (runs, usual int) {
	return of.counted.Count(d.start, d.end), of.usual.Count(d.date.Add(-time.Second), d.date.Add(day-time.Second))
}

// between gives the first of the local times that the clock skips or repeats, a few of them in words, and how many
// there are; a number above many stands for more.
func (d changeDay) between(wall cron.Times) (first time.Time, told []string, n int) {
	for at := wall.Next(d.low.Add(-time.Second)); !at.IsZero() && at.Before(d.high) && n <= 2*mostTimes; at = wall.Next(at) {
		if n++; n == 1 {
			first = at
		}
		if n <= mostTimes {
			told = append(told, clockTime(at))
		}
	}
	return first, told, n
}

// An effect is what becomes of the times of one schedule.
type effect struct {
	item  string
	what  string
	words string
	// times are the n local times that it is about, a few of them.
	times []string
	n     int
	// usual is how many runs the schedule has on a day like it.
	usual int
	// leftOut tells that no run comes because an exclusion or the window takes it, too.
	leftOut bool
	// namesHours tells that the schedule names hours of the wall clock.
	namesHours bool
}

// effect says what becomes of the times that the clock skips or repeats; all are the times of all schedules. shifts
// tells that those which do not exist move to the end of the gap.
func (d changeDay) effect(of, all *onWall, shifts bool) effect {
	forward := d.after > d.before
	runs, usual := d.runs(of)
	among := of.usual
	if forward && shifts {
		among = of.wall // exclusions hold where a time has moved to
	}
	first, times, n := d.between(among)
	e := effect{what: effectNone, times: times, n: n, usual: usual}
	what, comes := said(times, n, "does", "do"), said(times, n, "comes", "come")
	instead := fmt.Sprintf("%s on that day instead of %d.", quantity.Count(runs, "run"), usual)
	if runs == 0 {
		instead = fmt.Sprintf("No run on that day instead of %d.", usual)
	}
	switch {
	case runs == 0 && (d.outside || usual == 0 && of.placed.Count(d.start, d.end) > 0):
		e.words, e.leftOut, e.times = "That day is left out or outside the window.", true, nil
	case n == 0 && usual == 0 && runs == 0:
		e.words = "It does not run on that day."
	case n == 0 && forward:
		e.words = "Nothing changes: it has no time in what the clock skips."
	case n == 0:
		e.words = "Nothing changes: it has no time in what comes twice."
	case forward && shifts && !fires(of.counted, d.at):
		e.leftOut = true
		e.words = fmt.Sprintf("%s not exist, and %s, where it would run instead, is left out.", what, clockTime(d.high))
		if runs != usual {
			e.what, e.words = effectSkipped, e.words+" "+instead
		}
	case usual >= often && runs != usual:
		e.what, e.words = effectFewer, instead
		if runs > usual {
			e.what = effectMore
		}
	case forward && shifts && fires(all.wall, d.high):
		e.what, e.words = effectShifted, fmt.Sprintf("%s not exist: what would run then falls together with %s, one run.", what, clockTime(d.high))
	case forward && shifts:
		e.what, e.words = effectShifted, fmt.Sprintf("%s not exist: it runs at %s %s instead.", what, clockTime(d.high), offset(d.after))
		if n > 1 {
			e.words = fmt.Sprintf("%s not exist: it runs once instead, at %s %s.", what, clockTime(d.high), offset(d.after))
		}
	case forward && runs == 0:
		e.what, e.words = effectSkipped, what+" not exist: no run on that day."
	case forward:
		e.what, e.words = effectSkipped, what+" not exist: skipped. "+instead
	default:
		d.repeated(&e, of, first, comes, instead)
	}
	return e
}

// repeated says what becomes of times that come twice, of which the first is given.
func (d changeDay) repeated(e *effect, of *onWall, first time.Time, comes, instead string) {
	early := fires(of.counted, first.Add(-time.Duration(d.before)*time.Second))
	late := fires(of.counted, first.Add(-time.Duration(d.after)*time.Second))
	switch {
	case early && late && e.n == 1:
		e.what, e.words = effectDoubled, fmt.Sprintf("%s twice, and it runs twice: with %s and again with %s.", comes, offset(d.before), offset(d.after))
	case early && late:
		e.what = effectDoubled
		e.words = fmt.Sprintf("%s twice, and each runs twice, with %s and again with %s: %s", comes, offset(d.before), offset(d.after), instead)
	case late:
		e.what, e.words = effectOnce, fmt.Sprintf("%s twice; it runs once, the second time (%s).", comes, offset(d.after))
	case early:
		e.what, e.words = effectOnce, fmt.Sprintf("%s twice; it runs once, the first time (%s).", comes, offset(d.before))
	default:
		e.words, e.leftOut = comes+" twice, but then it is outside the window.", true
	}
}

// said are some of n times, with a verb.
func said(times []string, n int, one, several string) string {
	text := strings.Join(times, ", ")
	if n > mostTimes {
		text += " and others"
	}
	if n > 1 {
		return text + " " + several
	}
	return text + " " + one
}

// fires tells whether an instant is one of some times.
func fires(times cron.Times, at time.Time) bool { return times.Next(at.Add(-time.Second)).Equal(at) }

// offset writes a distance from UTC in seconds.
func offset(seconds int64) string {
	return time.Unix(0, 0).In(time.FixedZone("", int(seconds))).Format("-07:00")
}
