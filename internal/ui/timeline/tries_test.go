// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// A row of so many runs that it is drawn from sums counts each scheduled time once, whatever counts them.
func TestTriesInSums(t *testing.T) {
	const times = 150
	var runs []run.Run
	for n := range times {
		for try, outcome := range []run.Outcome{run.Failed, run.Succeeded} {
			at := uitest.Now.Add(-time.Duration(n+1) * 5 * time.Minute)
			begun := at.Add(time.Duration(try) * time.Minute)
			uid := fmt.Sprintf("00000000-0000-4000-8000-%012d", 2*n+try)
			runs = append(runs, run.Run{UID: types.UID(uid), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: fmt.Sprintf("often-%d-r%d", n, try+1), Retry: try + 1,
				Owner: run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "often", UID: "00000000-0000-4000-9000-000000000000"}, Trigger: run.Schedule,
				ScheduledTime: at, Created: begun, Started: begun, Ended: begun.Add(10 * time.Second), Outcome: outcome})
		}
	}
	dir := t.TempDir()
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Record(t.Context(), runs, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := journal.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	remembered := lookup.NewJournal(reader, "the journal of a test", "")
	t.Cleanup(func() { _ = remembered.Close() })
	for name, source := range map[string]lookup.Source{"a journal counts": remembered, "runs are counted": nil} {
		t.Run(name, func(t *testing.T) {
			s := uitest.Site(t, uitest.World{Runs: runs}, Register)
			if source != nil {
				s.Source = source
			}
			_, body := uitest.Get(t, s, "/timeline")
			body, _, _ = strings.Cut(body, `id="tl-legend"`)
			if !strings.Contains(body, fmt.Sprintf(" · %d succeeded</p>", times)) || !strings.Contains(body, "tl-cell succeeded") || strings.Contains(body, "tl-cell failed") {
				t.Errorf("it counts otherwise:\n%s", body)
			}
		})
	}
}
