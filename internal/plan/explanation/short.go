// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package explanation

import (
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/words"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Schedules gives the schedules of a CronJob or Timetable in words, and nothing else of its explanation: it is for
// lists, since it looks at no times. Their Notes are empty. Of an object that cannot be read there are none.
func Schedules(o *workload.Scheduled) []Schedule {
	if o.Unreadable != nil {
		return nil
	}
	tt := o.Timetable()
	if tt == nil {
		said := Schedule{Text: o.ScheduleText(), Notes: []string{}}
		if read, err := words.Read(said.Text, words.Options{}); err == nil {
			said.Words = read.Words()
		}
		return []Schedule{said}
	}
	spec, _ := timetable.Timing(o.Typed, &tt.Spec, nil, 0)
	s := subject{asTimetable: true}
	for _, i := range spec.Items {
		s.items = append(s.items, readItem(i, spec.Hash))
	}
	all := s.schedules()
	for i := range all {
		all[i].Notes = []string{}
	}
	return all
}
