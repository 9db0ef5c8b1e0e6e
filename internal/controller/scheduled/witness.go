// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
)

// A Witness remembers runs beyond the life of their objects, and so wants to know what those do not tell. Its methods are
// called by many goroutines at once, and must not block.
type Witness interface {
	// Outcomes is told which scheduled times of a CronJob have an outcome now, each once in the life of a process. Those of
	// kinds whose status holds outcomes are not told.
	Outcomes(of kind.Info, owner cron.Owner, outcomes []cron.RunOutcome)
	// Stopping is told that a child is about to be deleted that has not ended, and why: RunReplaced or RunTimeout.
	Stopping(child types.UID, reason cron.Reason)
	// MayPrune tells whether a child that has ended may be deleted now. If not it is asked again a little later, and must
	// have said yes after some seconds, whatever happens.
	MayPrune(child types.UID) bool
}

// heldRecheck is when the deletion of a child is tried again that Witness.MayPrune has held.
const heldRecheck = 100 * time.Millisecond

// tellOutcomes tells the witness what it cannot see.
func (r *reconciler) tellOutcomes(s *ongoingSync, outcomes []cron.RunOutcome) {
	if r.witness != nil && r.accounted == nil && len(outcomes) > 0 {
		r.witness.Outcomes(r.info, s.in.Owner, outcomes)
	}
}

func (r *reconciler) tellStops(stops []cron.Deletion) {
	if r.witness == nil {
		return
	}
	for _, stop := range stops {
		if stop.Reason != "" {
			r.witness.Stopping(stop.UID, stop.Reason)
		}
	}
}

// mayPrune leaves the deletions that need not wait for the witness. For the others another sync comes; nothing waits here.
func (r *reconciler) mayPrune(s *ongoingSync, deletions []cron.Deletion) []cron.Deletion {
	if r.witness == nil {
		return deletions
	}
	free := slices.DeleteFunc(slices.Clone(deletions), func(d cron.Deletion) bool {
		if r.witness.MayPrune(d.UID) {
			return false
		}
		s.in.HoldPrune(d)
		return true
	})
	if len(free) < len(deletions) {
		r.enqueue(reconcile.Request{NamespacedName: s.key}, heldRecheck)
	}
	return free
}
