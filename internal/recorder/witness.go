// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"maps"
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

// maxStopping is how many runs are remembered that are being stopped, and stoppingWithin how long if there are so many:
// each leaves with its object, unless that went unseen.
const (
	maxStopping    = 10_000
	stoppingWithin = time.Hour
)

// stop is why a run is being stopped, and since when.
type stop struct {
	reason cron.Reason
	at     time.Time
}

// sweep drops what nobody waits for any more when so much is remembered that there is no room. The caller holds the
// lock.
func (r *Recorder) sweep(now time.Time) {
	if now.Sub(r.swept) < time.Second {
		return
	}
	r.swept = now
	maps.DeleteFunc(r.asked, func(_ types.UID, since time.Time) bool { return now.Sub(since) >= 2*holdTimeout })
	maps.DeleteFunc(r.stopping, func(_ types.UID, s stop) bool { return now.Sub(s.at) >= stoppingWithin })
}

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
	now := time.Now()
	if len(r.stopping) >= maxStopping {
		r.sweep(now)
	}
	if len(r.stopping) < maxStopping {
		r.stopping[child] = stop{reason, now}
	}
}

// MayPrune implements manager.Witness: yes once the journal has how the run ended, and what it wrote where that goes
// with its Pods; and after five seconds in any case, and while the journal cannot be written to.
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
	now := time.Now()
	if len(r.asked) >= maxPending {
		r.sweep(now)
	}
	switch {
	case !asked && len(r.asked) < maxPending:
		r.asked[child] = now
		return false
	case asked && now.Sub(since) < holdTimeout:
		return false
	}
	delete(r.asked, child)
	return true
}
