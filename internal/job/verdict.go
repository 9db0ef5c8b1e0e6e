// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

// Outcome is how a Job ends.
type Outcome string

// The outcomes; "" means that the Job goes on.
const (
	Undecided Outcome = ""
	Success   Outcome = "Success"
	Failure   Outcome = "Failure"
)

// Verdict is how a Job will end, and why: the reason and message of both its
// interim and its terminal condition.
type Verdict struct {
	Outcome Outcome
	Reason  string
	Message string
	// Stored says that the interim condition is in the Job's status already. Only a
	// stored verdict stops running pods.
	Stored bool
}
