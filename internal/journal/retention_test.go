// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// quiet are limits under which retention goes only when it is called.
func quiet() *limits {
	l := defaultLimits()
	l.after = func(time.Duration) <-chan time.Time { return nil }
	return &l
}

// tidied opens a journal, takes all steps of retention, and closes it. It returns how many steps there were.
func tidied(t testing.TB, dir string, o Options) (steps int) {
	t.Helper()
	if o.Now == nil {
		o.Now = func() time.Time { return at(0) }
	}
	if o.Warn == nil {
		o.Warn = func(s string) { t.Error(s) }
	}
	l := defaultLimits()
	if o.limits != nil {
		l = *o.limits
	}
	l.steady = 0 // nobody doubts the clock
	w, err := newWriter(dir, o, l)
	if err != nil {
		t.Fatal(err)
	}
	for w.beginTidying(); w.tidying; steps++ {
		w.tidy()
		if steps > 100_000 {
			t.Fatal("it does not end")
		}
	}
	if w.state.down {
		t.Error(w.state.why)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	return steps
}

// noise is a log that does not become smaller: one chunk takes about 200 KB.
func noise(r *rand.Rand, lines int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	var b strings.Builder
	for range lines {
		b.WriteString("2026-11-02T03:00:00Z stdout F ")
		for range 100 {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestKeepRuns(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1, limits: quiet()})
	noEnd := aRun(4, run.Unknown)
	noEnd.Ended = time.Time{}
	omission := func(n int) run.Omission {
		return run.Omission{Namespace: "default", Owner: owner(n), ScheduledTime: at(n), Count: 1, Seen: at(n)}
	}
	if err := j.Record(t.Context(),
		[]run.Run{aRun(1, run.Succeeded), aRun(2, run.Failed), aRun(3, run.Active), noEnd, aRun(99, run.Cancelled)},
		[]run.Omission{omission(5), omission(98)}); err != nil {
		t.Fatal(err)
	}
	recordAttempt(t, j, anAttempt(1, 1), logText(10_000))
	recordAttempt(t, j, anAttempt(99, 99), "x")
	recordAttempt(t, j, anAttempt(7, 7), "of a run that nobody knows")
	j.Close()

	tidied(t, dir, Options{KeepLogs: -1, KeepRuns: time.Hour, Now: func() time.Time { return at(100) }})
	r := read(t, dir)
	if got := names(runs(t, r, Query{})); got != "nightly-9-99 nightly-3-3" {
		t.Error("left are", got)
	}
	omissions, err := r.Omissions(t.Context(), Query{})
	if err != nil || len(omissions) != 1 || !omissions[0].ScheduledTime.Equal(at(98)) {
		t.Error(omissions, err)
	}
	for n, want := range map[int]error{1: fs.ErrNotExist, 7: fs.ErrNotExist, 99: nil} {
		if _, err := r.Log(t.Context(), anAttempt(n, n).ContainerID); !errors.Is(err, want) {
			t.Errorf("log %d: %v instead of %v", n, err, want)
		}
	}
	if extent, err := r.Extent(t.Context()); err != nil || extent.Attempts != 1 {
		t.Errorf("%+v %v", extent, err)
	}
	// Nothing is left of the owners of which nothing is left.
	usual, err := r.Usual(t.Context(), []types.UID{owner(1).UID})
	if err != nil || len(usual) != 0 {
		t.Error(usual, err)
	}
	var series int
	if err := r.o.db.QueryRow("SELECT count(*) FROM series").Scan(&series); err != nil || series != 3 {
		t.Error("series:", series, err)
	}
}

func TestKeepLogs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const keep = 8 << 20
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: keep, limits: quiet()})
	var texts []string
	for n := range 40 {
		texts = append(texts, noise(random, 4000)) // about 400 KB as it is kept
		record(t, j, aRun(n, run.Failed))
		a := anAttempt(n, n)
		a.Ended = at(n)
		recordAttempt(t, j, a, texts[n])
	}
	j.Close()
	tidied(t, dir, Options{KeepLogs: keep})
	r := read(t, dir)
	extent, err := r.Extent(t.Context())
	if err != nil || extent.LogBytes > keep || extent.LogBytes < keep*7/8 {
		t.Errorf("logs take %d bytes of %d, %v", extent.LogBytes, keep, err)
	}
	if extent.Runs != 40 || extent.Attempts != 40 {
		t.Errorf("runs went with their logs: %+v", extent)
	}
	if extent.DiskBytes > keep*3/2 {
		t.Errorf("the disk has %d bytes back too few: %d", extent.DiskBytes-keep, extent.DiskBytes)
	}
	whole, part, none := 0, 0, 0
	for n := range texts {
		l, err := r.Log(t.Context(), anAttempt(n, n).ContainerID)
		if errors.Is(err, fs.ErrNotExist) {
			none++
			if whole+part > 0 {
				t.Error("a younger log went before an older one")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		switch got := readLog(t, r, anAttempt(n, n).ContainerID); {
		case got == texts[n]:
			whole++
		case strings.Contains(got, "[carillon: the first") && strings.HasSuffix(texts[n], got[strings.IndexByte(got, '\n')+1:]):
			part++
		default:
			t.Errorf("log %d is another one: %.200q", n, got)
		}
	}
	if whole == 0 || part > 1 || none == 0 {
		t.Error(whole, part, none)
	}
	attempts, err := r.Attempts(t.Context(), uid(0))
	if err != nil || len(attempts) != 1 || attempts[0].KeptBytes != 0 {
		t.Error(attempts, err)
	}

	r.Close()
	tidied(t, dir, Options{KeepLogs: 0})
	if extent, err := read(t, dir).Extent(t.Context()); err != nil || extent.LogBytes != 0 || extent.DiskBytes > 3<<20 {
		t.Errorf("with none to keep: %+v %v", extent, err)
	}
}

// One log takes at most an eighth; its end is kept, and the first line says what is missing.
func TestALargeLog(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	text := noise(random, 60_000)
	for scenario, c := range map[string]struct {
		keep int64
		most int64
	}{
		"some of many chunks":  {8 << 20, 1 << 20},
		"a part of one chunk":  {1 << 20, 128 << 10},
		"hardly anything":      {40_000, 5000},
		"all, without a bound": {-1, 1 << 30},
	} {
		t.Run(scenario, func(t *testing.T) {
			dir := tempDir(t)
			j := open(t, dir, Options{KeepLogs: c.keep, limits: quiet()})
			recordAttempt(t, j, anAttempt(1, 1), text)
			r := read(t, dir)
			extent, err := r.Extent(t.Context())
			if err != nil || extent.LogBytes > c.most {
				t.Errorf("it takes %d bytes of %d, %v", extent.LogBytes, c.most, err)
			}
			got := readLog(t, r, anAttempt(1, 1).ContainerID)
			if c.keep < 0 {
				if got != text {
					t.Error("it is another one")
				}
				return
			}
			first, rest, _ := strings.Cut(got, "\n")
			if !strings.HasPrefix(first, "2026-11-02T03:00:00Z stderr F [carillon: the first ") || !strings.HasSuffix(text, "\n"+rest) {
				t.Errorf("%.100q %.100q", first, rest)
			}
			if int64(len(rest)) < c.most/3 {
				t.Errorf("only %d bytes are kept, of %d", len(rest), c.most)
			}
			if kept, err := r.Attempts(t.Context(), uid(1)); err != nil || len(kept) != 1 || kept[0].KeptBytes != int64(len(rest)) {
				t.Error(kept, err, len(rest))
			}
			tail, err := r.Tail(t.Context(), anAttempt(1, 1).ContainerID, 3)
			if err != nil || strings.Count(string(tail), "\n") != 3 || !strings.HasSuffix(text, string(tail)) {
				t.Errorf("%q %v", tail, err)
			}
		})
	}
}

// What is written of a log whose reader fails is given up.
func TestALogThatCannotBeRead(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1, limits: quiet()})
	broken := errors.New("broken")
	if err := j.RecordAttempt(t.Context(), anAttempt(1, 1), &failingReader{rest: strings.NewReader(logText(100_000)), err: broken}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if extent, err := read(t, dir).Extent(t.Context()); err != nil || extent.Attempts != 0 || extent.LogBytes == 0 {
		t.Fatalf("the test is too small: %+v %v", extent, err)
	}
	j.Close()
	tidied(t, dir, Options{KeepLogs: -1})
	if extent, err := read(t, dir).Extent(t.Context()); err != nil || extent.LogBytes != 0 {
		t.Errorf("%+v %v", extent, err)
	}
}

type failingReader struct {
	rest *strings.Reader
	err  error
}

func (r *failingReader) Read(p []byte) (int, error) {
	n, _ := r.rest.Read(p)
	if n == 0 {
		return 0, r.err
	}
	return n, nil
}

// Runs without logs are bounded, too. The oldest go first, active ones stay, and the user is told once.
func TestTooManyRecords(t *testing.T) {
	dir := tempDir(t)
	j := open(t, dir, Options{KeepLogs: -1, limits: quiet()})
	all := []run.Run{aRun(0, run.Active)}
	var omissions []run.Omission
	for n := 1; n <= 10_000; n++ {
		all = append(all, aRun(n, run.Succeeded))
		omissions = append(omissions, run.Omission{Namespace: "default", Owner: owner(n % 10), ScheduledTime: at(n), Count: 1, Seen: at(n)})
	}
	if err := j.Record(t.Context(), all, omissions); err != nil {
		t.Fatal(err)
	}
	j.Close()
	var told warnings
	l := quiet()
	l.records = 1 << 20
	tidied(t, dir, Options{KeepLogs: -1, limits: l, Warn: told.add})
	r := read(t, dir)
	left := runs(t, r, Query{})
	extent, err := r.Extent(t.Context())
	if err != nil || extent.DiskBytes > 3<<20 || extent.Runs < 1000 || extent.Omissions < 1000 {
		t.Errorf("%+v %v", extent, err)
	}
	if left[0].UID != uid(10_000) || left[len(left)-1].UID != uid(0) || left[len(left)-2].UID != uid(10_002-len(left)) {
		t.Error("others went than the oldest:", left[0].Name, left[len(left)-2].Name, left[len(left)-1].Name, len(left))
	}
	if got := told.String(); strings.Count(got, "\n") != 0 || !strings.Contains(got, "the oldest go") {
		t.Error(got)
	}
}
