// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"fmt"
	"testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// Of not more Timetables is anything kept than there is room for, and of those that were asked for last.
func TestCompilationsAreBounded(t *testing.T) {
	kept := timetable.NewCompilations()
	k := timetable.Kind{Compilations: kept}
	ask := func(i int) {
		tt := &timetable.Object{Timetable: *tick()}
		tt.Name = fmt.Sprintf("tick-%d", i)
		tt.Spec.Schedules = []v1alpha1.Schedule{{Name: "main", Cron: "*/10 * * * *"}}
		if _, _, _, err := k.Read(k.Compact(tt), adapter.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 2 {
		for i := range 3000 {
			ask(i)
		}
		if n := kept.Kept(); n != 3000 {
			t.Errorf("round %d: something is kept of %d, want 3000", round, n)
		}
	}
	for i := range 10000 {
		ask(3000 + i)
	}
	if n := kept.Kept(); n < 2000 || n > 5000 {
		t.Errorf("of 13000 something is kept of %d", n)
	}
}
