// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

var epoch = time.Date(2026, 11, 2, 3, 0, 0, 0, time.UTC)

// at is so many minutes after epoch.
func at(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

func uid(n int) types.UID {
	return types.UID(fmt.Sprintf("0f0e0d0c-0000-4000-8000-%012x", n))
}

func owner(n int) run.Owner {
	return run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: fmt.Sprintf("nightly-%d", n), UID: uid(1_000_000 + n)}
}

// aRun is the nth run, of one of ten owners, which takes n seconds.
func aRun(n int, outcome run.Outcome) run.Run {
	r := run.Run{
		UID: uid(n), APIVersion: "batch/v1", Kind: "Job", Namespace: "default", Name: fmt.Sprintf("nightly-%d-%d", n%10, n),
		Owner: owner(n % 10), Trigger: run.Schedule, Retry: 1, ScheduledTime: at(n), Created: at(n).Add(time.Second),
		Started: at(n).Add(2 * time.Second), Outcome: outcome, Completions: 1,
	}
	if outcome.Ended() {
		r.Ended = r.Started.Add(time.Duration(n) * time.Second)
		r.Reason, r.Message = "CompletionsReached", "Reached expected number of succeeded pods"
		r.PodsSucceeded = 1
	} else {
		r.PodsRunning = 1
	}
	return r
}

func anAttempt(n, of int) run.Attempt {
	return run.Attempt{
		ContainerID: fmt.Sprintf("carillon://%064x", n), RunUID: uid(of), Namespace: "default",
		Pod: fmt.Sprintf("nightly-%d-%d-abcde", of%10, of), PodUID: uid(2_000_000 + n), Container: "main", Role: run.Role(n % 4), Mains: int32(n % 3),
		Started: at(of).Add(2 * time.Second), Ended: at(of).Add(time.Duration(n%60) * time.Second), ExitCode: 0,
		Reason: "Completed", CPU: 3 * time.Second, MemoryPeak: 1 << 20, OutputBytes: 100,
	}
}

// logText is a log of so many lines.
func logText(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s stdout F line %d of the output\n", at(0).Add(time.Duration(i)*time.Millisecond).Format(time.RFC3339Nano), i)
	}
	return b.String()
}

// warnings collects what is told to the user.
type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) add(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, s)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.all, "\n")
}

func tempDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "journal")
}

func open(t testing.TB, dir string, o Options) *Journal {
	t.Helper()
	j, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func read(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func record(t testing.TB, j *Journal, runs ...run.Run) {
	t.Helper()
	if err := j.Record(t.Context(), runs, nil); err != nil {
		t.Fatal(err)
	}
}

func recordAttempt(t testing.TB, j *Journal, a run.Attempt, log string) {
	t.Helper()
	var r io.Reader
	if log != "" {
		r = strings.NewReader(log)
	}
	if err := j.RecordAttempt(t.Context(), a, r); err != nil {
		t.Fatal(err)
	}
}

func runs(t testing.TB, r *Reader, q Query) []run.Run {
	t.Helper()
	all, err := r.Runs(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func names(all []run.Run) string {
	var b []string
	for _, r := range all {
		b = append(b, r.Name)
	}
	return strings.Join(b, " ")
}

func readLog(t testing.TB, r *Reader, id string) string {
	t.Helper()
	l, err := r.Log(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	b, err := io.ReadAll(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWhatIsRecordedIsRead(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1})
	ended, running := aRun(11, run.Succeeded), aRun(12, run.Active)
	running.Suspended = true
	manual := run.Run{UID: "no-uuid\x00at all", Namespace: "other", APIVersion: "batch/v1", Kind: "Job", Name: "by-hand", Created: at(1), Outcome: run.Active}
	missed := run.Omission{
		Namespace: "default", Owner: owner(1), ScheduledTime: at(5), Until: at(7), Count: 3, Missed: true,
		Reason: "DeadlineExceeded", Message: "It was 3 minutes late", Seen: at(9),
	}
	if err := j.Record(t.Context(), []run.Run{ended, running, manual}, []run.Omission{missed}); err != nil {
		t.Fatal(err)
	}
	log := logText(10)
	recordAttempt(t, j, anAttempt(1, 11), log)
	ended.Attempts, ended.ExitCode, ended.CPU, ended.MemoryPeak, ended.OutputBytes = 1, new(int32), 3*time.Second, 1<<20, 100
	attempt := anAttempt(1, 11)
	attempt.KeptBytes = int64(len(log))

	// Once while the writer has it open, and once after.
	for _, when := range []string{"open", "closed"} {
		t.Run(when, func(t *testing.T) {
			r := read(t, dir)
			if diff := cmp.Diff([]run.Run{running, ended, manual}, runs(t, r, Query{})); diff != "" {
				t.Error(diff)
			}
			if got, err := r.Omissions(t.Context(), Query{}); err != nil || !cmp.Equal([]run.Omission{missed}, got) {
				t.Error(err, cmp.Diff([]run.Omission{missed}, got))
			}
			if got, err := r.Attempts(t.Context(), ended.UID); err != nil || !cmp.Equal([]run.Attempt{attempt}, got) {
				t.Error(err, cmp.Diff([]run.Attempt{attempt}, got))
			}
			if got := readLog(t, r, attempt.ContainerID); got != log {
				t.Error(cmp.Diff(log, got))
			}
			if got, err := r.Tail(t.Context(), attempt.ContainerID, 2); err != nil || string(got) != strings.Join(strings.SplitAfter(log, "\n")[8:], "") {
				t.Errorf("%v %q", err, got)
			}
			if _, err := r.Log(t.Context(), "carillon://unknown"); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			if got, err := r.Tail(t.Context(), "carillon://unknown", 3); err != nil || got != nil {
				t.Error(err, got)
			}
			usual, err := r.Usual(t.Context(), []types.UID{owner(1).UID, owner(2).UID, "nobody"})
			want := map[types.UID]Usual{owner(1).UID: {Runs: 1, Median: 11 * time.Second, Most: 11 * time.Second}}
			if err != nil || !cmp.Equal(want, usual) {
				t.Error(err, cmp.Diff(want, usual))
			}
			extent, err := r.Extent(t.Context())
			if err != nil || extent.Runs != 3 || extent.Attempts != 1 || extent.Omissions != 1 || !extent.Oldest.Equal(ended.Ended) ||
				extent.LogBytes == 0 || extent.DiskBytes == 0 {
				t.Errorf("%v %+v", err, extent)
			}
		})
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Record(t.Context(), []run.Run{ended}, nil); !errors.Is(err, errClosed) {
		t.Error("recorded in a closed journal:", err)
	}
}

func TestQuery(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1})
	failed := aRun(13, run.Failed)
	failed.Namespace = "other"
	record(t, j, aRun(11, run.Succeeded), aRun(21, run.Active), failed, aRun(14, run.Cancelled))
	r := read(t, dir)
	for scenario, c := range map[string]struct {
		q    Query
		want string
	}{
		"all, newest first":   {Query{}, "nightly-1-21 nightly-4-14 nightly-3-13 nightly-1-11"},
		"namespace":           {Query{Namespace: "other"}, "nightly-3-13"},
		"owner by name":       {Query{OwnerKind: "CronJob", OwnerName: "nightly-1"}, "nightly-1-21 nightly-1-11"},
		"owner of other kind": {Query{OwnerKind: "Timetable", OwnerName: "nightly-1"}, ""},
		"owner by UID":        {Query{OwnerUID: owner(3).UID}, "nightly-3-13"},
		"name":                {Query{Name: "nightly-4-14"}, "nightly-4-14"},
		"UID":                 {Query{UID: uid(11)}, "nightly-1-11"},
		"outcomes":            {Query{Outcomes: []run.Outcome{run.Active, run.Failed}}, "nightly-1-21 nightly-3-13"},
		"times":               {Query{From: at(13), Until: at(21)}, "nightly-4-14 nightly-3-13"},
		"ended since":         {Query{EndedFrom: failed.Ended}, "nightly-4-14 nightly-3-13"},
		"failed since":        {Query{Outcomes: []run.Outcome{run.Failed}, EndedFrom: at(0)}, "nightly-3-13"},
		"limit":               {Query{Limit: 2}, "nightly-1-21 nightly-4-14"},
	} {
		t.Run(scenario, func(t *testing.T) {
			if got := names(runs(t, r, c.q)); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
		})
	}
}

func TestReaderWithoutJournal(t *testing.T) {
	dir := tempDir(t)
	if _, err := OpenReader(dir); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(dir); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Error("a reader made", entries)
	}
}

func TestAContextThatEndedRecordsNothing(t *testing.T) {
	j := open(t, tempDir(t), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Record(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
