// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// recordAndPrune plans the status write and the deletes that wait for it: a child that proves something goes only when
// that is on the server (cronjob.md B3). failed is what failed before. deletions are all of the sync, also those that
// were tried, and recordErr is why the write failed.
func (s *syncState) recordAndPrune(failed error) (toWrite *StatusWrite, deletions []Deletion, recordErr error) {
	in := s.in
	deletions = beyondHistoryLimits(in, s.children)
	written := failed == nil || in.Traits.RecordDespiteError
	stored := in.StoredStatus
	if !written && s.start.err != nil && len(s.safeWithoutRecord(in.StoredStatus, deletions, false)) < len(deletions) {
		// The start failed, and a prune waits for what the children prove. That is written all the same, and nothing of
		// what failed: else a create that a quota refuses would keep the very children that use the quota up (V26 does
		// not stand above guarantee 6).
		stored = s.observed.status
		toWrite = s.record(stored, true)
	} else {
		toWrite = s.record(s.status, written)
	}
	if done := in.done.record; done != nil {
		toWrite = nil
		if done.err != nil {
			written, stored = false, in.StoredStatus
			recordErr = fmt.Errorf("recording what was done: %w", done.err)
		}
	}
	if !written {
		deletions = s.safeWithoutRecord(stored, deletions, recordErr != nil)
	}
	return toWrite, deletions, recordErr
}

// record is what has to be remembered, nil if nothing is new. A kind that does not write the status of a failed sync
// (cronjob.md V26) still remembers an edit: no later sync could notice it again.
func (s *syncState) record(status Status, written bool) *StatusWrite {
	in, e := s.in, s.edit
	if room := in.Traits.MaxActive; room > 0 && len(status.Active) > room {
		status.Active = status.Active[:room:room]
	}
	r := StatusWrite{Status: in.StoredStatus}
	if written {
		r.Status, r.StatusChanged = status, !sameStatus(in.StoredStatus, status)
	}
	// The first record of a status has the timing that was decided on, for all kinds: a later process need not guess.
	t := s.served.asStored(r.Status)
	first := !t.same(e.stored) && !in.Owner.Deleting
	if e.needsWrite(t) || r.StatusChanged && (first || in.Traits.StatusCarriesAnnotation && !t.equal(e.stored)) {
		if t.writable() {
			r.TimingChanged, r.Status.Timing = true, t
		}
	}
	if !r.StatusChanged && !r.TimingChanged {
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
