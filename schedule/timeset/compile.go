// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// mainItem is the name of an item that has none.
const mainItem = "main"

// Compile makes a Set of a Spec. The error is an [*Obstacle]: the first that applies, in
// the order of the constants of [Reason], and of [AllExcluded] nothing, which [Set.Search] tells.
func Compile(spec Spec) (*Set, error) {
	loc, zoneErr := loadZone(spec.TimeZone)
	c := compiler{spec: spec, loc: loc, clock: schedule.ClockOf(loc)}
	set := &Set{loc: loc, items: union{clock: c.clock}, jitter: jitterOffset(spec.Hash, spec.Jitter)}
	if len(spec.Items) == 0 {
		return nil, &Obstacle{InvalidSchedule, "schedules is empty; write at least one"}
	}
	for _, item := range spec.Items {
		item.Name = orDefault(item.Name, mainItem)
		source, err := c.item(item)
		if err != nil {
			return nil, &Obstacle{InvalidSchedule, err.Error()}
		}
		set.names = append(set.names, item.Name)
		set.items.sources = append(set.items.sources, source)
	}
	if zoneErr != nil {
		return nil, zoneErr
	}
	excluded, err := closuresOf(spec.Exclude)
	if err != nil {
		return nil, err
	}
	for i, name := range set.names {
		if _, end := set.items.sources[i].after(minInstant); end != found {
			return nil, &Obstacle{NeverFires, fmt.Sprintf("schedule %s names no date that exists", name)}
		}
	}
	for i, name := range set.names {
		if distance, tooClose := tooFrequent(set.items.sources[i], int64(spec.MinInterval/time.Second)); tooClose {
			return nil, &Obstacle{TooFrequent, fmt.Sprintf("schedule %s: two times are %s apart; this controller takes %s at least",
				name, time.Duration(distance)*time.Second, spec.MinInterval)}
		}
	}
	set.compose(spec, excluded, c.clock)
	return set, nil
}

// compose puts window and exclusions around the items.
func (s *Set) compose(spec Spec, excluded closures, clock schedule.Clock) {
	var all source = s.items
	if len(s.items.sources) == 1 {
		all = s.items.sources[0]
	}
	if !spec.NotBefore.IsZero() || !spec.NotAfter.IsZero() {
		window := between{all, minInstant, maxInstant}
		if !spec.NotBefore.IsZero() {
			window.first = secondsUp(spec.NotBefore)
		}
		if !spec.NotAfter.IsZero() {
			window.last = seconds(spec.NotAfter)
		}
		all = window
	}
	s.kept = all
	if len(excluded) > 0 {
		s.kept = masked{source: all, mask: excluded, clock: clock}
		s.excluded = masked{source: all, mask: excluded, clock: clock, inverted: true}
		// Whether a set that is closed for ever has an end is known without looking for it.
		_, end := all.after(maxInstant / 2)
		s.closed = excluded.always() && end == found
	}
}

// loadZone returns UTC beside an error.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if strings.EqualFold(name, "local") {
		return time.UTC, &Obstacle{UnknownTimeZone,
			"timeZone must be a name of the tz database, such as Europe/Rome; Local would be another one on each machine"}
	}
	loc, err := schedule.LoadZone(name)
	if err != nil {
		return time.UTC, &Obstacle{UnknownTimeZone,
			fmt.Sprintf("timeZone: %s is not in the time zone database; use a name such as Europe/Berlin or Etc/UTC", quoteUnlessPlain(name))}
	}
	return loc, nil
}

// quoteUnlessPlain leaves the usual name of a zone or an object as it is.
func quoteUnlessPlain(name string) string {
	for _, c := range name {
		if c <= ' ' || c == '"' || c >= 0x7f {
			return quote(name)
		}
	}
	if len(name) > 64 {
		return quote(name)
	}
	return name
}

// closuresOf reads all periods. A Calendar that does not exist comes before a period that
// cannot be read.
func closuresOf(list []Exclusion) (closures, error) {
	for _, e := range list {
		if e.Calendar != nil && e.Calendar.problem != nil && e.Calendar.problem.Reason == CalendarNotFound {
			return nil, e.Calendar.problem
		}
	}
	var all closures
	var periods []Period
	for i, e := range list {
		switch {
		case (e.Period == "") == (e.Calendar == nil):
			return nil, &Obstacle{InvalidExclusion, fmt.Sprintf("exclude[%d]: exactly one of period and calendar must be set", i)}
		case e.Calendar == nil:
			p, err := ParsePeriod(e.Period)
			if err != nil {
				return nil, &Obstacle{InvalidExclusion, fmt.Sprintf("exclude[%d]: %s", i, err)}
			}
			periods = append(periods, p)
		case e.Calendar.problem != nil:
			return nil, e.Calendar.problem
		case e.Calendar.closed != nil:
			all = append(all, e.Calendar.closed)
		}
	}
	if own := excluding(periods); own != nil {
		all = append(all, own)
	}
	return all, nil
}

// tooFrequent tells whether two neighbours of an item are closer than limit seconds, and
// how far apart they are: among all moments of at, and the first 100 others after
// 2000-01-01, so that the verdict never changes with time.
func tooFrequent(s source, limit int64) (distance int64, tooClose bool) {
	const since, looked = 946684800, 100
	switch s := s.(type) {
	case grid:
		return s.step, s.step < limit
	case moments:
		for i := 1; i < len(s); i++ {
			if distance := s[i] - s[i-1]; distance < limit {
				return distance, true
			}
		}
		return 0, false
	}
	if limit <= 1 {
		return 0, false
	}
	last, end := s.after(since - 1)
	for range looked - 1 {
		if end != found {
			return 0, false
		}
		var next int64
		if next, end = s.after(last); end == found && next-last < limit {
			return next - last, true
		}
		last = next
	}
	return 0, false
}
