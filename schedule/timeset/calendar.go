// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import "fmt"

// A Calendar is a named list of periods. Make one with [NewCalendar], and use it for
// all sets that exclude it, in whatever time zone: it is read once. It is immutable. The zero
// Calendar has no periods.
type Calendar struct {
	name    string
	periods []string
	closed  *exclusions
	problem *Obstacle
}

// NewCalendar reads a Calendar. What cannot be read is told by [Compile]. The caller must not
// change periods any more.
func NewCalendar(name string, periods []string) *Calendar {
	c := &Calendar{name: name, periods: periods}
	list := make([]Period, 0, len(periods))
	for i, text := range periods {
		p, err := ParsePeriod(text)
		if err != nil {
			c.problem = &Obstacle{InvalidExclusion, fmt.Sprintf("calendar %s: periods[%d]: %s", quoteUnlessPlain(name), i, err)}
			return c
		}
		list = append(list, p)
	}
	c.closed = excluding(list)
	return c
}

// MissingCalendar stands for a Calendar that is named and does not exist.
func MissingCalendar(name string) *Calendar {
	return &Calendar{name: name, problem: &Obstacle{CalendarNotFound,
		fmt.Sprintf("calendar %s does not exist in this namespace; create it, or take it out of exclude", quoteUnlessPlain(name))}}
}

// closures is the mask of several lists of periods: closed is what lies in any of them.
type closures []*exclusions

func (c closures) at(wall int64) (open bool, since, until int64) {
	since, until = -forever, forever
	for _, e := range c {
		open, first, end := e.at(wall)
		if !open {
			return false, first, end
		}
		since, until = max(since, first), min(until, end)
	}
	return true, since, until
}

// always tells that one of the lists leaves no time open.
func (c closures) always() bool {
	for _, e := range c {
		if e.always() {
			return true
		}
	}
	return false
}
