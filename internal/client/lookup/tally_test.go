// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// What a source gives that cannot count is counted as a journal counts.
func TestTallied(t *testing.T) {
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	backup := run.Owner{Kind: "CronJob", Name: "backup", UID: "u-backup"}
	runs := []run.Run{
		{UID: "a", Namespace: "shop", Owner: backup, ScheduledTime: from.Add(time.Minute), Outcome: run.Succeeded},
		{UID: "b", Namespace: "shop", Owner: backup, ScheduledTime: from.Add(50 * time.Minute), Outcome: run.Succeeded},
		{UID: "c", Namespace: "shop", Owner: backup, ScheduledTime: from.Add(51 * time.Minute), Outcome: run.Failed},
		{UID: "d", Namespace: "shop", Created: from.Add(70 * time.Minute), Outcome: run.Active},
	}
	in := journal.OwnerIn{Namespace: "shop", Owner: backup}
	want := []journal.Tally{
		{OwnerIn: in, Cell: 0, Outcome: run.Succeeded, Count: 2, Newest: from.Add(50 * time.Minute)},
		{OwnerIn: in, Cell: 0, Outcome: run.Failed, Count: 1, Newest: from.Add(51 * time.Minute)},
		{OwnerIn: journal.OwnerIn{Namespace: "shop"}, Cell: 1, Outcome: run.Active, Count: 1, Newest: from.Add(70 * time.Minute)},
	}
	got := tallied(runs, from, time.Hour)
	slices.SortStableFunc(got, func(a, b journal.Tally) int { return cmp.Compare(a.Cell, b.Cell) })
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
