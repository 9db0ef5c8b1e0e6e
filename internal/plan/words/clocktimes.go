// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// Up to so many times of a day are listed one by one, where nothing shorter can be said, and so many in any case.
const (
	mostListed  = 8
	fewListed   = 4
	mostSpans   = 3
	longStretch = 5 // as many hours or days at equal distances are told by their distance
)

// timesWords say the times of a day. daily tells that they name hours, so that the sentence wants "every day" where no
// days are named. ending, which goes to the end of the sentence, says which seconds are meant if not second 0.
func (e *Expression) timesWords() (text string, daily bool, ending string) {
	seconds, minutes, hours := e.Second.Values, e.Minute, e.Hour
	count := len(minutes.Values) * len(hours.Values)
	switch {
	case minutes.All && hours.All:
		return everyMinute(seconds), false, ""
	case count*len(seconds) <= fewListed:
		return e.listedTimes(seconds), true, ""
	}
	text, daily = e.minutesWords()
	switch {
	case text != "":
	case count*len(seconds) <= mostListed:
		return e.listedTimes(seconds), true, ""
	case count <= mostListed:
		return e.listedTimes([]int{0}), true, inEachMinute(seconds)
	case len(hours.Values) == 1:
		text, daily = "at "+numbers("minute", minutes.Values)+" of "+numbers("hour", hours.Values), true
	default:
		text, daily = "at "+numbers("minute", minutes.Values)+" of the "+numbers("hour", hours.Values), true
	}
	return text, daily, inEachMinute(seconds)
}

// everyMinute says some seconds of every minute of the day.
func everyMinute(seconds []int) string {
	step, first := evenStep(seconds)
	switch {
	case len(seconds) == 1 && seconds[0] == 0:
		return "every minute"
	case len(seconds) == 60:
		return "every second"
	case step > 0 && first == 0:
		return fmt.Sprintf("every %d seconds", step)
	}
	return "at " + numbers("second", seconds) + " of every minute"
}

// inEachMinute is the ending of times that are told in minutes.
func inEachMinute(seconds []int) string {
	switch {
	case len(seconds) == 1 && seconds[0] == 0:
		return ""
	case len(seconds) == 60:
		return ", at every second of each such minute"
	}
	return ", at " + numbers("second", seconds) + " of each such minute"
}

// listedTimes lists all times, with some seconds of each minute.
func (e *Expression) listedTimes(seconds []int) string {
	var parts []string
	for _, hour := range e.Hour.Values {
		for _, minute := range e.Minute.Values {
			for _, second := range seconds {
				text := clock(hour, minute)
				if len(seconds) > 1 || second > 0 {
					text += fmt.Sprintf(":%02d", second)
				}
				parts = append(parts, text)
			}
		}
	}
	return "at " + join(parts, "and")
}

// minutesWords says minutes that lie at equal distances, or in every hour; "" if they do neither.
func (e *Expression) minutesWords() (text string, daily bool) {
	minutes, hours := e.Minute.Values, e.Hour.Values
	step, first := evenStep(minutes)
	spans := spansOf(hours)
	switch {
	case e.Hour.All && step > 0:
		text = "every " + quantity.Count(step, "minute")
		if first > 0 {
			text += fmt.Sprintf(", beginning at minute %d of each hour", first)
		}
		return text, false
	case e.Hour.All:
		return "at " + numbers("minute", minutes) + " of every hour" + distances(minutes), false
	case step > 0 && len(spans) <= mostSpans:
		every := "every minute"
		if step > 1 {
			every = fmt.Sprintf("every %d minutes", step)
		}
		return every + fromTo(spans, first, minutes[len(minutes)-1]), true
	case len(minutes) == 1 && len(hours) >= longStretch:
		gap, first, last := equalSteps(hours)
		every := "every hour"
		switch {
		case gap == 0:
			return "", true
		case gap > 1:
			every = fmt.Sprintf("every %d hours", gap)
		}
		return every + fromTo([]span{{first, last}}, minutes[0], minutes[0]), true
	}
	return "", true
}

// fromTo says stretches of hours by their first and last time.
func fromTo(spans []span, first, last int) string {
	var parts []string
	for _, s := range spans {
		parts = append(parts, "from "+clock(s.first, first)+" to "+clock(s.last, last))
	}
	return " " + join(parts, "and")
}

// evenStep is the distance of the seconds of a minute, or the minutes of an hour, if it is the same round the clock,
// and the first of them; 0 if it is not.
func evenStep(values []int) (step, first int) {
	if len(values) < 2 || 60%len(values) != 0 {
		return 0, 0
	}
	step = 60 / len(values)
	for i, v := range values {
		if v != values[0]+i*step {
			return 0, 0
		}
	}
	return step, values[0]
}

// distances says how far apart some minutes of every hour are if that is not the same round the clock.
func distances(minutes []int) string {
	if len(minutes) != 2 && len(minutes) != 3 {
		return ""
	}
	var parts []string
	for i, m := range minutes {
		next := minutes[(i+1)%len(minutes)]
		parts = append(parts, quantity.Count((next-m+60)%60, "minute"))
	}
	if !slices.ContainsFunc(parts, func(p string) bool { return p != parts[0] }) {
		return ""
	}
	return " (" + strings.Join(parts, " and then ") + " apart)"
}

func clock(hour, minute int) string { return fmt.Sprintf("%02d:%02d", hour, minute) }
