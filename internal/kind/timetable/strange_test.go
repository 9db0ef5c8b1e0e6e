// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// A child that somebody has given what only almost names a run (timetable.md section 7) is counted as none: it is in
// the way while it lives, and that is all.
func TestStrangeChildren(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"of a part of a second": {v1alpha1.AnnotationScheduledTime: "2026-05-04T12:04:00.5Z", v1alpha1.AnnotationAttempt: "1"},
		"of attempt 01":         {v1alpha1.AnnotationScheduledTime: "2026-05-04T12:04:00Z", v1alpha1.AnnotationAttempt: "01"},
		"of attempt +1":         {v1alpha1.AnnotationScheduledTime: "2026-05-04T12:04:00Z", v1alpha1.AnnotationAttempt: "+1"},
		"of no attempt":         {v1alpha1.AnnotationScheduledTime: "2026-05-04T12:04:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "schedules: [{cron: '*/10 * * * *'}]")
			w.clock(instant("12:03:30"))
			tt := tick()
			child := built(t, tt, noon)
			child.SetName("tick-20260504-120400")
			child.SetAnnotations(annotations)
			w.enter(child)
			w.now = instant("12:05:00")
			for range 5 {
				w.pass()
			}
			if s := w.stored().Status; s.Counts.Started > 0 || len(s.Active) > 0 {
				t.Errorf("it counts as started: %+v, %+v", s.Counts, s.Active)
			}
			if w.writes > 0 {
				t.Errorf("the fifth pass writes still: %v", w.acts)
			}
		})
	}
}
