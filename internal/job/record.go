// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// Record takes in what became of the pods and gives the status write of this
// sync and the finalizers that may go after it (job.md 2.7). It may be called
// more than once and does not change the plan.
func (p Plan) Record(r Results) Record {
	s := p.sync
	if s == nil {
		return Record{}
	}
	after := s.observe(p, r)
	book, ends := s.account(after.stopped), false
	if whole := s.whole(book); s.mayEnd(after, whole) {
		book, ends = whole.closed(), true
	}
	status, notes := s.newStatus(after, book)
	notes = append(notes, book.remarks[:min(len(book.remarks), s.options.EventsPerSync)]...)
	if ends {
		terminal(s.job, status, s.verdict, s.stamp())
		notes = append(notes, endNotes(s.job, s.verdict, status.Succeeded)...)
	}
	record := Record{
		Notes:        podNotes(p, r, s.options.EventsPerSync),
		PodsCreation: after.creation,
		Write: Write{
			Notes:    notes,
			Finished: ends,
			Begins:   s.begins(status, book),
			Alone:    after.active == 0 || s.verdict.Outcome != Undecided,
			More:     book.limited,
			Backoff:  s.remembered.after(book.successes, book.failures, s.now),
		},
	}
	record.Wake, record.Rest = s.wakeAfter(after, book, ends)
	record.Write.Status, record.Write.Lazy = changes(&s.job.Status, status, book)
	record.Write.Facts = s.facts(status, book, ends)
	for _, v := range book.release {
		ref := refOf(v.pod)
		if !ended(v.pod) && !book.awaits(v.uid()) {
			ref = exactly(v.pod) // it may have ended meanwhile, and then it counts
		}
		record.Unfinalize = append(record.Unfinalize, ref)
	}
	return record
}

// aftermath is the pods as they are after what this sync did to them.
type aftermath struct {
	active, ready, terminating int
	// stopped are pods deleted because the Job ends.
	stopped  sets.Set[types.UID]
	creation PodsCreation
}

func (s *syncing) observe(p Plan, r Results) aftermath {
	a := aftermath{
		active:      len(s.tally.active),
		ready:       s.tally.ready,
		terminating: s.tally.terminating,
		stopped:     sets.New[types.UID](),
	}
	for i, d := range p.Delete {
		outcome := r.delete(i).Outcome
		if outcome != Deleted && outcome != Vanished {
			continue
		}
		a.active--
		if d.ready {
			a.ready--
		}
		if outcome == Deleted {
			a.terminating++
		}
		if !d.Unfinalize && s.verdict.Stored {
			a.stopped.Insert(d.UID)
		}
	}
	for i := range p.Create {
		switch r.create(i).Outcome {
		case Created:
			a.creation.Succeeded++
			a.active++
		case Existed:
			a.active++
		case CreateFailed, CreateUnknown, NamespaceTerminating:
			a.creation.Failed++
		}
	}
	if a.creation != (PodsCreation{}) {
		a.creation.Reason = s.creationReason()
	}
	return a
}

// mayEnd reports whether this very write can end the Job: it is decided how,
// nothing runs or is on its way, and it is known what is left to count; all of
// that goes into the write ([syncing.whole]).
func (s *syncing) mayEnd(a aftermath, book *ledger) bool {
	return s.verdict.Outcome != Undecided &&
		a.active == 0 && a.terminating == 0 &&
		!s.waiting && !book.unsure
}

// begins reports whether the status is that of a Job of which nothing is to be
// told but that it began.
func (s *syncing) begins(status *batchv1.JobStatus, book *ledger) bool {
	return s.job.Status.StartTime == nil && status.StartTime != nil && s.job.DeletionTimestamp == nil &&
		len(status.Conditions) == 0 && book.fresh == 0 && len(book.actions) == 0
}

// stamp is Now with the resolution that the API stores.
func (s *syncing) stamp() metav1.Time { return metav1.NewTime(s.now.Truncate(time.Second)) }

// newStatus is the stored status brought up to date, short of the end.
// Conditions of others stay as they are.
func (s *syncing) newStatus(a aftermath, book *ledger) (*batchv1.JobStatus, []Note) {
	status := s.job.Status.DeepCopy()
	var notes []Note
	if status.StartTime == nil && !suspended(s.job) {
		status.StartTime = ptr.To(s.stamp())
	}
	if s.managed && (!suspended(s.job) || !s.reached()) {
		notes = append(notes, markSuspension(s.job, status, s.stamp())...)
	}
	status.Active = int32(max(0, a.active))
	status.Ready = ptr.To(int32(max(0, a.ready)))
	status.Terminating = ptr.To(int32(max(0, a.terminating)))
	status.Failed = book.failed
	status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
		Succeeded: book.awaitedSucceeded,
		Failed:    book.awaitedFailed,
	}
	if s.indexes == nil {
		status.Succeeded = book.succeeded
	} else {
		notes = append(notes, s.writeIndexes(status)...)
	}
	interim(status, s.verdict, s.stamp())
	return status, notes
}

// writeIndexes writes the index sets and their number. The number may become
// smaller when the Job was scaled down, but the API server takes that only
// while parallelism equals completions; otherwise the old number stays until
// that holds again.
func (s *syncing) writeIndexes(status *batchv1.JobStatus) []Note {
	x := s.indexes
	status.CompletedIndexes = x.completed.String()
	if x.perIndex {
		status.FailedIndexes = ptr.To(x.failed.String())
	}
	real, stored := int32(x.completed.Len()), s.job.Status.Succeeded
	status.Succeeded = real
	if real < stored && !ptr.Equal(s.job.Spec.Completions, s.job.Spec.Parallelism) {
		status.Succeeded = stored
		return []Note{succeededKept(int(stored), int(real))}
	}
	return nil
}

// changes gives the status if it says anything new, and whether that can wait:
// a change of ready and terminating, or the settling of pods that are recorded
// already, decides nothing.
func changes(stored, status *batchv1.JobStatus, book *ledger) (*batchv1.JobStatus, bool) {
	old := stored.DeepCopy()
	if old.UncountedTerminatedPods == nil {
		old.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	if equality.Semantic.DeepEqual(old, status) {
		return nil, false
	}
	if old.Ready == nil || book.fresh > 0 || len(book.actions) > 0 || len(book.remarks) > 0 {
		return status, false
	}
	rest := status.DeepCopy()
	rest.Ready, rest.Terminating = old.Ready, old.Terminating
	rest.Succeeded, rest.Failed = old.Succeeded, old.Failed
	rest.UncountedTerminatedPods = old.UncountedTerminatedPods
	return status, equality.Semantic.DeepEqual(old, rest)
}

// wakeAfter: a verdict that was found just now stops the pods in the next sync;
// what did not fit goes on there too, which is all there is to wake for if rest
// is true; what is recorded and released now is settled within a period.
func (s *syncing) wakeAfter(a aftermath, book *ledger, ends bool) (at time.Time, rest bool) {
	switch {
	case book.limited, !ends && s.verdict.Outcome != Undecided && !s.verdict.Stored && a.active > 0:
		return s.now.Add(soon), false
	case book.unreleased:
		return s.now.Add(soon), true
	case !ends && len(book.release) > 0 && len(book.awaitedSucceeded)+len(book.awaitedFailed) > 0:
		return s.now.Add(s.options.SyncPeriod), false
	}
	return time.Time{}, false
}

func (s *syncing) facts(status *batchv1.JobStatus, book *ledger, ends bool) Facts {
	old := &s.job.Status
	f := Facts{
		PodsSucceeded: max(0, int(status.Succeeded-max(0, old.Succeeded))),
		PodsFailed:    max(0, int(status.Failed-max(0, old.Failed))),
		PolicyActions: book.actions,
	}
	if x := s.indexes; x != nil {
		f.PerIndex = x.perIndex
		f.IndexesSucceeded = x.completed.Minus(x.stored).Len()
		f.PodsSucceeded = f.IndexesSucceeded
		if x.perIndex {
			f.IndexesFailed = x.failed.Minus(x.storedFailed).Len()
		}
	}
	if ends {
		f.Reason = s.verdict.Reason
		f.Result = "succeeded"
		if s.verdict.Outcome == Failure {
			f.Result = "failed"
		}
	}
	return f
}

func (r Results) create(i int) CreateResult {
	if i < len(r.Create) {
		return r.Create[i]
	}
	return CreateResult{}
}

func (r Results) delete(i int) DeleteResult {
	if i < len(r.Delete) {
		return r.Delete[i]
	}
	return DeleteResult{}
}
