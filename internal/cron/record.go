// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// recordAndPrune plans the status write and the deletes that wait for it: a child that proves something goes only when
// that is on the server (cronjob.md B3). It returns all deletes of the sync, also those that were tried.
func (s *syncState) recordAndPrune(p *Plan) []Deletion {
	in := s.in
	deletions := beyondHistoryLimits(in, s.children)
	written := p.Err == nil || in.Traits.RecordDespiteError
	stored := in.StoredStatus
	if !written && s.start.err != nil && len(s.safeWithoutRecord(in.StoredStatus, deletions, false)) < len(deletions) {
		// The start failed, and a prune waits for what the children prove. That is written all the same, and nothing of
		// what failed: else a create that a quota refuses would keep the very children that use the quota up (V26 does
		// not stand above guarantee 6).
		stored = s.observed.status
		p.Record = record(in, stored, s.edit, true)
	} else {
		p.Record = record(in, s.status, s.edit, written)
	}
	var failed bool
	if done := in.done.record; done != nil {
		p.Record = nil
		if done.err != nil {
			failed, written, stored = true, false, in.StoredStatus
			p.Err = errors.Join(p.Err, fmt.Errorf("recording what was done: %w", done.err))
		}
	}
	if !written {
		deletions = s.safeWithoutRecord(stored, deletions, failed)
	}
	p.Prune = pending(in, deletions)
	return deletions
}

// record is what has to be remembered, nil if nothing is new. A kind that does not write the status of a failed sync
// (cronjob.md V26) still remembers an edit: no later sync could notice it again.
func record(in Input, status Status, e edit, written bool) *Record {
	if room := in.Traits.MaxActive; room > 0 && len(status.Active) > room {
		status.Active = status.Active[:room:room]
	}
	r := Record{Status: in.StoredStatus}
	if written {
		r.Status, r.StatusChanged = status, !sameStatus(in.StoredStatus, status)
	}
	// The first record of a status has the schedule that was decided on, for all kinds: a later process need not guess.
	t := e.asStored(r.Status)
	first := (!e.hasStored || !t.same(e.stored)) && !in.Owner.Deleting
	if e.needsWrite(t) || r.StatusChanged && (first || in.Traits.StatusCarriesAnnotation && !t.equal(e.stored)) {
		if text := t.text(); text != "" {
			r.TimetableChanged, r.Status.Timetable = true, text
		}
	}
	if !r.StatusChanged && !r.TimetableChanged {
		return nil
	}
	return &r
}

func sameStatus(a, b Status) bool {
	return slices.EqualFunc(a.Active, b.Active, func(x, y corev1.ObjectReference) bool { return x == y }) &&
		sameTime(a.LastSchedule, b.LastSchedule) && sameTime(a.LastSuccessful, b.LastSuccessful) &&
		slices.EqualFunc(a.Conditions, b.Conditions, sameCondition)
}

func sameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
