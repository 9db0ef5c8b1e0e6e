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

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// localCarillon is a data directory with a journal, and with the kubeconfig of an API server that has what savedCluster
// has.
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
	return ask(t, append(args, "--data-dir", dir)...)
}

func codeOf(err error) int {
	if err == nil {
		return 0
	}
	if coded, ok := errors.AsType[*exitcode.Error](err); ok {
		return coded.Code
	}
	return -1
}

func ask(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newWhyAt(Streams{Out: &out, Err: &out}, func() time.Time { return whyAt })
	cmd.SetArgs(args)
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
		"nobody knows it": {"cronjob/dumb", "did you mean cronjob/dump?"},
		"nor that Job":    {"job/dumb", "there is no job/dumb"},
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

// An object that is gone, or whose Carillon does not run, has an answer from the journal alone.
func TestWhyFromTheJournalAlone(t *testing.T) {
	yesterday := time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)
	former := run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "former", UID: "f"}
	of := func(due time.Time, outcome run.Outcome, change func(*run.Run)) run.Run {
		r := dumped("former-"+due.Format("021504"), due, outcome)
		r.Owner = former
		if change != nil {
			change(&r)
		}
		return r
	}
	runs := []run.Run{
		of(yesterday.AddDate(0, 0, -20), run.Succeeded, nil),
		of(yesterday, run.Failed, nil),
		of(yesterday.Add(2*time.Hour), run.Succeeded, func(r *run.Run) { r.Created = r.Created.Add(10 * time.Minute) }),
		of(yesterday.Add(8*time.Hour), run.Active, func(r *run.Run) { r.Ended = time.Time{} }),
	}
	omissions := []run.Omission{{
		Namespace: "shop", Owner: former, ScheduledTime: yesterday.Add(3 * time.Hour), Until: yesterday.Add(5 * time.Hour), Count: 3, Missed: true,
		Reason: "Outage", Message: "nobody looked when it was due", Seen: yesterday.Add(6 * time.Hour),
	}}
	gone := localCarillon(t, runs, omissions)
	down := localCarillon(t, runs, omissions)
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
	if err := os.WriteFile(datadir.Kubeconfig(down), []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := yesterday.Add(9 * time.Hour)
	if err := os.MkdirAll(filepath.Dir(datadir.Log(down)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(datadir.Log(down), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(datadir.Log(down), stopped, stopped); err != nil {
		t.Fatal(err)
	}
	const notRunning = "does not run since 2026-11-22 10:00 UTC (22h20m ago)"
	isGone, isDown, alone := []string{"--data-dir", gone}, []string{"--data-dir", down, "-n", "shop"}, []string{"--journal", down, "-n", "shop"}
	for name, test := range map[string]struct {
		where []string
		args  []string
		code  int
		says  []string
	}{
		"gone":                      {isGone, []string{"cronjob/former"}, 0, []string{"cronjob/former is gone", "There is no such object any more", "and nobody saw how", "history cronjob/former --data-dir " + gone}},
		"gone, a run":               {isGone, []string{"cronjob/former", "--at", "2026-11-22 01:00"}, 0, []string{"cronjob/former at 2026-11-22 01:00 UTC ran on time: Job former-220100", "failed at", "The time is read in UTC"}},
		"gone, a late run":          {isGone, []string{"cronjob/former", "--at", "2026-11-22T03:00Z"}, 0, []string{"ran late: Job former-220300 started 10m", "succeeded"}},
		"gone, missed":              {isGone, []string{"cronjob/former", "--at", "2026-11-22 04:00"}, 0, []string{"was missed: nobody looked in time", "reason Outage, 3 times"}},
		"gone, within those missed": {isGone, []string{"cronjob/former", "--at", "2026-11-22 05:00"}, 0, []string{"was missed: nobody looked in time: no controller was at work (inferred)"}},
		"gone, nothing":             {isGone, []string{"cronjob/former", "--at", "2026-11-22 02:00"}, exitcode.Failed, []string{"cannot be told: the journal has neither a run nor an omission of it", "The last run before it was Job former-220100", "the first after it Job former-220300", "(inferred)"}},
		"gone, before the journal":  {isGone, []string{"cronjob/former", "--at", "2026-09-22 02:00"}, exitcode.Failed, []string{"the journal does not reach back so far", "remembers nothing before"}},
		"gone, to come":             {isGone, []string{"cronjob/former", "--at", "2026-12-22 02:00"}, exitcode.Failed, []string{"it is to come"}},
		"down":                      {isDown, []string{"cronjob/former"}, 0, []string{"cronjob/former is not served: the Carillon on " + down + " " + notRunning, "had not ended when Carillon stopped", "carillon up --data-dir " + down}},
		"down, a run":               {isDown, []string{"cronjob/former", "--at", "2026-11-22 01:00"}, 0, []string{"ran on time", notRunning}},
		"down, after its end":       {isDown, []string{"cronjob/former", "--at", "2026-11-22 18:00"}, 0, []string{"is not served: the Carillon on " + down, "(inferred)", "nothing has started since"}},
		"down, a Job":               {isDown, []string{"job/former-220900"}, exitcode.Failed, []string{"it had not ended when Carillon stopped", "the Job itself: the Carillon on"}},
		"a journal":                 {alone, []string{"cronjob/former", "--at", "2026-11-22 03:00"}, 0, []string{"ran late", "no API server was asked", "carillon logs job/former-220300 --journal " + down + " -n shop"}},
		"a journal, now":            {alone, []string{"cronjob/former"}, 0, []string{"ran on time: Job former-220900", "had not ended when the journal was written last"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", "")
			said, err := ask(t, append(test.args, test.where...)...)
			if got := codeOf(err); got != test.code {
				t.Fatalf("exit code %d: %v\n%s", got, err, said)
			}
			for _, text := range test.says {
				if !strings.Contains(said, text) {
					t.Errorf("it does not say %q: %s", text, said)
				}
			}
		})
	}
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"down, another name":     {append([]string{"cronjob/forme"}, isDown...), "did you mean cronjob/former?; only the journal was asked: the Carillon on " + down + " " + notRunning},
		"no journal there":       {[]string{"cronjob/former", "--journal", filepath.Join(t.TempDir(), "none")}, "--journal: there is no journal in "},
		"a journal beside files": {[]string{"cronjob/former", "--journal", down, "-f", datadir.Kubeconfig(down)}, "leave out --journal"},
	} {
		if said, err := ask(t, test.args...); codeOf(err) != exitcode.Usage || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v %s", name, err, said)
		}
	}
}
