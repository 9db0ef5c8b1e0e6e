// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"fmt"
	"slices"
)

// recordAndPrune plans the status write and the deletes that wait for it: a child that proves something goes only when
// that is on the server (cronjob.md B3). failed is what failed before. deletions are all of the sync, also those that
// were tried, and recordErr is why the write failed.
func (s *syncState) recordAndPrune(failed error) (toWrite *StatusWrite, deletions []Deletion, recordErr error) {
	in := s.in
	deletions, s.pruneAt = beyondHistoryLimits(in, s.children)
	if in.Policy.Retry.Limit > 0 {
		deletions = slices.DeleteFunc(deletions, func(d Deletion) bool { return s.ofActiveRun(d.UID) })
	}
	written := failed == nil || in.Traits.RecordDespiteError
	stored := &in.Stored
	if !written && s.start.err != nil && len(s.safeWithoutRecord(&in.Stored, deletions, false)) < len(deletions) {
		// The start failed, and a prune waits for what the children prove. That is written all the same, and nothing of
		// what failed: else a create that a quota refuses would keep the very children that use the quota up (V26 does
		// not stand above guarantee 6).
		stored = &s.observed.status
		toWrite = s.record(stored, true)
	} else {
		toWrite = s.record(&s.status, written)
	}
	if done := in.done.record; done != nil {
		toWrite = nil
		if done.err != nil {
			written, stored = false, &in.Stored
			recordErr = fmt.Errorf("recording what was done: %w", done.err)
		}
	}
	if !written || s.undecided() { // what is undecided is not in the record, either
		deletions = s.safeWithoutRecord(stored, deletions, recordErr != nil)
	}
	return toWrite, deletions, recordErr
}

// record is what has to be remembered, nil if nothing is new. A kind that does not write the status of a failed sync
// (cronjob.md V26) still remembers an edit: no later sync could notice it again.
func (s *syncState) record(status *Memory, written bool) *StatusWrite {
	in, e := s.in, &s.edit
	from, active, changed := &in.Stored, in.Stored.Active, Parts(0)
	if written {
		from, active = status, status.Active
		if room := in.Traits.MaxActive; room > 0 && len(active) > room {
			active = active[:room:room]
		}
		changed = status.changedFrom(&in.Stored, active, in.Traits.Durable)
	}
	// The first record of a status has the timing that was decided on, for all kinds: a later process need not guess.
	t := s.served.asStored(from)
	first := !t.same(&e.stored) && !in.Owner.Deleting
	timing := !s.undecided() && t.writable() && (e.needsWrite(&t) || changed != 0 && (first || in.Traits.StatusCarriesAnnotation && !t.equal(&e.stored)))
	if changed == 0 && !timing {
		return nil
	}
	r := StatusWrite{Memory: *from, Now: in.Now, Times: in.Policy.Timing.Times, Undecided: s.undecided(), Changed: changed}
	r.Memory.Active = active
	if timing {
		r.Changed |= PartTiming
		r.Memory.Timing = t
	}
	return &r
}
