// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"slices"
	"strings"
	"time"

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

// lastingEvent is what one sync leaves for the next one about a cause that lasts.
type lastingEvent struct {
	// cause is the reason and the key of the event, and told is when it was last told.
	cause string
	told  time.Time
}

// maxLasting bounds what is carried; a CronJob has one or two.
const maxLasting = 8

// tellAgain makes the events whose cause lasts be published anew once in tellEvery, counted from when each was told:
// the key of an event then changes. wake is when the next one is to be published, zero if no cause lasts. What was told
// lately and is not the cause in this sync is carried on: it may come back, as a sync does not always get as far.
func tellAgain(in Input, events []Event) (now []lastingEvent, wake time.Time) {
	for _, was := range in.Carry.lasting {
		if lately(was.told, in.Now) {
			now = append(now, was)
		}
	}
	for i, e := range events {
		if !e.Lasts {
			continue
		}
		cause := e.Reason + "/" + e.Key
		told := slices.IndexFunc(now, func(l lastingEvent) bool { return l.cause == cause })
		if told < 0 {
			now = append(now, lastingEvent{cause: cause, told: in.Now.UTC()})
			told = len(now) - 1
		}
		events[i].Key = eventKey(e.Key, now[told].told)
		wake = sooner(wake, now[told].told.Add(tellEvery).UTC())
	}
	return now[max(0, len(now)-maxLasting):], wake
}
