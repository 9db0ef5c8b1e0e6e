// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"math"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
)

// maxCount is the largest count of an entry of the ledger.
const maxCount = math.MaxInt32

// results are the results as a status writes them.
var results = map[v1alpha1.Result]cron.Result{
	v1alpha1.ResultSucceeded: cron.Succeeded,
	v1alpha1.ResultFailed:    cron.RunFailed,
	v1alpha1.ResultCancelled: cron.Cancelled,
	v1alpha1.ResultSkipped:   cron.Skipped,
	v1alpha1.ResultMissed:    cron.Missed,
}

// reasonWords are the reasons as a status writes them: of the ledger, of what waits, and of what is being stopped
// (timetable.md 2 and 4.3).
var reasonWords = map[string]cron.Reason{
	"RunFailed":    cron.RunChildFailed,
	"Timeout":      cron.RunTimeout,
	"Replaced":     cron.RunReplaced,
	"Deleted":      cron.RunDeleted,
	"Suspended":    cron.NotStartedSuspended,
	"Paused":       cron.NotStartedPaused,
	"Excluded":     cron.NotStartedExcluded,
	"NotReady":     cron.NotStartedNotReady,
	"Superseded":   cron.NotStartedSuperseded,
	"QueueFull":    cron.NotStartedQueueFull,
	"Edited":       cron.NotStartedEdited,
	"Outage":       cron.NotStartedOutage,
	"CatchUpLimit": cron.NotStartedCatchUpLimit,
	"Deadline":     cron.NotStartedDeadline,
	"CreateFailed": cron.NotStartedFailed,
	"NameTaken":    cron.NotStartedForeign,
	"Overlap":      cron.NotStartedForbidden,
	"Stopping":     cron.NotStartedStopping,
}

// missedTexts say in events why scheduled times were missed, and what to do about it.
var missedTexts = map[cron.Reason]string{
	cron.NotStartedOutage: "nobody looked when they were due, because no controller ran or the machine slept; .spec.catchUp says what is " +
		"made up for",
	cron.NotStartedDeadline: "they could not start within .spec.startingDeadline; raise it if they should start later",
	cron.NotStartedCatchUpLimit: "nobody looked when they were due, and more were found than .spec.catchUp.limit; raise it if all of them " +
		"matter",
	cron.NotStartedNotReady: "nothing could be started, for what the condition Ready says",
}

var writtenResults, writtenReasons = reversed(results), reversed(reasonWords)

func reversed[K, V comparable](from map[K]V) map[V]K {
	to := make(map[V]K, len(from))
	for k, v := range from {
		to[v] = k
	}
	return to
}

// readReason gives the reason of a word. One that is not known, as of a newer version, is kept as it is.
func readReason(word string) cron.Reason {
	if reason, known := reasonWords[word]; known {
		return reason
	}
	return cron.Reason(word)
}

// ReasonWord is a reason as a status writes it; one that no Timetable has as it is.
func ReasonWord(reason cron.Reason) string { return writtenReason(reason) }

func writtenReason(reason cron.Reason) string {
	if word, known := writtenReasons[reason]; known {
		return word
	}
	return string(reason)
}
