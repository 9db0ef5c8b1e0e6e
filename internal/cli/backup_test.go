// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/backup"
	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

var someManifest = backup.Manifest{
	Created: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC), Carillon: "v1.0.0", Kubernetes: "v1.36.3", Node: "box",
	Objects: backup.Objects{Total: 1412, CronJobs: 21, Timetables: 1, Jobs: 120, Pods: 130}, Runs: 12041, Attempts: 12300, EndedContainers: 10, Omissions: 1,
}

// What the commands say in the end.
func TestBackupTexts(t *testing.T) {
	at := someManifest.Created.Add(90 * time.Minute)
	stamp := someManifest.Created.Local().Format("2006-01-02 15:04:05 MST")
	const contents = "  objects: 1,412 (21 CronJobs, 1 Timetable, 120 Jobs, 130 Pods)\n  history: 12,041 runs, 12,310 attempts, 1 omission\n"
	const end = "  not in it: Pods' volumes, directories of the machine, images\nIt holds Secrets and keys: whoever can read it is administrator of what is restored from it.\n"
	cases := map[string]struct{ got, want string }{
		"running": {createdText("a.backup", &backup.Created{Manifest: someManifest, Size: 4300000, Running: true, Froze: 4 * time.Millisecond}, 830*time.Millisecond),
			"a.backup: 4.1 MiB, written in 830ms while Carillon ran (its history waited 4ms)\n" + contents + end},
		"stopped, to a pipe": {createdText("-", &backup.Created{Manifest: someManifest, Size: 100}, time.Second), "the backup: 100 B, written in 1.0s\n" + contents + end},
		"killed": {createdText("b", &backup.Created{Manifest: someManifest, Size: 100, Alive: 2}, time.Second), "b: 100 B, written in 1.0s\n" + contents +
			"  2 containers run still, since Carillon was killed: restored, what they do counts as lost, and is done again as far as backoffLimit lets it\n" + end},
		"control bytes": {strings.SplitAfter(createdText("a\x1b[31m", &backup.Created{}, 0), ":")[0], `a^[[31m:`},
		"restored": {restoredText("/d", &backup.Restored{Manifest: someManifest, Lost: 2, Aside: "/d.before"}, at),
			"Restored /d from the backup of " + stamp + " (1h30m ago):\n" + contents +
				"  2 Pods that were running then, or about to, failed: backoffLimit decides what is tried again\n  what was there before is in /d.before\nIt goes on from there with: " + upCommand("/d") + "\n"},
		"suspended": {restoredText("/d", &backup.Restored{Manifest: someManifest, Suspended: backup.Suspended{CronJobs: 1, Jobs: 2}}, at),
			"Restored /d from the backup of " + stamp + " (1h30m ago):\n" + contents +
				"  suspended: 1 CronJob, 0 Timetables, 2 Jobs: nothing starts by itself until you resume it, or restore again without --suspend\n" +
				"    " + kubectlHint("/d") + ` patch cronjob/NAME --type merge -p '{"spec":{"suspend":false}}' resumes one` + "\nIt goes on from there with: " + upCommand("/d") + "\n"},
		"history": {restoredText("/d", &backup.Restored{Manifest: someManifest, RunsOnly: true, Merged: backup.Merged{Runs: 1, Attempts: 2}}, at),
			"Added to the history of /d what was missing from the backup of " + stamp + " (1h30m ago): 1 run, 2 attempts, 0 omissions.\n"},
		"nothing missing": {restoredText("/d", &backup.Restored{Manifest: someManifest, RunsOnly: true}, at),
			"The history of /d has all that is in the backup of " + stamp + " (1h30m ago): nothing was missing.\n"},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, c.got, c.want)
		}
	}
}

// The user's own mistakes are told with exit code 2, and change nothing.
func TestBackupUsage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b")
	cases := map[string]struct {
		args []string
		want string
	}{
		"no file":               {[]string{"backup"}, "accepts 1 arg"},
		"no Carillon":           {[]string{"backup", "--data-dir", filepath.Join(dir, "none"), file}, "nothing to back up"},
		"force to a pipe":       {[]string{"backup", "--data-dir", dir, "--force", "-"}, "--force goes with a file"},
		"restore, no such file": {[]string{"restore", "--data-dir", filepath.Join(dir, "none"), file}, "there is no file"},
		"runs and replace":      {[]string{"restore", "--runs", "--replace", file}, "--runs goes with neither"},
		"wrong format":          {[]string{"restore", "-o", "yaml", file}, "text or json"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, stderr strings.Builder
			code := Run(c.args, Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
			if code != exitcode.Usage || !strings.Contains(stderr.String(), c.want) || out.Len() > 0 {
				t.Errorf("exit code %d, %q, %q", code, out.String(), stderr.String())
			}
		})
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// A stream that gives, or takes, nothing does not keep a command that was interrupted.
func TestInterruptibleStreams(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never, _ := io.Pipe()
	r, _ := interruptibleReader(ctx, never)
	_, nobody := io.Pipe()
	w, finish := interruptibleWriter(ctx, nobody)
	cancel()
	if _, err := io.ReadAll(r); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
	for err := error(nil); err == nil; { // one that is on its way when the context ends may be taken
		_, err = fmt.Fprint(w, "text")
	}
	if err := finish(); !errors.Is(err, context.Canceled) {
		t.Errorf("finish: %v", err)
	}
	var exit *exitcode.Error
	if err := interruptedBackup(ctx, context.Canceled, "nothing"); !errors.As(err, &exit) || exit.Code != exitcode.Interrupted {
		t.Errorf("%v", err)
	}

	var got strings.Builder
	w, finish = interruptibleWriter(t.Context(), &got)
	if _, err := fmt.Fprint(w, "text"); err != nil {
		t.Error(err)
	}
	if err := finish(); err != nil || got.String() != "text" {
		t.Errorf("%q, %v", got.String(), err)
	}
}
