// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/client/reference"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// Which run is shown, and what is said when there is none.
func TestChooseRun(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	byHand := backupRun(4, run.Succeeded)
	byHand.UID, byHand.Name, byHand.ScheduledTime, byHand.Trigger = "hand", "hand", time.Time{}, run.Manual
	retry := backupRun(3, run.Failed)
	retry.UID, retry.Name, retry.Retry = "retry", "backup-03-r2", 2
	twice := backupRun(25, run.Succeeded) // at the end of summer time, later than what is now
	again := twice
	twice.ScheduledTime = time.Date(2025, 10, 26, 0, 30, 0, 0, time.UTC)
	again.UID, again.Name, again.ScheduledTime = "again", "again", time.Date(2025, 10, 26, 1, 30, 0, 0, time.UTC)
	memory := &runMemory{
		runs: []run.Run{twice, again, backupRun(1, run.Failed), backupRun(2, run.Succeeded), backupRun(3, run.Failed), retry, backupRun(4, run.Succeeded), byHand},
		omissions: []run.Omission{{Owner: run.Owner{Name: "backup"}, ScheduledTime: time.Date(2026, 4, 30, 2, 0, 0, 0, time.UTC), Missed: true,
			Message: "Carillon did not run"}},
	}
	for name, test := range map[string]struct {
		of   string
		in   *time.Location
		c    choice
		want string
		code int
	}{
		"the newest":                 {want: "hand"},
		"the one before":             {c: choice{previous: true}, want: "backup-04"},
		"the newest that failed":     {c: choice{failed: true}, want: "backup-03-r2"},
		"the failed one before":      {c: choice{failed: true, previous: true}, want: "backup-01"},
		"a time":                     {c: choice{at: "2026-05-02 02:00"}, want: "backup-02"},
		"a time of day":              {c: choice{at: "02:00"}, want: "backup-04"},
		"yesterday, in the zone":     {c: choice{at: "yesterday 04:00"}, in: rome, want: "backup-03-r2"},
		"the second":                 {c: choice{at: "2026-05-02T02:00:00Z"}, want: "backup-02"},
		"of a Job":                   {of: "job/backup-02", want: "backup-02"},
		"a time that comes twice":    {c: choice{at: "2025-10-26 02:30"}, in: rome, code: exitcode.Usage, want: `--run: "2025-10-26 02:30" is the time of 2 runs of cronjob/backup; name one of them: 2025-10-26T02:30:00+01:00, 2025-10-26T02:30:00+02:00`},
		"one of the two":             {c: choice{at: "2025-10-26T02:30:00+01:00"}, in: rome, want: "again"},
		"no time":                    {c: choice{at: "soon"}, code: exitcode.Usage, want: `--run: "soon" is no time: write 02:00, "yesterday 02:00", "2026-11-20 02:00" (in the schedule's zone, UTC), or 2026-11-20T02:00:00Z`},
		"a time without a run":       {c: choice{at: "2026-05-02 03:00"}, code: 1, want: `--run: no run of cronjob/backup is known for 2026-05-02 03:00:00 UTC; the nearest ones are those of 2026-05-02 02:00:00 and 2026-05-03 02:00:00 (carillon why cronjob/backup --at '2026-05-02 03:00' tells more)`},
		"a time that was missed":     {c: choice{at: "2026-04-30 02:00"}, code: 1, want: `--run: no run of cronjob/backup is known for 2026-04-30 02:00:00 UTC: it was missed (Carillon did not run); the nearest ones are those of 2025-10-26 01:30:00 and 2026-05-01 02:00:00 (carillon why cronjob/backup --at '2026-04-30 02:00' tells more)`},
		"a time to come":             {c: choice{at: "tomorrow 02:00"}, code: 1, want: `--run: no run of cronjob/backup is known for 2026-05-05 02:00:00 UTC, which comes in 14h; the nearest ones are those of 2026-05-04 02:00:01 (carillon why cronjob/backup --at 'tomorrow 02:00' tells more)`},
		"a time that does not exist": {c: choice{at: "2026-03-29 02:30"}, in: rome, code: 1, want: `--run: no run of cronjob/backup is known for 2026-03-29 03:00:00 CEST (clocks jump over 02:30 on that day); the nearest ones are those of 2025-10-26 02:30:00 and 2026-05-01 04:00:00 (carillon why cronjob/backup --at '2026-03-29 02:30' tells more)`},
		"no run before the newest":   {of: "job/backup-02", c: choice{previous: true}, code: 1, want: `there is no run of job/backup-02 before its newest one (known are 1 run, from the memory of a test)`},
		"none failed":                {of: "job/backup-02", c: choice{failed: true}, code: 1, want: `no run of job/backup-02 has failed (known are 1 run, from the memory of a test)`},
		"one failed":                 {of: "job/backup-01", c: choice{failed: true, previous: true}, code: 1, want: `only one run of job/backup-01 has failed: see it with --failed alone (known are 1 run, from the memory of a test)`},
		"none at all":                {of: "cronjob/new", code: 1, want: `no run of cronjob/new is known (from the memory of a test)`},
	} {
		t.Run(name, func(t *testing.T) {
			if test.of == "" {
				test.of = "cronjob/backup"
			}
			if test.in == nil {
				test.in = time.UTC
			}
			ref, _ := reference.Parse(test.of)
			got, err := chooseRun(t.Context(), memory, &subject{ref: ref, namespace: "default", zone: test.in}, test.c, logsNow)
			if test.code == 0 {
				if err != nil || got.Name != test.want {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			var e *exitcode.Error
			if !errors.As(err, &e) || e.Code != test.code || e.Error() != test.want {
				t.Errorf("got %+v, want exit code %d\n%s", err, test.code, test.want)
			}
		})
	}
}
