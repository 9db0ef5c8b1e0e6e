// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

var _ manager.Witness = (*Recorder)(nil)

// holdTimeout is how long the deletion of a run that has ended waits for the journal at most.
const holdTimeout = 5 * time.Second

// maxStopping is how many runs are remembered that are being stopped.
const maxStopping = 10_000

// Outcomes implements manager.Witness.
func (r *Recorder) Outcomes(of kind.Info, owner cron.Owner, outcomes []cron.RunOutcome) {
	now := time.Now()
	var omissions []run.Omission
	for _, o := range outcomes {
		if omission, ok := run.Omitted(of, owner, o, now); ok {
			omissions = append(omissions, omission)
		}
	}
	r.omitted(omissions)
}

// Stopping implements manager.Witness.
func (r *Recorder) Stopping(child types.UID, reason cron.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.stopping) < maxStopping { // each leaves with its object
		r.stopping[child] = reason
	}
}

// MayPrune implements manager.Witness: yes once the journal has how the run ended, and what it wrote where that goes with
// its Pods; and after five seconds in any case, and while the journal cannot be written to.
func (r *Recorder) MayPrune(child types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.known[child]
	switch {
	case r.unavailable || r.ended, k != nil && k.ended && k.durable && r.unwritten[child] == 0:
		delete(r.asked, child)
		return true
	}
	since, asked := r.asked[child]
	switch now := time.Now(); {
	case !asked && len(r.asked) < maxPending:
		r.asked[child] = now
		return false
	case asked && now.Sub(since) < holdTimeout:
		return false
	}
	delete(r.asked, child)
	return true
}
