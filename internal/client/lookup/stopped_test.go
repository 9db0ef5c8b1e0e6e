// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// kept are runs that a journal has.
type kept struct {
	Remembered
	runs []run.Run
}

func (k kept) Runs(context.Context, journal.Query) ([]run.Run, error) {
	return append([]run.Run{}, k.runs...), nil
}

func (k kept) Statistics(_ context.Context, q statistics.Query) (*statistics.Statistics, error) {
	return Count(q, k.runs, nil), nil
}

// What had not ended when the Carillon of a journal stopped is told so, alone and in sums; nothing else is.
func TestLeft(t *testing.T) {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	runs := []run.Run{{UID: "a", Created: at, Outcome: run.Active}, {UID: "b", Created: at, Outcome: run.Failed}, {UID: "c", Created: at, Outcome: run.Succeeded}}
	for name, test := range map[string]struct {
		stopped string
		want    statistics.Span
	}{
		"its Carillon runs":         {"", statistics.Span{Active: 1, Failed: 1, Succeeded: 1}},
		"its Carillon does not run": {"/data", statistics.Span{Left: 1, Failed: 1, Succeeded: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewJournal(kept{runs: runs}, "a test", test.stopped)
			got, err := s.Runs(t.Context(), journal.Query{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if got[i].Left != (test.stopped != "" && got[i].UID == "a") {
					t.Errorf("%s: left is %v", got[i].UID, got[i].Left)
				}
			}
			sums, err := s.Statistics(t.Context(), statistics.Query{Bounds: []time.Time{at, at.Add(time.Hour)}})
			if err != nil || sums.Spans[0] != test.want || sums.Spans[0].Runs() != 3 {
				t.Errorf("%v: %+v", err, sums.Spans)
			}
		})
	}
}
