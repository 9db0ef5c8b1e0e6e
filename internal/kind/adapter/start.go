// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package adapter

import "github.com/carillon-dev/carillon/internal/cron"

// Start is a start, and what was known when it was decided: all that a template may ask for. The parts are shared and
// must not be modified.
type Start struct {
	cron.Start
	// Timing has the scheduled times before and after that of the start, and the zone in which they are written.
	Timing cron.Timing
	// Memory is what is remembered of the object with this start, such as its last success, which the object itself may
	// not show yet: a start waits for no status write.
	Memory cron.Memory
}
