// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// serve makes a version of the object the one that the server has.
func (w *world) serve(object *workload.Scheduled) {
	w.version = object
	w.typed = object.Typed.DeepCopyObject().(adapter.Object)
	w.typed.SetUID(w.owner.UID)
	w.typed.SetGeneration(w.owner.Generation)
	w.typed.SetCreationTimestamp(metav1.NewTime(w.owner.Created))
	w.policy = object.Policy
	// What costs time and changes no decision about a time is not asked for: conditions, the ledger and dry runs.
	w.policy.Conditions, w.policy.Ledger, w.policy.Template = false, 0, ""
	// Neither are lateness, and children that are kept when they have ended. But they call for syncs, and one sync more in
	// a pause tells for what reason the times before it did not start, should another reason follow.
	if len(w.edits) == 0 && w.policy.PauseAfterFailures == 0 {
		none := cron.Retention{Limit: new(int32)}
		w.policy.Succeeded, w.policy.Failed, w.policy.KeepAtLeast, w.policy.LateAfter = none, none, 0, 0
	}
	w.mould = mould{}
	w.unreadable = object.Unreadable != nil
	if why := object.Hindrance(); why != "" {
		w.hinder(why)
	} else {
		w.hindrance = ""
	}
}

// edit is that somebody applies another version of the object.
func (w *world) edit(e Edit) {
	w.change(Edited, e.Source)
	changed := !reflect.DeepEqual(specOf(e.Object), specOf(w.version))
	if changed {
		w.owner.Generation++
	}
	if w.traits.Durable.Has(cron.PartCursor) {
		if w.stored.Timing.Fingerprint != e.Object.Policy.Timing.Fingerprint { // of another timing the status has no times
			w.stored.Timing.Times, w.stored.Timing.ZoneName = nil, ""
		} else {
			w.stored.Timing.Times, w.stored.Timing.ZoneName = e.Object.Policy.Timing.Times, e.Object.Policy.Timing.ZoneName
		}
	} else if changed { // the manager that owns the schedule has written
		w.owner.ScheduleUnchangedSince = w.now.UTC()
	}
	w.serve(e.Object)
}

func specOf(object *workload.Scheduled) any { return object.Content.Object["spec"] }
