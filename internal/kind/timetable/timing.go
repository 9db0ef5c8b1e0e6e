// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Calendars are the names of the Calendars that a spec excludes, in its order, each once.
func Calendars(spec *v1alpha1.TimetableSpec) []string {
	var names []string
	seen := map[string]bool{}
	for _, e := range spec.Exclude {
		if e.Calendar != nil && !seen[*e.Calendar] {
			seen[*e.Calendar] = true
			names = append(names, *e.Calendar)
		}
	}
	return names
}

// Timing gives the timing of a Timetable, whose fingerprint tells edits. calendars are those of its namespace, by name;
// one that is not there is missing. minInterval is how close two times of one schedule may be, 0 for no limit.
//
// The obstacle is InvalidSchedule, for a jitter that the schema would have refused; the timing beside it has none.
func Timing(timetable metav1.Object, spec *v1alpha1.TimetableSpec, calendars map[string]*timeset.Calendar, minInterval time.Duration) (timeset.Spec, *Obstacle) {
	timing := timeset.Spec{
		Hash:        schedule.Hash{Namespace: timetable.GetNamespace(), Name: timetable.GetName()},
		TimeZone:    spec.TimeZone,
		DST:         schedule.DST{Gap: schedule.Gap(spec.DST.Gap), Overlap: schedule.Overlap(spec.DST.Overlap)},
		MinInterval: minInterval,
	}
	for _, s := range spec.Schedules {
		timing.Items = append(timing.Items, item(&s))
	}
	if w := spec.Window; w != nil {
		if w.NotBefore != nil {
			timing.NotBefore = w.NotBefore.Time
		}
		if w.NotAfter != nil {
			timing.NotAfter = w.NotAfter.Time
		}
	}
	for _, e := range spec.Exclude {
		timing.Exclude = append(timing.Exclude, exclusion(&e, calendars))
	}
	if spec.Jitter != nil {
		jitter, err := timeset.ParseDuration(string(*spec.Jitter))
		if err != nil {
			return timing, &Obstacle{InvalidSchedule, "jitter: " + err.Error()}
		}
		timing.Jitter = jitter
	}
	return timing, nil
}

func item(s *v1alpha1.Schedule) timeset.Item {
	i := timeset.Item{Name: s.Name, Cron: s.Cron, DayRule: schedule.DayRule(s.DayRule)}
	if s.EveryWeeks != nil {
		i.EveryWeeks = int(*s.EveryWeeks)
	}
	if s.Every != nil {
		i.Every = string(*s.Every)
	}
	if s.Anchor != nil {
		i.Anchor = string(*s.Anchor)
	}
	for _, moment := range s.At {
		i.At = append(i.At, string(moment))
	}
	return i
}

func exclusion(e *v1alpha1.Exclusion, calendars map[string]*timeset.Calendar) timeset.Exclusion {
	if e.Calendar == nil {
		if e.Period == nil {
			return timeset.Exclusion{} // which is no period
		}
		return timeset.Exclusion{Period: string(*e.Period)}
	}
	calendar := calendars[*e.Calendar]
	if calendar == nil {
		calendar = timeset.MissingCalendar(*e.Calendar)
	}
	return timeset.Exclusion{Calendar: calendar}
}

// Times gives the set of the scheduled times of a timing, or what keeps it from being one.
func Times(timing timeset.Spec) (*timeset.Set, *Obstacle) {
	set, err := timeset.Compile(timing)
	if err == nil {
		return set, nil
	}
	if obstacle, ok := errors.AsType[*timeset.Obstacle](err); ok {
		return nil, &Obstacle{Reason(obstacle.Reason), obstacle.Message}
	}
	return nil, &Obstacle{InvalidSchedule, fmt.Sprintf("the schedules cannot be read: %v", err)}
}
