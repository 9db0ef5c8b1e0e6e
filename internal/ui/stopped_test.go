// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// goesOn are the words for what goes on.
var goesOn = regexp.MustCompile(`[^.\n]{0,60}>(?:[^<]*\b)?(?:[Rr]unning|waiting|waits to begin|[Ww]hat runs)\b[^<]*<|tl-open active|for 1h\d*m? now`)

// What had not ended when Carillon stopped is called so on each page, and nowhere is it told to go on: nothing does.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	lastSign := uitest.Now.Add(-30 * time.Minute)
	if err := os.MkdirAll(filepath.Dir(datadir.Log(dir)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.Log(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(datadir.Log(dir), lastSign, lastSign); err != nil {
		t.Fatal(err)
	}
	runOf := func(owner string, n int, before time.Duration, outcome run.Outcome) run.Run {
		at := uitest.Now.Add(-before)
		r := run.Run{UID: types.UID(fmt.Sprintf("%s-%d", owner, n)), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: fmt.Sprintf("%s-%d", owner, n),
			Owner:   run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: owner, UID: types.UID("u-" + owner)},
			Trigger: run.Schedule, ScheduledTime: at, Created: at, Started: at, Outcome: outcome}
		if outcome.Ended() {
			r.Ended = at.Add(time.Minute)
		}
		return r
	}
	begun, queued := runOf("report", 2, time.Hour, run.Active), runOf("queue", 1, 50*time.Minute, run.Active)
	queued.Started = time.Time{}
	w := uitest.World{Stopped: dir, Runs: []run.Run{runOf("report", 1, 2*time.Hour, run.Succeeded), begun, queued}}
	for n := range 150 { // more than has a bar each
		w.Runs = append(w.Runs, runOf("minutely", n, time.Duration(n+40)*time.Minute, run.Succeeded))
	}
	w.Runs = append(w.Runs, runOf("minutely", 999, 39*time.Minute, run.Active))
	h := Handler(t.Context(), uitest.Site(t, w))
	for name, test := range map[string]struct {
		path string
		says []string
	}{
		"Now":                     {"/", []string{">3</span> <span class=\"label\">not ended when Carillon stopped<", ">Not ended when Carillon stopped</h2>"}},
		"Now, that alone":         {"/?show=running", []string{"<h1>Not ended when Carillon stopped</h1>"}},
		"Timeline":                {"/timeline", []string{"report-2 not ended when Carillon stopped", "queue-1 not ended when Carillon stopped, scheduled Mon 2 Nov 11:10, not started<", "1 not ended when Carillon stopped, 150 succeeded", "unknown, or not ended"}},
		"Timeline, as tables":     {"/timeline?as=table", []string{">" + run.LeftWords + "</span>"}},
		"Timeline, that alone":    {"/timeline?show=running", []string{"3 rows", "selected>not ended when Carillon stopped"}},
		"Timeline, after it":      {"/timeline?zoom=1h&from=2026-11-02T10:40:00Z", []string{"nothing ran in this time"}},
		"Fleet":                   {"/fleet", []string{"3 not ended when Carillon stopped", "cancelled, unknown or not ended when Carillon stopped"}},
		"Fleet, a day":            {"/fleet/day?date=2026-11-02", []string{"3 not ended when Carillon stopped", "Not ended 3"}},
		"Fleet, these of a day":   {"/fleet/day?date=2026-11-02&outcome=active", []string{">" + run.LeftWords + "</span>"}},
		"the schedules":           {"/schedules", nil},
		"a schedule":              {"/schedule/cronjob/shop/report", []string{"What had not ended, and what ran last", "1 succeeded, 1 not ended when Carillon stopped"}},
		"a schedule, not started": {"/schedule/cronjob/shop/queue", []string{"The last run: 1 not ended when Carillon stopped"}},
		"why":                     {"/why/cronjob/shop/report", []string{">" + run.LeftWords + "</span>"}},
		"why, at its time":        {"/why/cronjob/shop/report?at=2026-11-02T10:00:00Z", []string{"had not ended when Carillon stopped"}},
		"a run":                   {"/run/shop/report-2?uid=report-2", []string{">" + run.LeftWords + "</span>"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := uitest.Get(t, h, test.path)
			if code != http.StatusOK {
				t.Fatalf("%d\n%s", code, body)
			}
			_, body, _ = strings.Cut(body, "<main")
			for _, say := range test.says {
				if !strings.Contains(body, say) {
					t.Errorf("%q is not said", say)
				}
			}
			for _, lie := range goesOn.FindAllString(body, -1) {
				t.Errorf("it goes on: %s", lie)
			}
			if t.Failed() {
				t.Log(body)
			}
		})
	}
}
