// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// CreateResult is the answer to a create.
type CreateResult struct {
	Outcome CreateOutcome
	// Child is what was created; nil for any other outcome.
	Child *Child
	// Err is the API's error, possibly wrapped; nil when the child was created. Messages and Misconfiguration come from
	// it.
	Err error
}

// CreateOutcome is what became of a create.
type CreateOutcome int

const (
	// CreateSucceeded: the child exists.
	CreateSucceeded CreateOutcome = iota
	// CreateNameTaken: an object has the name already, perhaps from an earlier create of the same scheduled time.
	CreateNameTaken
	// CreateNamespaceTerminating: the namespace takes no more objects.
	CreateNamespaceTerminating
	// CreateRefused: the server did not carry it out, and says why.
	CreateRefused
	// CreateUnconfirmed: the answer says neither yes nor no, or there is none.
	CreateUnconfirmed
)

// statusRequestTimeout is the one answer among the refusals that does not say whether the request was carried out.
const statusRequestTimeout = 408

// CreateResultOf judges the answer to a create. Only a refusal (4xx) is taken for a no: the API server also answers
// with 5xx when its store carried the request out and did not confirm it in time, and whoever takes that for a no
// starts the next run beside this one (docs/adr/0010).
func CreateResultOf(child *Child, err error) CreateResult {
	if err == nil {
		return CreateResult{Outcome: CreateSucceeded, Child: child}
	}
	result := CreateResult{Outcome: CreateUnconfirmed, Err: err}
	var status apierrors.APIStatus
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		result.Outcome = CreateNamespaceTerminating
	case apierrors.IsAlreadyExists(err):
		result.Outcome = CreateNameTaken
	case errors.As(err, &status):
		if code := status.Status().Code; code >= 400 && code < 500 && code != statusRequestTimeout {
			result.Outcome = CreateRefused
		}
	}
	return result
}
