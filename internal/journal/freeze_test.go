// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// asJournal makes a journal's directory of a copy.
func asJournal(t *testing.T, copied string) string {
	t.Helper()
	dir := tempDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fileName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What is written after Freeze waits for Thaw, and is not in the copy, whether it was made before the copy or while it
// was.
func TestFreeze(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1})
	record(t, j, aRun(1, run.Succeeded))
	recordAttempt(t, j, anAttempt(1, 1), logText(20_000))

	f, err := Freeze(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	other, err := connect(t.Context(), filepath.Join(dir, fileName), "rw", []string{"busy_timeout(0)"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.exec("BEGIN IMMEDIATE"); !isBusy(err) {
		t.Error("a frozen journal can be written to:", err)
	}
	other.close()
	recorded := make(chan error, 1)
	go func() { recorded <- j.Record(t.Context(), []run.Run{aRun(2, run.Succeeded)}, nil) }()
	if err := f.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-recorded; err != nil {
		t.Fatal(err)
	}
	record(t, j, aRun(3, run.Succeeded))

	path := filepath.Join(t.TempDir(), "copy.db")
	if err := f.CopyTo(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := f.CopyTo(t.Context(), path); err == nil {
		t.Error("it wrote over a file")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Error("the copy is not one file:", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	r := read(t, asJournal(t, path))
	if got := names(runs(t, r, Query{})); got != "nightly-1-1" {
		t.Error("the copy has", got)
	}
	if got := readLog(t, r, anAttempt(1, 1).ContainerID); got != logText(20_000) {
		t.Error("the log is another one")
	}
	if got := names(runs(t, read(t, dir), Query{})); got != "nightly-3-3 nightly-2-2 nightly-1-1" {
		t.Error("the journal has", got)
	}
}

func TestMerge(t *testing.T) {
	// The other journal: a run that only it has, one that both have, one that was active, an attempt of a run that it
	// does not know, and a log of many chunks.
	other := tempDir(t)
	j := open(t, other, Options{KeepLogs: -1})
	record(t, j, aRun(1, run.Succeeded), aRun(2, run.Active), aRun(3, run.Active), aRun(5, run.Active))
	large := logText(300_000)
	recordAttempt(t, j, anAttempt(1, 1), large)
	recordAttempt(t, j, anAttempt(2, 2), "x")
	recordAttempt(t, j, anAttempt(9, 9), "")
	mine := run.Omission{Namespace: "default", Owner: owner(1), ScheduledTime: at(5), Count: 1, Reason: "Mine", Seen: at(9)}
	theirs, both := mine, mine
	theirs.ScheduledTime, theirs.Reason, both.Reason = at(6), "Theirs", "Theirs"
	if err := j.Record(t.Context(), nil, []run.Omission{theirs, both}); err != nil {
		t.Fatal(err)
	}
	f, err := Freeze(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := f.CopyTo(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	// This one is in use.
	dir := tempDir(t)
	k := open(t, dir, Options{KeepLogs: -1})
	if err := k.Record(t.Context(), []run.Run{aRun(2, run.Failed), aRun(5, run.Active)}, []run.Omission{mine}); err != nil {
		t.Fatal(err)
	}
	var last [2]int64
	added, err := Merge(t.Context(), dir, path, func(done, all int64) { last = [2]int64{done, all} })
	if err != nil {
		t.Fatal(err)
	}
	if added.Runs != 2 || added.Attempts != 3 || added.Omissions != 1 || added.LogBytes == 0 || last[0] != last[1] {
		t.Errorf("%+v %v", added, last)
	}
	again, err := Merge(t.Context(), dir, path, nil)
	if err != nil || again != (Extent{}) {
		t.Errorf("a second time: %+v %v", again, err)
	}
	record(t, k, aRun(4, run.Active))

	r := read(t, dir)
	var got []string
	for _, run := range runs(t, r, Query{}) {
		got = append(got, run.Name+" "+string(run.Outcome)+" "+strings.Repeat("|", run.Attempts))
	}
	want := []string{"nightly-5-5 Active ", "nightly-4-4 Active ", "nightly-3-3 Unknown ", "nightly-2-2 Failed |", "nightly-1-1 Succeeded |"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := readLog(t, r, anAttempt(1, 1).ContainerID); got != large {
		t.Error("the log is another one")
	}
	omissions, err := r.Omissions(t.Context(), Query{})
	if err != nil || !cmp.Equal([]run.Omission{theirs, mine}, omissions) {
		t.Error(err, cmp.Diff([]run.Omission{theirs, mine}, omissions))
	}
	if attempts, err := r.Attempts(t.Context(), uid(9)); err != nil || len(attempts) != 1 {
		t.Error("the attempt of an unknown run:", attempts, err)
	}
}

func TestMergeRefuses(t *testing.T) {
	sound := tempDir(t)
	j := open(t, sound, Options{KeepLogs: -1})
	record(t, j, aRun(1, run.Succeeded))
	recordAttempt(t, j, anAttempt(1, 1), logText(10_000))
	j.Close()
	for scenario, c := range map[string]struct {
		change func(d *database, path string)
		want   string
	}{
		"a later version": {func(d *database, _ string) {
			_, _ = d.exec("UPDATE meta SET value = 7 WHERE name = 'version'")
			_, _ = d.exec("PRAGMA user_version = 7")
		}, "later version of Carillon"},
		"a trigger": {func(d *database, _ string) {
			_, _ = d.exec("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END")
		}, "its tables are not those"},
		"another program's": {func(d *database, _ string) { _, _ = d.exec("PRAGMA application_id = 7") }, "not a journal of runs"},
		"cut off":           {func(_ *database, path string) { _ = os.Truncate(path, 40_000) }, "not the sound copy"},
		"empty":             {func(_ *database, path string) { _ = os.Truncate(path, 0) }, "empty"},
		"a text":            {func(_ *database, path string) { _ = os.WriteFile(path, []byte(strings.Repeat("hello\n", 999)), 0o600) }, "not the sound copy"},
	} {
		t.Run(scenario, func(t *testing.T) {
			path := filepath.Join(asJournal(t, filepath.Join(sound, fileName)), fileName)
			d, err := connect(t.Context(), path, "rw", []string{"journal_mode(delete)"})
			if err != nil {
				t.Fatal(err)
			}
			c.change(d, path)
			d.close()
			dir := tempDir(t)
			if _, err := Merge(t.Context(), dir, path, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v instead of %q", err, c.want)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("a journal was made")
			}
		})
	}
	if _, err := Merge(t.Context(), tempDir(t), filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a file that is not there was merged")
	}
}
