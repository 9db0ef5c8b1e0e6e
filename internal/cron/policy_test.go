// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"github.com/carillon-dev/carillon/internal/cron"
	cronschedule "github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The times of a CronJob are those of its schedule, the times of a Timetable those of its set.
var (
	_ cron.Times = cronschedule.Schedule{}
	_ cron.Times = (*timeset.Set)(nil)
)
