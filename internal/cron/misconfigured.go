// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Misconfiguration is what keeps a CronJob from starting anything until somebody mends it, in one word; "" is nothing.
type Misconfiguration string

const (
	// InvalidTimeZone: spec.timeZone cannot be loaded.
	InvalidTimeZone Misconfiguration = "invalid_time_zone"
	// InvalidSchedule: spec.schedule cannot be read, or names no date that exists.
	InvalidSchedule Misconfiguration = "invalid_schedule"
	// QuotaExceeded: a quota refuses the child of the scheduled time that is due.
	QuotaExceeded Misconfiguration = "quota_exceeded"
	// InvalidTemplate: the API server finds the child invalid.
	InvalidTemplate Misconfiguration = "invalid_template"
	// CreateForbidden: an admission webhook, a policy or a missing right refuses the child.
	CreateForbidden Misconfiguration = "create_forbidden"
	// NameTaken: an object of someone else has the child's name.
	NameTaken Misconfiguration = "name_taken"
	// TooManyMissed: the kind starts nothing after more than 100 missed times.
	TooManyMissed Misconfiguration = "too_many_missed"
)

// refusedBy is the misconfiguration that a create was refused for, "" if the error tells of none.
func refusedBy(err error) Misconfiguration {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ""
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return InvalidTemplate
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return QuotaExceeded
	case apierrors.IsForbidden(err):
		return CreateForbidden
	case apierrors.IsAlreadyExists(err):
		return NameTaken
	}
	return ""
}
