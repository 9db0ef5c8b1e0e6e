// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import "time"

// Carry is what one sync hands to the next one over the same UID in the same process: the timing that it decided on,
// the creates that it could not get to the bottom of, the outcomes that it named, and what it reported. The zero Carry
// is that of a process which has not seen the CronJob before. Only what concerns the timing survives a process, where
// the kind remembers it; a crash that loses the rest may start a scheduled time again whose child was deleted before it
// could be recorded, or start beside a child whose create was not answered and that the cache does not show yet.
//
// It is a value: no sync modifies what another one holds.
type Carry struct {
	timing   ServedTiming
	outcomes outcomeProgress
	// unconfirmed are the names of children that may exist although neither the cache nor the status shows them.
	unconfirmed []string
	// unrecorded is the latest scheduled time that is known to have been served and that no status write has recorded
	// yet. Its child proves it, but anybody may delete that before a write succeeds.
	unrecorded *time.Time
	// lasting are the events of lately whose cause lasts, and misconfigured is what the sync found.
	lasting       []lastingEvent
	misconfigured Misconfiguration
	// scheduleUnchangedSince is Owner.ScheduleUnchangedSince, in seconds; zero when it was unknown.
	scheduleUnchangedSince int64
}

// carry is what this sync leaves. A create that is still to be made has changed nothing yet.
func (s *syncState) carry(reported []lastingEvent, found Misconfiguration) Carry {
	known := s.status
	if s.start.create != nil {
		known = s.observed.status
	}
	c := Carry{timing: s.served, outcomes: s.outcomes.outcomeProgress, unconfirmed: unconfirmedAfter(s.in, known),
		unrecorded: unrecordedTime(s.in, known), lasting: reported, misconfigured: found}
	if !s.in.Owner.ScheduleUnchangedSince.IsZero() {
		c.scheduleUnchangedSince = s.in.Owner.ScheduleUnchangedSince.Unix()
	}
	return c
}

// unrecordedTime is lastScheduleTime as the sync knows it, nil if the server knows it too.
func unrecordedTime(in Input, status Status) *time.Time {
	last := status.LastSchedule
	if last == nil || in.done.record != nil && in.done.record.err == nil {
		return nil
	}
	if stored := in.StoredStatus.LastSchedule; stored != nil && !last.After(*stored) {
		return nil
	}
	return last
}
