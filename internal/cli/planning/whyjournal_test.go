// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/cli/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// localCarillon is a data directory with a journal, and with the kubeconfig of an API server that has what savedCluster has.
func localCarillon(t *testing.T, runs []run.Run, omissions []run.Omission) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(apiServer(t))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig = bytes.Replace(kubeconfig, []byte("context: {cluster: c}"), []byte("context: {cluster: c, namespace: shop}"), 1)
	if err := os.WriteFile(datadir.Kubeconfig(dir), kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	if runs == nil && omissions == nil {
		return dir
	}
	written, err := journal.Open(datadir.Journal(dir), journal.Options{Now: func() time.Time { return whyAt }})
	if err != nil {
		t.Fatal(err)
	}
	if err := written.Record(t.Context(), runs, omissions); err != nil {
		t.Fatal(err)
	}
	if err := written.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

var whyAt = time.Date(2026, 11, 23, 8, 20, 0, 0, time.UTC)

func dumped(name string, due time.Time, outcome run.Outcome) run.Run {
	r := run.Run{
		UID: types.UID(name), APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: name, Trigger: run.Schedule, ScheduledTime: due,
		Owner:   run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "dump", UID: "6a3f"},
		Created: due.Add(time.Second), Started: due.Add(2 * time.Second), Ended: due.Add(3 * time.Minute), Outcome: outcome,
	}
	if outcome == run.Failed {
		r.Reason = "DeadlineExceeded"
	}
	return r
}

func askLocal(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newWhyAt(Streams{Out: &out, Err: &out}, func() time.Time { return whyAt })
	cmd.SetArgs(append(args, "--data-dir", dir))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return strings.Join(strings.Fields(out.String()), " "), err
}

// What the API server has forgotten is answered from the journal of the Carillon of this machine.
func TestWhyFromTheJournal(t *testing.T) {
	yesterday := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	dir := localCarillon(t,
		[]run.Run{
			dumped("dump-29921820", yesterday, run.Failed), dumped("dump-29900000", yesterday.AddDate(0, 0, -20), run.Succeeded),
			{
				UID: "gone", APIVersion: "batch/v1", Kind: "Job", Namespace: "shop", Name: "nobody-saw", Outcome: run.Active, Created: yesterday,
				Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "former", UID: "f"},
			},
		},
		[]run.Omission{{
			Namespace: "shop", Owner: run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "dump", UID: "6a3f"},
			ScheduledTime: yesterday.Add(15 * time.Minute), Until: yesterday.Add(time.Hour), Count: 4, Missed: true, Reason: "Outage",
			Message: "nobody looked when it was due", Seen: yesterday.Add(2 * time.Hour),
		}})
	for name, test := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"a run of yesterday":     {args: []string{"cronjob/dump", "--at", "yesterday 02:00"}, says: []string{"ran on time: Job dump-29921820", "it took longer than spec.activeDeadlineSeconds", "- journal: Job dump-29921820 created", "carillon logs job/dump-29921820 --data-dir " + dir + " -n shop"}},
		"a time that was missed": {args: []string{"cronjob/dump", "--at", "yesterday 02:45"}, says: []string{"was missed: nobody looked in time", "- journal: 2026-11-22 02:15 +01:00 to 2026-11-22 03:00 +01:00 missed, reason Outage, 4 times"}},
		"neither":                {args: []string{"cronjob/dump", "--at", "2026-11-21 12:00"}, says: []string{"was missed: the journal has no run of it (inferred)"}},
		"before the journal":     {args: []string{"cronjob/dump", "--at", "2026-09-21 12:00"}, code: exitcode.Failed, says: []string{"cannot be told", "the journal remembers nothing before"}},
		"a Job that is gone":     {args: []string{"job/dump-29921820"}, says: []string{"job/dump-29921820 failed", "cronjob/dump started it for 2026-11-22 01:00 UTC, on time", "the Job itself: its object is gone"}},
		"one nobody saw end":     {args: []string{"job/nobody-saw"}, code: exitcode.Failed, says: []string{"nobody saw how", "cronjob/former started it"}},
		"what is there":          {args: []string{"cronjob/dump"}, says: []string{"Job dump-29923680 is still active"}},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := askLocal(t, dir, test.args...)
			code := 0
			if coded, ok := errors.AsType[*exitcode.Error](err); ok {
				code = coded.Code
			}
			if code != test.code || (err == nil) != (code == 0) {
				t.Fatalf("exit code %d: %v\n%s", code, err, said)
			}
			for _, text := range test.says {
				if !strings.Contains(said, text) {
					t.Errorf("it does not say %q: %s", text, said)
				}
			}
		})
	}
	for name, test := range map[string]struct{ object, says string }{
		"a CronJob that is gone": {"cronjob/former", "the journal remembers 1 run of one that had the name: carillon describe cronjob/former shows them"},
		"nobody knows it":        {"cronjob/dumb", "did you mean cronjob/dump?"},
		"nor that Job":           {"job/dumb", "there is no job/dumb"},
	} {
		if _, err := askLocal(t, dir, test.object); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v", name, err)
		} else if coded, ok := errors.AsType[*exitcode.Error](err); !ok || coded.Code != exitcode.Usage {
			t.Errorf("%s: %v has not the exit code for the user's input", name, err)
		}
	}
}

// Without a journal, or with one that cannot be read, the answer is what it was, and says so.
func TestWhyWithoutAJournal(t *testing.T) {
	dir := localCarillon(t, nil, nil)
	said, err := askLocal(t, dir, "cronjob/dump", "--at", "yesterday 02:00")
	if coded, ok := errors.AsType[*exitcode.Error](err); !ok || coded.Code != exitcode.Failed || strings.Contains(said, "journal") {
		t.Errorf("none: %v\n%s", err, said)
	}
	if err := os.MkdirAll(datadir.Journal(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.JournalDatabase(dir), []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err = askLocal(t, dir, "cronjob/dump")
	if err != nil || !strings.Contains(said, "Job dump-29923680 is still active") || !strings.Contains(said, "- the journal: ") {
		t.Errorf("damaged: %v\n%s", err, said)
	}
}
