// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset_test

import (
	"slices"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/schedule/timeset"
)

// The zero values are of no harm.
func TestZeroValues(t *testing.T) {
	var s timeset.Set
	now := time.Date(2027, 3, 20, 12, 0, 0, 0, time.UTC)
	later := now.AddDate(1, 0, 0)
	if !s.Next(now).IsZero() || !s.Prev(now).IsZero() || s.Count(now, later) != 0 || !s.LastBetween(now, later).IsZero() || s.Has(now) {
		t.Error("the zero Set has times")
	}
	if times := slices.Collect(s.Between(now, later)); len(times) > 0 || s.Names(now) != nil || s.Excluded().Count(now, later) != 0 {
		t.Errorf("the zero Set has the times %v", times)
	}
	if _, end := s.Search(now); end != timeset.NoMoreTimes || s.Location() != time.UTC || !s.PlannedStart(now).Equal(now) {
		t.Errorf("the zero Set ends with %v, in %v", end, s.Location())
	}
	if _, err := timeset.Compile(timeset.Spec{}); err == nil {
		t.Error("a Spec without items compiles")
	}
	set, err := timeset.Compile(timeset.Spec{Items: []timeset.Item{{Cron: "0 2 * * *"}}, Exclude: []timeset.Exclusion{{Calendar: &timeset.Calendar{}}}})
	if err != nil || set.Count(now, now.AddDate(0, 0, 7)) != 7 {
		t.Errorf("the zero Calendar excludes something: %v", err)
	}
}
