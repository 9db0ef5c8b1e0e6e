// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kube/events"
)

// A status that holds what became of scheduled times has a bounded size, and the object that it belongs to need not have
// one. So the server may refuse a write as too large. It is made again with the newer half of the ledger, and so on: what
// is lost is history, and not what decisions follow from (timetable.md 4.5).

// isTooLarge tells whether a write was refused because what it asks for, or what the object would become by it, is larger
// than the API server or its store takes. The store's words come as an internal error.
func isTooLarge(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(text, "request is too large") ||
		strings.Contains(text, "message larger than max")
}

// withoutOldest is the write without the older half of its ledger; false if it has none.
func withoutOldest(write cron.StatusWrite) (less cron.StatusWrite, ok bool) {
	results := write.Memory.Results
	if results == nil || len(results.Ledger) == 0 {
		return write, false
	}
	fewer := *results
	fewer.Ledger = slices.Clip(results.Ledger[:len(results.Ledger)/2])
	write.Memory.Results = &fewer
	return write, true
}

// tellTooLarge tells once of an object that the server takes less of than it should hold.
func (r *reconciler) tellTooLarge(s *ongoingSync) {
	const text = "The API server refuses the status as too large: the oldest entries of status.ledger are left out. Make the object smaller " +
		"(spec.history.ledger, spec.template, annotations)"
	isNew := r.recorder.EventIfNew(events.Event{About: events.About(s.owner, r.info.Owner), Type: corev1.EventTypeWarning,
		Reason: "StatusTooLarge", Message: text, DedupKey: "too large"})
	if isNew {
		r.log.Info("The API server refuses a status as too large; it is written without the oldest entries of its ledger", "object", s.key.String())
	}
}
