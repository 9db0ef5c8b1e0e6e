// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Paused is an object of which no scheduled time starts for now.
type Paused struct {
	Object
	// Cause is Suspended (spec.suspend), SuspendedUntil (spec.suspendUntil) or Failures (spec.pauseAfterFailures).
	Cause cron.PauseCause
	// Since is since when, zero if that is not known. AtLatest: it may have been so before.
	Since    time.Time
	AtLatest bool
	// By is who wrote it, as managed fields name him; "" if they do not.
	By string
	// Until is when it ends by itself, zero if it does not.
	Until time.Time
	// Failures is how many runs in a row have failed, for that cause.
	Failures int
}

// Blocked is an object that cannot be served as it is written.
type Blocked struct {
	Object
	// Message says why.
	Message string
}

// pauseOf tells why nothing starts now; nil if that is not for a pause.
func pauseOf(s *workload.Scheduled, now time.Time) *Paused {
	p := &Paused{Object: objectOfSchedule(s)}
	switch until := s.Policy.SuspendUntil; {
	case s.Policy.Suspend:
		p.Cause = cron.PauseSuspended
		p.writtenBy(s, "suspend")
	case until != nil && now.Before(*until):
		p.Cause, p.Until = cron.PauseSuspendedUntil, until.UTC()
		p.writtenBy(s, "suspendUntil")
	case s.Paused():
		p.Cause, p.Since = cron.PauseFailures, orZero(s.Memory.Pause().Since).UTC()
		if results := s.Memory.Results; results != nil {
			p.Failures = results.Last.Failures
		}
	default:
		return nil
	}
	return p
}

// writtenBy finds out who wrote a field of the spec, and when at the latest: a manager's entry tells when it changed
// any of its fields last.
func (p *Paused) writtenBy(s *workload.Scheduled, field string) {
	for _, entry := range s.Typed.GetManagedFields() {
		if entry.Subresource != "" || adapter.OwnedFields(entry.FieldsV1, "spec", []string{field}) == nil {
			continue
		}
		var at time.Time
		if entry.Time != nil {
			at = entry.Time.UTC()
		}
		if p.By == "" || at.After(p.Since) {
			p.By, p.Since, p.AtLatest = entry.Manager, at, !at.IsZero()
		}
	}
}

// paused gives what is paused: by failures first, since nobody asked for that, then the newest.
func paused(in *Input) []Paused {
	var all []Paused
	for _, s := range in.Schedules {
		if p := pauseOf(s, in.Now); p != nil {
			all = append(all, *p)
		}
	}
	slices.SortStableFunc(all, func(a, b Paused) int {
		return cmp.Or(-ordering.Bools(a.Cause == cron.PauseFailures, b.Cause == cron.PauseFailures), b.Since.Compare(a.Since), compareObjects(a.Object, b.Object))
	})
	return all
}

// blocked gives what cannot be served, by name.
func blocked(in *Input) []Blocked {
	var all []Blocked
	for _, s := range in.Schedules {
		if obstacle := s.Obstacle(); obstacle != "" {
			all = append(all, Blocked{objectOfSchedule(s), obstacle})
		}
	}
	slices.SortStableFunc(all, func(a, b Blocked) int { return compareObjects(a.Object, b.Object) })
	return all
}
