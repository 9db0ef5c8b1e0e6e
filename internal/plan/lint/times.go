// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// startsLimit is how many times of a schedule are looked at.
const startsLimit = 64

// starts are the first scheduled times of an object from now on, in its zone.
type starts []time.Time

func startsOf(s *workload.Scheduled, now time.Time) starts {
	times := s.Policy.Timing.Times
	if times == nil {
		return nil
	}
	zone := s.Policy.Timing.Zone
	if zone == nil {
		zone = time.UTC
	}
	var found starts
	for t := times.Next(now); !t.IsZero() && len(found) < startsLimit; t = times.Next(t) {
		found = append(found, t.In(zone))
	}
	return found
}

// shortest is the least time between two of them, 0 if there are none.
func (s starts) shortest() time.Duration {
	if gaps := s.gaps(); len(gaps) > 0 {
		return gaps[0]
	}
	return 0
}

// typical is the time between two of them in the middle of all such times, 0 if there are none.
func (s starts) typical() time.Duration {
	if gaps := s.gaps(); len(gaps) > 0 {
		return gaps[len(gaps)/2]
	}
	return 0
}

// longest is the longest time between two of them, 0 if there are none.
func (s starts) longest() time.Duration {
	if gaps := s.gaps(); len(gaps) > 0 {
		return gaps[len(gaps)-1]
	}
	return 0
}

// longestWithin is the longest time between two times of an object of which the later is at most a span after its first
// one, as far as the first few thousand tell; 0 if there are none.
func (s *Subject) longestWithin(span time.Duration) time.Duration {
	const most = 3000 // one a minute for two days
	if len(s.starts) == 0 {
		return 0
	}
	longest, times := time.Duration(0), s.scheduled.Policy.Timing.Times
	last := s.starts[0]
	for range most {
		t := times.Next(last)
		if t.IsZero() || t.Sub(s.starts[0]) > span {
			break
		}
		longest, last = max(longest, t.Sub(last)), t
	}
	return longest
}

// gaps are the times between them, sorted.
func (s starts) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(s); i++ {
		gaps = append(gaps, s[i].Sub(s[i-1]))
	}
	slices.Sort(gaps)
	return gaps
}

// words reads a length of time as people say it: "90 seconds", "5 minutes", "1 hour", "36 hours", "7 days".
func words(d time.Duration) string {
	unit := func(n time.Duration, name string) string {
		if n == 1 {
			return "1 " + name
		}
		return strconv.FormatInt(int64(n), 10) + " " + name + "s"
	}
	const day = 24 * time.Hour
	switch {
	case d >= 2*day && d%day == 0:
		return unit(d/day, "day")
	case d >= time.Hour && d%time.Hour == 0:
		return unit(d/time.Hour, "hour")
	case d >= time.Minute && d%time.Minute == 0:
		return unit(d/time.Minute, "minute")
	case d >= 2*day:
		return "about " + unit((d+day/2)/day, "day")
	case d >= 2*time.Hour:
		return "about " + unit((d+time.Hour/2)/time.Hour, "hour")
	case d >= 10*time.Minute:
		return "about " + unit((d+time.Minute/2)/time.Minute, "minute")
	}
	return unit(d/time.Second, "second")
}

// each reads an interval as people say it: "every minute", "every 5 minutes", "every hour".
func each(d time.Duration) string {
	text := words(d)
	if rest, ok := strings.CutPrefix(text, "1 "); ok {
		return "every " + rest
	}
	return "every " + text
}

// dateTime is how a time stands in messages: in its zone, with the offset.
const dateTime = "2006-01-02 15:04 -07:00"
