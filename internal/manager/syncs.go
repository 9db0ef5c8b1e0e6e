// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"github.com/carillon-dev/carillon/internal/controller/job"
	"github.com/carillon-dev/carillon/internal/controller/scheduled"
	"github.com/carillon-dev/carillon/internal/controller/ttl"
)

// Syncs is how many objects each controller syncs at the same time; 0: the default.
type Syncs struct {
	// CronJobs are per kind, of which Timetable is one here.
	CronJobs int
	Jobs     int
	TTLs     int
}

// DefaultSyncs are the controllers' own.
var DefaultSyncs = Syncs{CronJobs: scheduled.DefaultConcurrentSyncs, Jobs: job.DefaultConcurrentSyncs, TTLs: ttl.DefaultConcurrentSyncs}

func (s Syncs) validate() error {
	if n := min(s.CronJobs, s.Jobs, s.TTLs); n < 0 {
		return fmt.Errorf("manager: %d objects at the same time asked for; use at least 1, or 0 for the default", n)
	}
	return nil
}
