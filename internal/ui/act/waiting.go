// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// retriesOf are the runs of a schedule that have failed and wait for their next attempt: they hold their places, though
// nothing of them runs.
func retriesOf(s *workload.Scheduled) []cron.ActiveRun {
	var waiting []cron.ActiveRun
	for _, a := range s.Memory.Active {
		if a.RetryAt != nil {
			waiting = append(waiting, a)
		}
	}
	return waiting
}

// retries names them, and says what becomes of them.
func (r *request) retries(s *workload.Scheduled, fate string) []string {
	var told []string
	for _, a := range retriesOf(s) {
		told = append(told, fmt.Sprintf("%s has failed and waits to be tried again at %s: %s.", a.Name, r.short(*a.RetryAt), fate))
	}
	return told
}

// waitingTimes says what becomes, if it is suspended, of the times that have come and wait.
func (r *request) waitingTimes(s *workload.Scheduled, active []run.Run) []string {
	fate := "is skipped, too"
	if s.Policy.CatchUpOnResume {
		fate = "waits until it is resumed"
	}
	var told []string
	for _, w := range s.Memory.Waiting {
		told = append(told, fmt.Sprintf("The time of %s, which waits, %s.", r.short(w.Time), fate))
	}
	last, times := s.Memory.LastSchedule, s.Policy.Timing.Times
	if s.Timetable() != nil || last == nil || times == nil || s.Policy.Room.Stops || s.Policy.Room.Limit == 0 || len(active) == 0 {
		return told
	}
	if at := times.LastBetween(*last, r.now); !at.IsZero() { // no status of a CronJob says that it waits
		told = append(told, fmt.Sprintf("The time of %s, which waits, does not start before it is resumed, and not at all once a later one has come.", r.short(at)))
	}
	return told
}
