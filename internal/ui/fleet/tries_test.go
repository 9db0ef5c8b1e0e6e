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

// tryOf is the nth try of the scheduled time an hour before the test looks.
func tryOf(n int, outcome run.Outcome) run.Run {
	at := uitest.Now.Add(-time.Hour)
	begun := at.Add(time.Duration(n) * time.Minute)
	r := run.Run{UID: types.UID(fmt.Sprint("try-", n)), Kind: "Job", Namespace: "default", Owner: run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "second", UID: "u"},
		Name: fmt.Sprint("second-r", n), Retry: n, ScheduledTime: at, Created: begun, Started: begun, Outcome: outcome}
	if outcome.Ended() {
		r.Ended = begun.Add(time.Second)
	}
	return r
}

// What failed at first, and succeeded when it was tried again, has not failed; it was retried.
func TestTries(t *testing.T) {
	body := get(t, uitest.World{Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Succeeded)}}, "/fleet")
	for _, say := range []string{"No run has failed", "1 retry", "in 1 run"} {
		if !strings.Contains(body, say) {
			t.Errorf("%q is not said", say)
		}
	}
}

// The list of a day has each try. Narrowed to an outcome it has what the count beside it counts: the last try of each
// time, of which one that is to be tried again has not ended.
func TestTriesOfADay(t *testing.T) {
	const waits = `{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: second, uid: u}, spec: {timeZone: UTC, schedules: [{cron: "0 * * * *"}], retry: {limit: 3},
		template: {apiVersion: batch/v1, kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}},
		status: {active: [{name: second-r2, scheduledTime: "2026-11-02T10:00:00Z", trigger: Schedule, attempt: 2, startTime: "2026-11-02T10:02:00Z", retryAt: "2026-11-02T11:02:00Z"}]}}`
	other := tryOf(1, run.Failed)
	other.UID, other.Name, other.Owner = "other", "other-1", run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "other", UID: "o"}
	for name, test := range map[string]struct {
		world       uitest.World
		outcome     string
		says, lacks []string
	}{
		"each try":                    {uitest.World{Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Succeeded)}}, "", []string{"All 1<", "Failed 0<", "second-r1<", "second-r2<"}, nil},
		"failed, then succeeded":      {uitest.World{Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Succeeded)}}, "failed", []string{"Failed 0<", "No such run"}, []string{"second-r1"}},
		"of that what succeeded":      {uitest.World{Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Succeeded)}}, "succeeded", []string{"Succeeded 1<", "second-r2<"}, []string{"second-r1"}},
		"all failed":                  {uitest.World{Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Failed)}}, "failed", []string{"Failed 1<", "second-r2<"}, []string{"second-r1"}},
		"the second runs":             {uitest.World{Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Active)}}, "failed", []string{"Failed 0<", "No such run"}, []string{"second-r1"}},
		"to be tried again":           {uitest.World{Manifests: waits, Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Failed), other}}, "failed", []string{"Failed 1<", "other-1<"}, []string{"second-r1", "second-r2"}},
		"to be tried again: not over": {uitest.World{Manifests: waits, Runs: []run.Run{tryOf(1, run.Failed), tryOf(2, run.Failed), other}}, "active", []string{"Not ended 1<", "second-r2<", "failed, tried again"}, []string{"second-r1", "other-1<"}},
	} {
		t.Run(name, func(t *testing.T) {
			day := get(t, test.world, "/fleet/day?date=2026-11-02&outcome="+test.outcome)
			uitest.Says(t, day, test.says, test.lacks)
		})
	}
}
