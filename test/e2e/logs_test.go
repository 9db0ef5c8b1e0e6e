// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/datadir"
)

// look runs a command that looks at this Carillon.
func (u *up) look(args ...string) result {
	u.t.Helper()
	return command(u.t, "", append(args, "--data-dir", u.dataDir)...)
}

func wantResult(t *testing.T, what string, got result, code int, stdout string) {
	t.Helper()
	if got.code != code || got.stdout != stdout {
		t.Errorf("%s: exit code %d, want %d\n%s\nwant\n%s\nstderr:\n%s", what, got.code, code, got.stdout, stdout, got.stderr)
	}
}

// The output of runs is shown while they run, when they have ended, when their objects are gone and when Carillon does
// not run; and waiting ends when runs do, whichever way.
func TestLogsAndWait(t *testing.T) {
	u := startReady(t, newDataDir(t), "--local-files")
	u.kubectl("create", "-f", write(t, shellJob{name: "replaced", script: "echo try; sleep 1; echo no >&2; exit 3", job: "backoffLimit: 1"}.String()))
	u.kubectl("create", "-f", write(t, shellJob{name: "sleeps", script: "echo zzz; sleep 3600"}.String()))

	t.Run("a Job whose Pods are replaced", func(t *testing.T) {
		got := u.look("logs", "-f", "-q", "--prefix=false", "job/replaced")
		wantResult(t, "followed", got, 1, "try\nno\ntry\nno\n")
		wantResult(t, "shown", u.look("logs", "-q", "--prefix=false", "job/replaced"), 0, "try\nno\ntry\nno\n")
		wantResult(t, "the failed one, its last line", u.look("logs", "job/replaced", "-q", "--failed", "--tail", "1", "--prefix=false"), 0, "no\n")
		second := u.look("logs", "job/replaced", "--attempt", "2")
		wantResult(t, "the second attempt", second, 0, "try\nno\n")
		if !strings.Contains(second.stderr, "failed: BackoffLimitExceeded, exit code 3 after ") || !strings.Contains(second.stderr, ", attempt 2 of 2\n") {
			t.Errorf("the heading is %q", second.stderr)
		}
		waited := u.look("wait", "job/replaced")
		wantResult(t, "waited for", waited, 1, "")
		if !strings.HasPrefix(waited.stderr, "carillon: job/replaced failed: BackoffLimitExceeded, exit code 3 after ") {
			t.Errorf("wait says %q", waited.stderr)
		}
	})
	t.Run("a Job that is removed at once", func(t *testing.T) {
		ended := make(chan result)
		go func() { ended <- u.look("wait", "job/sleeps", "job/fast", "--any", "--timeout", "1m") }()
		u.kubectl("create", "-f", write(t, shellJob{name: "fast", script: "echo quick", job: "ttlSecondsAfterFinished: 0"}.String()))
		u.kubectl("wait", "--for=delete", "job/fast", "--timeout=60s")
		if early := <-ended; early.code != 0 && early.code != 2 { // it may have asked before the Job was there
			t.Errorf("waiting ended with %d: %s", early.code, early.stderr)
		}
		wantResult(t, "waited for later", u.look("wait", "job/fast"), 0, "")
		wantResult(t, "shown", u.look("logs", "job/fast"), 0, "quick\n")
		wantResult(t, "followed", u.look("logs", "-f", "job/fast"), 0, "quick\n")
	})
	times := filepath.Join(t.TempDir(), "times")
	t.Run("a time of a Timetable", func(t *testing.T) {
		u.kubectl("create", "-f", write(t, timetableManifest("tick", times, "")))
		got := u.look("wait", "tt/tick", "--next", "-o", "json", "--timeout", "1m")
		var doc struct {
			Items []struct {
				Run struct{ ScheduledTime time.Time }
			}
		}
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil || got.code != 0 || len(doc.Items) != 1 {
			t.Fatalf("%v: %+v", err, got)
		}
		at := doc.Items[0].Run.ScheduledTime.Format(time.RFC3339)
		again := u.look("wait", "tt/tick", "--run", at)
		wantResult(t, "waited for again", again, 0, "")
		shown := u.look("logs", "tt/tick", "--run", at)
		wantResult(t, "shown", shown, 0, "")
		if !strings.Contains(shown.stderr, " of timetable/tick, scheduled ") {
			t.Errorf("the heading is %q", shown.stderr)
		}
		none := u.look("logs", "tt/tick", "--run", "2020-01-01T00:00:00Z")
		if none.code != 1 || !strings.Contains(none.stderr, "the nearest ones are those of ") {
			t.Errorf("a time without a run: %+v", none)
		}
		if failed := u.look("logs", "tt/tick", "--failed"); failed.code != 1 || !strings.Contains(failed.stderr, "no run of timetable/tick has failed") {
			t.Errorf("none has failed: %+v", failed)
		}
	})
	t.Run("a Job that does not end", func(t *testing.T) {
		if got := u.look("wait", "job/sleeps", "--timeout", "1s"); got.code != 124 {
			t.Errorf("%+v", got)
		}
		wantResult(t, "shown", u.look("logs", "job/sleeps", "-q"), 0, "zzz\n")
		followed, waited := make(chan result), make(chan result)
		go func() { followed <- u.look("logs", "-f", "job/sleeps") }()
		go func() { waited <- u.look("wait", "job/sleeps") }()
		u.kubectl("delete", "job/sleeps")
		wantResult(t, "followed", <-followed, 1, "zzz\n")
		if got := <-waited; got.code != 1 || !strings.Contains(got.stderr, "was deleted before it had ended") {
			t.Errorf("waited for: %+v", got)
		}
	})
	t.Run("without a journal", func(t *testing.T) {
		kubeconfig := datadir.Kubeconfig(u.dataDir)
		for args, want := range map[string]result{
			"logs -q --prefix=false job/replaced":    {0, "try\nno\ntry\nno\n", ""},
			"logs -q -f --prefix=false job/replaced": {1, "try\nno\ntry\nno\n", ""},
			"logs job/fast":                          {2, "", ""},
			"wait job/fast":                          {2, "", ""},
			"wait job/replaced":                      {1, "", ""},
		} {
			wantResult(t, args, command(t, "", append(strings.Fields(args), "--kubeconfig", kubeconfig)...), want.code, want.stdout)
		}
	})
	u.stop()
	wantResult(t, "shown while Carillon does not run", u.look("logs", "job/fast", "-q"), 0, "quick\n")
	wantResult(t, "waited for while Carillon does not run", u.look("wait", "job/fast"), 0, "")
	if got := u.look("wait", "tt/tick"); got.code != 2 || !strings.Contains(got.stderr, fmt.Sprintf("the Carillon on %s does not run", u.dataDir)) {
		t.Errorf("waiting for what nobody starts: %+v", got)
	}
}
