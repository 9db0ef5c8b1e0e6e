// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Normal is an event of type Normal with this reason.
func Normal(reason string) cron.EventReason {
	return cron.EventReason{Type: corev1.EventTypeNormal, Reason: reason}
}

// Warning is an event of type Warning with this reason.
func Warning(reason string) cron.EventReason {
	return cron.EventReason{Type: corev1.EventTypeWarning, Reason: reason}
}
