// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// All tries of one scheduled time are listed, and counted once.
func TestTriesCountOnce(t *testing.T) {
	first, second := runAt(uitest.Now.Add(-time.Hour), run.Failed, time.Minute), runAt(uitest.Now.Add(-time.Hour), run.Succeeded, time.Minute)
	for n, r := range []*run.Run{&first, &second} {
		r.Owner = run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "report", UID: "u-report"}
		r.Retry, r.Created = n+1, r.Created.Add(time.Duration(n)*2*time.Minute)
		r.UID, r.Name = r.UID+"-"+r.UID[:n+1], r.Name+"-r"+string(rune('1'+n))
	}
	code, body := uitest.Get(t, site(t, uitest.World{Runs: []run.Run{first, second}}), "/schedule/timetable/default/report")
	for _, say := range []string{">1 run, since", "100 %", "succeeded, of 1 run that ended", "The last run: 1 succeeded", "try 2"} {
		if code != 200 || !strings.Contains(body, say) {
			t.Errorf("%d, %q is not said", code, say)
		}
	}
	for _, lie := range []string{"last 2 runs", ">2 runs", "1 failed"} {
		if strings.Contains(body, lie) {
			t.Errorf("%q is said", lie)
		}
	}
}
