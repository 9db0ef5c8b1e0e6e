// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"math"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// maxLedger is how many results a status can list.
const maxLedger = 100

// AddToLedger gives the ledger with more results, which are in the order in which they came; the ledger has its newest
// result first (timetable.md 4.4). What is beyond limit goes, the oldest first. Skipped and missed times that follow
// each other with the same reason share an entry. The ledger given is not modified.
func AddToLedger(ledger []v1alpha1.LedgerEntry, results []v1alpha1.LedgerEntry, limit int) []v1alpha1.LedgerEntry {
	limit = max(0, min(limit, maxLedger))
	added := make([]v1alpha1.LedgerEntry, 0, min(len(results), limit+1)) // newest last
	rest := ledger
	for _, result := range results {
		switch {
		case len(added) > 0 && shares(&added[len(added)-1], &result):
			join(&added[len(added)-1], &result)
		case len(added) == 0 && len(rest) > 0 && shares(&rest[0], &result):
			newest := *rest[0].DeepCopy()
			join(&newest, &result)
			added, rest = append(added, newest), rest[1:]
		default:
			added = append(added, result)
		}
	}
	all := make([]v1alpha1.LedgerEntry, 0, min(len(added)+len(rest), limit))
	for i := len(added) - 1; i >= 0 && len(all) < limit; i-- {
		all = append(all, added[i])
	}
	return append(all, rest[:min(len(rest), limit-len(all))]...)
}

// shares tells whether a result belongs to the entry of those just before it.
func shares(entry, result *v1alpha1.LedgerEntry) bool {
	if result.Result != v1alpha1.ResultSkipped && result.Result != v1alpha1.ResultMissed {
		return false
	}
	last := entry.ScheduledTime.Time
	if entry.Until != nil {
		last = entry.Until.Time
	}
	return entry.Result == result.Result && entry.Reason == result.Reason && result.ScheduledTime.After(last)
}

// join adds a result to an entry. What only some of its times have it does not say.
func join(entry, result *v1alpha1.LedgerEntry) {
	until := result.ScheduledTime
	if result.Until != nil {
		until = *result.Until
	}
	entry.Until = &until
	entry.Count = int32(min(int64(max(entry.Count, 1))+int64(max(result.Count, 1)), math.MaxInt32))
	if entry.Trigger != result.Trigger {
		entry.Trigger = ""
	}
	if entry.Schedule != result.Schedule {
		entry.Schedule = ""
	}
	entry.Message = result.Message
}
