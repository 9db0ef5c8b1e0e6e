// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"testing"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// Reading a Timetable is part of every pass.
func BenchmarkRead(b *testing.B) {
	tt := &timetable.Object{}
	text, err := json.Marshal(tick())
	if err == nil {
		err = json.Unmarshal(text, tt)
	}
	if err != nil {
		b.Fatal(err)
	}
	tt.Spec.Schedules = append(tt.Spec.Schedules, v1alpha1.Schedule{Name: "main", Cron: "*/10 * * * *"})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := worldKind.Read(tt, adapter.ReadOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
