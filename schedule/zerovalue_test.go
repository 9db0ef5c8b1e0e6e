// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"slices"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// The zero values are of use, or at least of no harm.
func TestZeroValues(t *testing.T) {
	var s schedule.Schedule
	now := time.Date(2027, 3, 20, 12, 0, 0, 0, time.UTC)
	if s.Satisfiable() || !s.Next(now).IsZero() || !s.Prev(now).IsZero() || s.Count(now, now.AddDate(1, 0, 0)) != 0 || !s.LastBetween(now, now.AddDate(1, 0, 0)).IsZero() {
		t.Error("the zero Schedule has ticks")
	}
	if ticks := slices.Collect(s.Between(now, now.AddDate(1, 0, 0))); len(ticks) > 0 {
		t.Errorf("the zero Schedule has the ticks %v", ticks)
	}
	if _, every := s.Every(); every {
		t.Error("the zero Schedule has a period")
	}
	if _, _, offset := (schedule.Clock{}).Stretch(now.Unix()); offset != 0 {
		t.Errorf("the zero Clock is %ds from UTC", offset)
	}
	if compiled, err := schedule.Compile(schedule.Item{Cron: "0 2 * * *"}, schedule.Options{}); err != nil || compiled.Next(now).Hour() != 2 {
		t.Errorf("the zero Options: %v, %v", compiled.Next(now), err)
	}
}
