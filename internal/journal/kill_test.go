// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// writerEnv makes the test's binary a writer to be killed: "DIR FIRST".
const writerEnv = "CARILLON_TEST_JOURNAL_WRITER"

func TestMain(m *testing.M) {
	if arg := os.Getenv(writerEnv); arg != "" {
		writeUntilKilled(arg)
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled records runs and attempts from several goroutines, and says what was acknowledged, a line each.
func writeUntilKilled(arg string) {
	dir, number, _ := strings.Cut(arg, " ")
	var first int
	if _, err := fmt.Sscan(number, &first); err != nil {
		panic(err)
	}
	// Retention and the bounds of logs are at work, too.
	j, err := Open(dir, Options{KeepLogs: 64 << 20, KeepRuns: 1000 * 24 * time.Hour, Now: func() time.Time { return at(0) }})
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 10_000 {
				n := first + 4*i + g
				if err := j.Record(context.Background(), []run.Run{aRun(n, run.Succeeded)}, nil); err != nil {
					panic(err)
				}
				fmt.Printf("run %d\n", n)
				if err := j.RecordAttempt(context.Background(), anAttempt(n, n), strings.NewReader(killedLog(n))); err != nil {
					panic(err)
				}
				fmt.Printf("attempt %d\n", n)
			}
		})
	}
	all.Wait()
	panic("nobody killed it")
}

// killedLog is the log of an attempt: of each twentieth one with more chunks than one transaction has.
func killedLog(n int) string {
	if n%20 == 7 {
		return logText(25_000 + n%100)
	}
	return logText(n % 100)
}

// kills is how many times the writer is killed.
const kills = 200

// Nothing that was acknowledged is lost by kill -9, at whatever instant, and who reads next needs nobody to repair
// anything.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts and kills 200 processes")
	}
	dir := tempDir(t)
	random := rand.New(rand.NewPCG(20, 26))
	acknowledged := 0
	for i := range kills {
		first := i * 100_000
		runs, attempts := killedWriter(t, dir, first, random)
		acknowledged += len(runs) + len(attempts)
		r, err := OpenReader(dir)
		if err != nil {
			if len(runs) == 0 && i == 0 {
				continue // it was killed before there was a journal
			}
			t.Fatalf("kill %d: %v", i, err)
		}
		for _, n := range runs {
			want := aRun(n, run.Succeeded)
			got, err := r.Runs(t.Context(), Query{UID: want.UID})
			if len(got) == 1 && got[0].Attempts > 0 {
				var span run.Span
				a := anAttempt(n, n)
				span.Add(&a)
				want.Refine(span)
			}
			if err != nil || len(got) != 1 || got[0].Name != want.Name || !got[0].Ended.Equal(want.Ended) {
				t.Fatalf("kill %d: run %d is lost: %v %v", i, n, got, err)
			}
		}
		for _, n := range attempts {
			got, err := r.Attempts(t.Context(), uid(n))
			if err != nil || len(got) != 1 || got[0].ContainerID != anAttempt(n, n).ContainerID {
				t.Fatalf("kill %d: attempt %d is lost: %v %v", i, n, got, err)
			}
			if want := killedLog(n); want != "" && n == attempts[len(attempts)-1] && readLog(t, r, got[0].ContainerID) != want {
				t.Fatalf("kill %d: log %d is another one", i, n)
			}
		}
		r.Close()
		if i%20 == 0 {
			sound(t, dir)
		}
	}
	sound(t, dir)
	if acknowledged < 10*kills {
		t.Errorf("only %d writes were acknowledged: they were killed too early to tell anything", acknowledged)
	}
	t.Logf("%d kills, %d acknowledged writes", kills, acknowledged)
}

// killedWriter starts a writer, kills it at some instant, and gives what it had acknowledged.
func killedWriter(t *testing.T, dir string, first int, random *rand.Rand) (runs, attempts []int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", writerEnv, dir, first))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// After so many lines, and then a little later: in the middle of whatever it does then.
	after, later := random.IntN(80), time.Duration(random.IntN(5000))*time.Microsecond
	kill := func() { time.AfterFunc(later, func() { _ = cmd.Process.Kill() }) }
	if after == 0 {
		kill()
	}
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		var what string
		var number int
		if _, err := fmt.Sscan(lines.Text(), &what, &number); err != nil {
			t.Errorf("it said %q", lines.Text())
			continue
		}
		if what == "run" {
			runs = append(runs, number)
		} else {
			attempts = append(attempts, number)
		}
		if n == after {
			kill()
		}
	}
	_ = cmd.Wait() // it was killed
	if stderr.Len() > 0 {
		t.Fatal(stderr.String())
	}
	return runs, attempts
}
