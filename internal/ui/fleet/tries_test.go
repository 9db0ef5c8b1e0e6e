// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// What failed at first, and succeeded when it was tried again, has not failed; it was retried.
func TestTries(t *testing.T) {
	at := uitest.Now.Add(-time.Hour)
	try := func(n int, outcome run.Outcome) run.Run {
		begun := at.Add(time.Duration(n) * time.Minute)
		return run.Run{UID: types.UID(fmt.Sprint("try-", n)), Kind: "Job", Namespace: "default", Owner: run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "second", UID: "u"},
			Name: "second", Retry: n, ScheduledTime: at, Created: begun, Started: begun, Ended: begun.Add(time.Second), Outcome: outcome}
	}
	body := get(t, uitest.World{Runs: []run.Run{try(1, run.Failed), try(2, run.Succeeded)}}, "/fleet")
	for _, say := range []string{"No run has failed", "1 retry", "in 1 run"} {
		if !strings.Contains(body, say) {
			t.Errorf("%q is not said", say)
		}
	}
	if day := get(t, uitest.World{Runs: []run.Run{try(1, run.Failed), try(2, run.Succeeded)}}, "/fleet/day?date="+at.Format(time.DateOnly)); !strings.Contains(day, "Failed 0") || !strings.Contains(day, "try 2") {
		t.Error("the day counts tries")
	}
}
