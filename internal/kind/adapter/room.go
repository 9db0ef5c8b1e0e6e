// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/internal/cron"
)

// Room is what a concurrency policy of batch/v1 asks for. Anything that is neither Forbid nor Replace counts as Allow.
func Room(policy batchv1.ConcurrencyPolicy) cron.Room {
	switch policy {
	case batchv1.ForbidConcurrent:
		return cron.Room{Limit: 1, WaitLimit: 1}
	case batchv1.ReplaceConcurrent:
		return cron.Room{Limit: 1, WaitLimit: 1, Stops: true, StartsBesideStopped: true}
	default:
		return cron.Room{}
	}
}
