// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var nothingLeft = &Rule{
	ID: "nothing-left", Level: Warning, Kinds: "Timetable",
	Summary: "no scheduled time is left: all are past, or excluded",
	Reason:  "Nothing runs any more. That is well for one-shots that are done, and a mistake in a window or an exclusion otherwise.",
	Cure:    "Correct window, at or exclude, or delete the Timetable.",
	check: func(s *Subject) []problem {
		if found := fromObstacle("nothing-left", pathTo("spec", "exclude"))(s); found != nil || s.timetable == nil || s.obstacle() != nil || len(s.starts) > 0 || s.scheduled.Unreadable != nil {
			return found
		}
		if w := s.timetable.Spec.Window; w != nil && w.NotAfter != nil && w.NotAfter.Time.Before(s.now) {
			return one(at("spec", "window", "notAfter"), "the window ended on %s, so nothing runs any more", w.NotAfter.UTC().Format(time.DateTime+" UTC"))
		}
		return one(at("spec", "schedules"), "no scheduled time lies after %s", s.now.UTC().Format(time.DateTime+" UTC"))
	},
}
