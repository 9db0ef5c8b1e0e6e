// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
)

// mayStart checks a child that the server has just made.
func (a *attempt) mayStart(start cron.Start, o object) {
	w := a.w
	spec, scheduled := a.in.Spec, start.Time.UTC().Format(time.RFC3339)
	if start.Time.After(a.in.Now) {
		w.broken("a run is started early")
	}
	if d := spec.Deadline; d != nil && !start.Time.Add(time.Duration(*d)*time.Second).After(a.in.Now) {
		w.broken("the deadline of %s has passed", scheduled)
	}
	if !start.Time.After(a.in.Owner.Created) {
		w.broken("%s is not later than the creation of the CronJob", scheduled)
	}
	if spec.Suspend || a.in.Owner.Deleting {
		w.broken("suspended or being deleted, it starts a run")
	}
	switch r := rhythmOf(spec); {
	case !r.fires():
		w.broken("a schedule that never fires starts a run")
	case r.minute != nil && !r.last(a.in.Now).Equal(start.Time):
		w.broken("%s is not the latest scheduled time, which is %v", scheduled, r.last(a.in.Now))
	case r.every > 0 && !start.Time.Add(r.every).After(a.in.Now):
		w.broken("%s is not the latest scheduled time", scheduled)
	}
	if start.Name != w.nameOf(start.Time) {
		w.broken("%s is not the name for %s", start.Name, scheduled)
	}
	if edited := a.base.edited; !edited.IsZero() && !start.Time.After(edited) && !edited.Equal(w.ledger.unknown[a.uid]) {
		w.broken("guarantee 4: it runs for %s, but the schedule was set at %v", scheduled, edited)
	}
	a.noSecond(o)
	a.noOverlap(o)
	w.ledger.born(o)
}

// noSecond is guarantee 1.
func (a *attempt) noSecond(o object) {
	first := a.w.ledger.runs[slot{o.of, o.scheduled.Unix()}]
	if first == nil {
		return
	}
	another := first.maker != a.maker() || !first.told
	if first.lost && another {
		return // deleted by somebody before anybody could record it, and the process that knew it died
	}
	if known := a.w.server.recordedAt(o.of, o.scheduled); another && !a.w.alone && a.base.version < known {
		return // another process served it, and this one's cache has seen neither the child nor the record
	}
	a.w.broken("guarantee 1: a second child for %v; the first was %s", o.scheduled, first.UID)
}

// noOverlap is guarantee 2, and what Replace promises.
func (a *attempt) noOverlap(o object) {
	policy := a.in.Spec.Concurrency
	for _, name := range a.w.server.names() {
		other := a.w.server.children[name]
		switch _, seen := a.known[other.UID]; {
		case other.UID == o.UID, other.of != o.of, !other.running(), policy == batchv1.AllowConcurrent:
		case other.Controller == nil: // taken away from the CronJob
		case policy == batchv1.ReplaceConcurrent && (other.Deleting || other.scheduled.IsZero()):
		case other.rests():
		case other.maker != a.maker() && !seen && !lists(a.in.StoredStatus.Active, other.UID):
			// somebody else made it, and no cache of this process shows it
		default:
			a.w.broken("guarantee 2: %s, and %s (%s) is unfinished", policy, other.Name, other.UID)
		}
	}
}

func lists(refs []corev1.ObjectReference, uid types.UID) bool {
	return slices.ContainsFunc(refs, func(r corev1.ObjectReference) bool { return r.UID == uid })
}

// mayDelete checks a delete before it is carried out.
func (a *attempt) mayDelete(phase cron.Step, s cron.Deletion) {
	w := a.w
	o, ok := w.server.children[s.Name]
	if !ok || o.UID != s.UID {
		return
	}
	if o.of != a.in.Owner.UID {
		w.broken("%s is not ours to delete", s.Name)
	}
	if phase == cron.StepStop {
		if a.in.Spec.Concurrency != batchv1.ReplaceConcurrent {
			w.broken("%s is stopped under %s", s.Name, a.in.Spec.Concurrency)
		}
		if o.byHand() {
			w.broken("B1: %s was started by hand, and Replace stops it", s.Name)
		}
		return
	}
	if o.running() {
		w.broken("%s is pruned while it runs", s.Name)
	}
	if a.known[s.UID].Deleting {
		w.broken("%s is on its way out already", s.Name)
	}
	keep := a.in.Spec.KeepSuccessful
	if o.Phase == cron.Failed {
		keep = a.in.Spec.KeepFailed
	}
	n := int32(0)
	for uid, k := range a.known {
		if k.of == o.of && k.Phase == o.Phase && !a.deleted[uid] {
			n++
		}
	}
	if keep == nil || n <= *keep {
		w.broken("%s is pruned, but the limit is not exceeded", s.Name)
	}
	state := w.server.cronJob.state
	if w.server.cronJob.owner.UID != o.of {
		return
	}
	if !o.scheduled.IsZero() && (state.LastSchedule == nil || state.LastSchedule.Before(o.scheduled)) {
		w.broken("B3: %s is pruned before its scheduled time is recorded", s.Name)
	}
	if w.traits.HasSuccess && o.Finished != nil && (state.LastSuccessful == nil || state.LastSuccessful.Before(*o.Finished)) {
		w.broken("B3: %s is pruned before its success is recorded", s.Name)
	}
}

// mayRecord checks a status that has been written.
func (a *attempt) mayRecord(before cronJob, r cron.Record) {
	w := a.w
	if o := a.started; o != nil && (!r.StatusChanged || r.Status.LastSchedule == nil || r.Status.LastSchedule.Before(o.scheduled) ||
		!lists(r.Status.Active, o.UID)) {
		w.broken("the record of the sync that started %s does not have it", o.Name)
	}
	if !r.StatusChanged {
		return
	}
	if !r.TimetableChanged && len(noteOf(before.state).Schedules) == 0 && !a.in.Owner.Deleting {
		w.broken("B2: the first record does not have the schedule that was decided on")
	}
	if backwards(before.state.LastSchedule, r.Status.LastSchedule) {
		w.broken("lastScheduleTime goes back")
	}
	if backwards(before.state.LastSuccessful, r.Status.LastSuccessful) {
		w.broken("lastSuccessfulTime goes back")
	}
	for i, ref := range r.Status.Active {
		if lists(r.Status.Active[:i], ref.UID) {
			w.broken("%s is listed twice", ref.Name)
		}
		if ref.Namespace == "other" {
			w.broken("%s of another namespace is listed", ref.Name)
		}
		if o, ok := w.server.find(ref.UID); ok && o.of != a.in.Owner.UID && !lists(before.state.Active, ref.UID) {
			w.broken("%s is not ours to list", ref.Name)
		}
	}
	for _, ref := range before.state.Active {
		o, ok := w.server.find(ref.UID)
		if orphaned := o.Controller == nil; orphaned && w.traits.ActiveRebuilt {
			continue // this kind lists its children, and nothing else
		}
		if ok && o.running() && !o.Deleting && !lists(r.Status.Active, ref.UID) {
			w.broken("%s runs and is dropped from the list", ref.Name)
		}
	}
}

// staleStatus checks a conflict: a cache that shows a child which its CronJob does not list is behind, so the CronJob
// has to be read live (K8a, V8). Otherwise a cache that stands still would keep the status from being written.
func (a *attempt) staleStatus() {
	if a.w.traits.ActiveRebuilt || a.looked || a.w.server.cronJob.owner.UID != a.in.Owner.UID {
		return
	}
	for _, c := range a.in.Children {
		o := a.known[c.UID]
		if o.of == a.uid && o.maker != a.maker() && c.Controller != nil && c.Phase == cron.Unfinished && !lists(a.base.state.Active, c.UID) {
			a.w.broken("%s is not listed in a status that is old, and nobody looks at the present one", c.Name)
		}
	}
}

// looksInside: a reference to another namespace is no reason to read anything.
func (a *attempt) looksInside(l cron.ReadRequest) {
	if l.Name == "elsewhere" || l.Namespace != "batch" {
		a.w.broken("%s of another namespace is read", l.Name)
	}
}
