// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import "time"

// Phase says whether an object has ended, and how.
type Phase uint8

// The phases.
const (
	Unfinished Phase = iota
	Succeeded
	Failed
)

// String implements fmt.Stringer.
func (p Phase) String() string {
	return [...]string{"Unfinished", "Succeeded", "Failed"}[p]
}

// Outcome is what an object says about its end.
type Outcome struct {
	Phase Phase
	// DeadlineExceeded: a Job failed because its activeDeadlineSeconds had passed.
	DeadlineExceeded bool
	// Ended is when it ended; zero while it is unfinished, and if the object does not say.
	Ended time.Time
	// Message says in the words of whoever ran it why it failed. It may be empty, long, and hold any character.
	Message string
}

// A Rule tells the outcome of the objects of a kind. Rules are immutable: use one from as many goroutines as you like.
type Rule struct {
	known       func(object map[string]any) Outcome
	expressions *expressions
}

// Known gives the rule of a kind whose outcome needs no expressions: Job, Pod, JobSet and Volcano Job (the list of V3).
// It is nil for other kinds.
func Known(apiVersion, kind string) *Rule {
	switch apiVersion + "/" + kind {
	case "batch/v1/Job":
		return &Rule{known: jobOutcome}
	case "v1/Pod":
		return &Rule{known: podOutcome}
	case "jobset.x-k8s.io/v1alpha2/JobSet":
		return &Rule{known: jobSetOutcome}
	case "batch.volcano.sh/v1alpha1/Job":
		return &Rule{known: volcanoOutcome}
	}
	return nil
}

// Of tells the outcome of an object in the form of unstructured.Unstructured: what JSON holds, with whole numbers as
// int64. It may hold anything; a field of another type than it should have counts as absent.
//
// The error is that of an expression that could not be evaluated, which counts as false; the outcome is valid beside
// it. It is the user's to mend. Known kinds have none.
func (r *Rule) Of(object map[string]any) (Outcome, error) {
	if r.known != nil {
		return r.known(object), nil
	}
	return r.expressions.of(object)
}
