// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package upcoming

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/schedule"
)

// firstInstant is before all times that an API object can name.
var firstInstant = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)

// OfExpression gives the times of a cron expression: in the language of CronJobs, or, if only that of Timetables has
// it, in that one. zone is where the wall clock hangs, nil if nobody has said, which means UTC. The error says what is
// wrong with the text, and what to write instead.
func OfExpression(text string, zone *time.Location) (*Source, error) {
	s := &Source{Title: fmt.Sprintf("%q", text), Language: CronJob, Schedules: []string{text}, Zone: zone, ZoneAssumed: zone == nil, expression: true}
	if zone == nil {
		s.Zone = time.UTC
	}
	parsed, err := schedule.Parse(text, s.Zone)
	if err != nil {
		if refused := s.asTimetable(text); refused != nil {
			return nil, words.Refusal(text, err, refused)
		}
	} else {
		s.times = parsed
		s.Every, _ = parsed.Every()
		s.readCron(text)
	}
	if s.times.Next(firstInstant).IsZero() {
		s.Obstacle = s.Title + " names no date that exists; correct its day, its month or its year"
	}
	return s, nil
}

// asTimetable reads a text that only a Timetable takes.
func (s *Source) asTimetable(text string) error {
	main := schedule.Item{Name: "main", Cron: text}
	compiled, err := schedule.Compile(main, schedule.Options{Zone: s.Zone})
	if err != nil {
		return err
	}
	wall, err := schedule.Compile(main, schedule.Options{})
	if err != nil {
		return err
	}
	s.Language, s.ZoneName, s.times = Timetable, s.Zone.String(), compiled
	s.items = []item{{name: main.Name, instants: compiled, wall: wall, shifts: namesHours(text)}}
	s.Remarks = append(s.Remarks, "a Timetable takes this schedule, a CronJob does not")
	switch len(strings.Fields(text)) {
	case 6:
		s.Remarks = append(s.Remarks, "of six fields the first is the second")
	case 7:
		s.Remarks = append(s.Remarks, "of seven fields the first is the second and the last is the year")
	}
	if usesHash(text) {
		s.Remarks = append(s.Remarks, "H stands for values that follow from the namespace and name of a Timetable: yours has others")
	}
	return nil
}

// usesHash tells whether a text that compiles has an H in a place of a value.
func usesHash(text string) bool {
	for field := range strings.FieldsSeq(text) {
		for part := range strings.SplitSeq(field, ",") {
			if part[0] == 'H' || part[0] == 'h' {
				return true
			}
		}
	}
	return false
}
