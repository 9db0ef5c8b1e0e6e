// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// onWall are times that hang on the wall clock: as the zone places them, and on a clock that never changes, as times of
// UTC.
type onWall struct {
	placed, wall cron.Times
	// counted and usual are the same without what exclusions take out, and counted without what is outside the window.
	counted, usual cron.Times
}

// calendarsOf are the Calendars that a Timetable names and that are known.
func calendarsOf(o *workload.Scheduled) map[string]*timeset.Calendar {
	read := map[string]*timeset.Calendar{}
	for name, calendar := range o.Calendars {
		read[name] = timetable.ReadCalendar(calendar)
	}
	return read
}

// readTiming reads the times of a Timetable that hang on the wall clock.
func (s *subject) readTiming(spec timeset.Spec) {
	s.notBefore, s.notAfter = spec.NotBefore, spec.NotAfter
	spec.Jitter, spec.MinInterval = 0, 0
	var all []timeset.Item
	for n, i := range spec.Items {
		local := i
		switch {
		case i.Every != "":
			continue
		case i.Cron == "":
			local.At = nil
			for _, at := range i.At {
				if m, err := timeset.ParseMoment(at); err == nil && !m.Zoned {
					local.At = append(local.At, at)
				}
			}
			if len(local.At) == 0 {
				continue
			}
		}
		all = append(all, local)
		spec.Items = []timeset.Item{local}
		s.items[n].onWall = compileOnWall(spec)
	}
	if len(all) > 0 {
		spec.Items = all
		s.all = compileOnWall(spec)
	}
}

// compileOnWall gives the times of items that hang on the wall clock; nil if they cannot be read.
func compileOnWall(spec timeset.Spec) *onWall {
	bare := spec
	bare.NotBefore, bare.NotAfter, bare.Exclude = time.Time{}, time.Time{}, nil
	usual := spec
	usual.NotBefore, usual.NotAfter, usual.TimeZone = time.Time{}, time.Time{}, ""
	wall := bare
	wall.TimeZone = ""
	var sets [4]*timeset.Set
	for n, asked := range [4]timeset.Spec{bare, wall, spec, usual} {
		set, err := timeset.Compile(asked)
		if err != nil && n < 2 {
			return nil
		} else if err != nil {
			set = sets[n-2] // an exclusion or the window is the obstacle
		}
		sets[n] = set
	}
	return &onWall{sets[0], sets[1], sets[2], sets[3]}
}
