// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// content is all that a reader tells, or the error that it ends with.
func content(t *testing.T, dir string) (string, error) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		return "", err
	}
	defer r.Close()
	var b strings.Builder
	all, err := r.Runs(t.Context(), Query{})
	if err != nil {
		return "", err
	}
	for i := range all {
		exit := all[i].ExitCode
		all[i].ExitCode = nil
		fmt.Fprintf(&b, "%+v %v\n", all[i], exit != nil)
		attempts, err := r.Attempts(t.Context(), all[i].UID)
		if err != nil {
			return "", err
		}
		for _, a := range attempts {
			log, err := r.Tail(t.Context(), a.ContainerID, 1_000_000)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%+v %s\n", a, log)
		}
	}
	omissions, err := r.Omissions(t.Context(), Query{})
	fmt.Fprintf(&b, "%+v\n", omissions)
	return b.String(), err
}

// Whatever is done to the file, opening it gives a journal that can be written to, and what is missing is told: by a
// warning of who writes, or by an error of who reads. A flipped bit may also be in a text, which nobody can know.
func TestDamage(t *testing.T) {
	template := tempDir(t)
	j := open(t, template, Options{KeepLogs: -1, limits: quiet()})
	var all []run.Run
	var omissions []run.Omission
	for n := 1; n <= 200; n++ {
		all = append(all, aRun(n, run.Succeeded))
		omissions = append(omissions, run.Omission{Namespace: "default", Owner: owner(n % 10), ScheduledTime: at(n), Count: 1, Seen: at(n)})
	}
	if err := j.Record(t.Context(), all, omissions); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 200; n++ {
		recordAttempt(t, j, anAttempt(n, n), logText(n*5))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := content(t, template)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(template, fileName))
	if err != nil {
		t.Fatal(err)
	}
	warned, refused, unharmed := 0, 0, 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 14))
		damaged := append([]byte(nil), data...)
		kind, closed := "", random.IntN(2) == 0
		switch random.IntN(3) {
		case 0:
			at := random.IntN(len(damaged))
			kind, damaged = fmt.Sprintf("cut off at %d", at), damaged[:at]
		case 1:
			at := random.IntN(len(damaged))
			n := 1 + random.IntN(3*4096)
			kind = fmt.Sprintf("%d zeros at %d", n, at)
			clear(damaged[at:min(len(damaged), at+n)])
		case 2:
			at, bit := random.IntN(len(damaged)), random.IntN(8)
			if random.IntN(4) == 0 {
				at = random.IntN(100) // the header
			}
			kind = fmt.Sprintf("bit %d of byte %d flipped", bit, at)
			damaged[at] ^= 1 << bit
		}
		t.Run(fmt.Sprintf("%d %s closed %v", seed, kind, closed), func(t *testing.T) {
			dir := tempDir(t)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, fileName)
			if !closed {
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				d, err := connect(t.Context(), path, "rw", []string{"journal_mode(delete)"})
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(d.setClean(false), d.close()); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _ = content(t, dir) // who reads it does not panic, either
			var told warnings
			j, err := Open(dir, Options{KeepLogs: -1, Warn: told.add, limits: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			<-j.inspected
			if err := j.Record(t.Context(), []run.Run{aRun(999, run.Active)}, nil); err != nil {
				t.Error(err)
			}
			if err := j.RecordAttempt(t.Context(), anAttempt(999, 999), strings.NewReader(logText(5))); err != nil {
				t.Error(err)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
			got, err := content(t, dir)
			switch {
			case told.String() != "":
				warned++
				name := told.String()[strings.Index(told.String(), dir):]
				name, _, _ = strings.Cut(name, ",")
				if _, serr := os.Stat(name); serr != nil || err != nil || strings.Count(told.String(), "\n") > 0 {
					t.Error(told.String(), serr, err)
				}
			case err != nil:
				refused++
			default:
				unharmed++
				// The new run is the first, and has an attempt and a log.
				_, rest, _ := strings.Cut(got, "Name:nightly-8-198")
				_, want, _ := strings.Cut(whole, "Name:nightly-8-198")
				if rest != want && !strings.Contains(kind, "flipped") {
					t.Error("something is missing, and nobody said so:", cmp.Diff(want, rest))
				}
			}
		})
	}
	t.Logf("%d warnings, %d errors, %d unharmed", warned, refused, unharmed)
}

// A few damaged files are kept, the last ones.
func TestDamagedFilesAreBounded(t *testing.T) {
	dir := tempDir(t)
	var c clock
	var told warnings
	for range 6 {
		c.advance(1000)
		j := open(t, dir, Options{Now: c.Now, Warn: told.add, limits: quiet()})
		record(t, j, aRun(1, run.Active))
		j.Close()
		if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := filepath.Glob(filepath.Join(dir, damagedPrefix+"*"))
	if err != nil || len(entries) != keptDamaged {
		t.Error(entries, err)
	}
	if n := strings.Count(told.String(), "was damaged"); n != 5 {
		t.Error(n, told.String())
	}
}

// A database that is damaged while it is written to is set aside, and what is recorded is in the new one.
func TestDamageWhileItRuns(t *testing.T) {
	dir := tempDir(t)
	var told warnings
	j := open(t, dir, Options{KeepLogs: -1, Warn: told.add, limits: quiet()})
	for n := range 300 {
		record(t, j, aRun(n, run.Succeeded))
	}
	before := read(t, dir)
	j.Close()
	j = open(t, dir, Options{KeepLogs: -1, Warn: told.add, limits: quiet()})
	<-j.inspected
	data, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	clear(data[4096:])
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data[4096:], 4096); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for n := 1000; n < 1010; n++ {
		record(t, j, aRun(n, run.Succeeded))
	}
	if got := told.String(); strings.Count(got, "was damaged") != 1 {
		t.Error(got)
	}
	// Who has the old one open goes on with the new one.
	if got := runs(t, before, Query{UID: uid(1009)}); len(got) != 1 {
		t.Error(got)
	}
}

// makeLater makes a journal one of version 7, and closes it.
func makeLater(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.do(t.Context(), func(d *database) error {
		_, err := d.exec("UPDATE meta SET value = 7 WHERE name = 'version'")
		if err == nil {
			_, err = d.exec("PRAGMA user_version = 7")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// A later version's journal is neither read nor written, nor set aside.
func TestLaterVersion(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{limits: quiet()})
	makeLater(t, j)
	var later *LaterVersionError
	if _, err := Open(dir, Options{}); !errors.As(err, &later) || later.Version != 7 {
		t.Error(err)
	}
	if _, err := OpenReader(dir); !errors.As(err, &later) {
		t.Error(err)
	}
	if _, err := Freeze(t.Context(), dir); !errors.As(err, &later) {
		t.Error(err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, damagedPrefix+"*"))
	if err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

// Who removes the file, or puts another in its place, loses what was in it, and nothing that is recorded later.
func TestFileIsRemovedWhileItRuns(t *testing.T) {
	other := tempDir(t)
	k := open(t, other, Options{KeepLogs: -1, limits: quiet()})
	record(t, k, aRun(7, run.Succeeded))
	k.Close()
	for scenario, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"removed":  {os.Remove, "nightly-2-2"},
		"replaced": {func(path string) error { return os.Rename(filepath.Join(other, fileName), path) }, "nightly-7-7 nightly-2-2"},
	} {
		t.Run(scenario, func(t *testing.T) {
			dir := tempDir(t)
			var told warnings
			j := open(t, dir, Options{KeepLogs: -1, Warn: told.add, limits: quiet()})
			<-j.inspected
			record(t, j, aRun(1, run.Succeeded))
			if err := c.change(filepath.Join(dir, fileName)); err != nil {
				t.Fatal(err)
			}
			record(t, j, aRun(2, run.Succeeded))
			if err := j.Close(); err != nil {
				t.Error(err)
			}
			if got := names(runs(t, read(t, dir), Query{})); got != c.want {
				t.Errorf("%q instead of %q", got, c.want)
			}
			if got := told.String(); strings.Count(got, "was removed or replaced") != 1 {
				t.Error(got)
			}
			sound(t, dir)
		})
	}
}
