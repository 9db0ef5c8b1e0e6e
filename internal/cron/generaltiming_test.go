// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	hash "github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// generalTiming is what a Timetable may ask for beyond one schedule. One that is unreadable names no times, for as long
// as it is.
type generalTiming struct {
	jitter     time.Duration
	exclude    []timeset.Exclusion
	unreadable bool
}

// readGeneral reads the timing as the adapter of Timetable does.
func (s *scene) readGeneral() {
	spec := timeset.Spec{Items: []timeset.Item{{Cron: s.text}}, Hash: hash.Hash{Namespace: "ops", Name: "tick"},
		Jitter: s.general.jitter, Exclude: s.general.exclude}
	set, err := timeset.Compile(spec)
	if err != nil {
		panic(err)
	}
	timing := cron.Timing{Fingerprint: spec.Fingerprint(), Times: set, Excluded: set.Excluded()}
	if s.general.unreadable {
		timing.Times, timing.Excluded = nil, nil
		timing.Fingerprint = s.in.Stored.Timing.Fingerprint
		timing.Obstacle = &cron.Obstacle{Check: cron.CheckScheduleFires, Misconfigured: cron.InvalidSchedule}
	}
	s.in.Policy.Timing = timing
}

// nextTimes says which five times are to come, as a status that is written does.
func (s *scene) nextTimes(r cron.StatusWrite) {
	set, ok := r.Times.(*timeset.Set)
	if s.in.Traits.Kind != general.Kind || !ok {
		return
	}
	var says cron.Outlook
	if said := s.in.Stored.Outlook; said != nil {
		says = *said
	}
	says.Next = nil
	s.in.Stored.Outlook = &says
	if says.Pause.Cause != "" {
		return
	}
	for t := set.Next(set.Prev(r.Now).Add(-time.Nanosecond)); !t.IsZero() && len(says.Next) < 5; t = set.Next(t) {
		decided := r.Memory.Cursor != nil && !t.After(*r.Memory.Cursor)
		if !decided && set.PlannedStart(t).After(r.Now) {
			says.Next = append(says.Next, t)
		}
	}
}

func jitter(d time.Duration) given { return func(s *scene) { s.general.jitter = d; s.read() } }
func unreadable(s *scene)          { s.general.unreadable = true; s.read() }
func readable(s *scene)            { s.general.unreadable = false; s.read() }

// excluded is a period that is taken out, none if it is empty.
func excluded(period string) given {
	return func(s *scene) {
		s.general.exclude = nil
		if period != "" {
			s.general.exclude = []timeset.Exclusion{{Period: period}}
		}
		s.read()
	}
}

// edited is a change of the spec: the generation goes up.
func edited(givens ...given) given {
	return func(s *scene) {
		s.in.Owner.Generation++
		for _, g := range givens {
			g(s)
		}
	}
}

func resumed(s *scene) { s.in.Policy.Suspend, s.in.Policy.SuspendUntil = false, nil }
func suspendedUntil(text string) given {
	return func(s *scene) { s.in.Policy.SuspendUntil = new(at(text)) }
}
func pauseAfter(failures int) given {
	return func(s *scene) { s.in.Policy.PauseAfterFailures = failures }
}
func resumeToken(token string) given { return func(s *scene) { s.in.Policy.ResumeToken = token } }
func catchUpOnResume(s *scene)       { s.in.Policy.CatchUpOnResume = true }
func childObstacle(o *cron.Obstacle) given {
	return func(s *scene) { s.in.ChildObstacle = o }
}
