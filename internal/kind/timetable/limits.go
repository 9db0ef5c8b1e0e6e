// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// How much a status holds (timetable.md 2 and 4.5): all that it may hold together has less than 200 KiB.
const (
	maxActive          = 100
	maxWaiting         = 200
	maxWaitingMessages = 10
	maxLedger          = 100
	maxNext            = 5
	maxConditions      = 8
	maxResumeToken     = 64
)

// Limit makes a status fit for the API: what its lists and texts have too much of goes, messages are shortened, and
// what stays is not changed. Counts of what goes are the caller's. Lists are cut at their end.
func Limit(status *v1alpha1.TimetableStatus) {
	status.Conditions = cut(status.Conditions, maxConditions)
	for i := range status.Conditions {
		status.Conditions[i].Message = bounded(status.Conditions[i].Message, conditionMessageBytes)
	}
	status.Next = cut(status.Next, maxNext)
	status.Active = cut(status.Active, maxActive)
	status.Waiting = cut(status.Waiting, maxWaiting)
	for i := range status.Waiting {
		waiting := &status.Waiting[i]
		if i >= maxWaitingMessages {
			waiting.Message = ""
		}
		waiting.Message = bounded(waiting.Message, entryMessageBytes)
	}
	status.Ledger = cut(status.Ledger, maxLedger)
	for i := range status.Ledger {
		status.Ledger[i].Message = bounded(status.Ledger[i].Message, entryMessageBytes)
	}
	if status.Pause != nil {
		status.Pause.ResumeToken = ResumeToken(status.Pause.ResumeToken)
	}
}

func cut[T any](list []T, most int) []T { return list[:min(len(list), most)] }

// ResumeToken is what a status remembers of a value of the annotation carillon.dev/resume: the value, or 64 hexadecimal
// digits that stand for one that is long or has characters that take more room in JSON. The token of a token is itself.
func ResumeToken(value string) string {
	if len(value) > maxResumeToken || bounded(value, maxResumeToken+len(`""`)) != value {
		return hash(value, maxResumeToken)
	}
	return value
}
