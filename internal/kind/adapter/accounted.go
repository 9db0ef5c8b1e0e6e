// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import "github.com/carillon-dev/carillon/internal/cron"

// Accounted is a Kind whose status holds what became of each scheduled time (cron.PartResults), and that has metrics of
// its own about it. Its methods give words that it knows, and none that somebody wrote into an object.
type Accounted interface {
	Kind
	// Outcomes are the words of all outcomes that a status lists.
	Outcomes() []OutcomeWords
	// OutcomeWords gives the words of an outcome; false for one that a status does not list: a start.
	OutcomeWords(o *cron.RunOutcome) (OutcomeWords, bool)
	// NewStatusCounts has all words, each with 0, and AddStatus adds the status of an object.
	NewStatusCounts() StatusCounts
	AddStatus(obj Object, counts StatusCounts)
}

// OutcomeWords are a result and a reason as a status writes them; the reason is "" where there is none, or where a
// newer version wrote one that is not known.
type OutcomeWords struct{ Result, Reason string }

// StatusCounts are sums over the statuses of objects.
type StatusCounts struct {
	// Active is how many runs have begun and have no result.
	Active *int
	// Waiting is how many scheduled times wait, by what they wait for.
	Waiting map[string]int
	// Conditions is how many objects there are, by the type and the status of each condition.
	Conditions map[ConditionWords]int
}

// ConditionWords are the type and the status of a condition.
type ConditionWords struct{ Type, Status string }

// OutcomeErrorReason is the reason of the event which tells that the expressions which say how children end could not
// be evaluated.
const OutcomeErrorReason = "OutcomeError"
