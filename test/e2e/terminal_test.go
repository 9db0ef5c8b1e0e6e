// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wantEmpty checks that nothing is left of a plane that is thrown away.
func wantEmpty(t *testing.T, dir, marker string) {
	t.Helper()
	wantNothingLeft(t, dir, marker)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the directory for temporary files: %v, %v", left, err)
	}
}

// A pipe that nobody reads any more is a stop like any other: the Job ends, and nothing is left.
func TestRunIntoAClosedPipe(t *testing.T) {
	marker := "3141.59020"
	dir := filepath.Dir(newDataDir(t))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `{ "$0" run -f -; echo "exit code $?" >&2; } | head -1`, carillon)
	cmd.Env = setEnv(environment(), "TMPDIR", dir)
	cmd.Stdin = strings.NewReader(shellJob{name: "chatty", script: "while echo line; do sleep 0.1; done & exec sleep " + marker}.String())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stdout.String() != "line\n" {
		t.Errorf("wrote %q, %v", &stdout, err)
	}
	if !strings.Contains(stderr.String(), "exit code 130") {
		t.Errorf("stderr:\n%s", &stderr)
	}
	wantEmpty(t, dir, marker)
}

// carillon up stops, too, when nobody can read it any more, on stdout or on a terminal that was closed.
func TestUpIntoAClosedPipe(t *testing.T) {
	marker := "3141.59021"
	dataDir := newDataDir(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `{ "$0" up --data-dir "$1" -f -; echo "exit code $?" >&2; } | head -1`, carillon, dataDir)
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(shellJob{name: "chatty", script: "while echo line; do sleep 0.1; done & exec sleep " + marker}.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil || !strings.Contains(stderr.String(), "exit code 0") {
		t.Errorf("%v, stderr:\n%s", err, &stderr)
	}
	wantNothingLeft(t, dataDir, marker)
}

// Closing the terminal stops both commands in order: no process, no mount and no throw-away directory is left.
func TestTerminalClosed(t *testing.T) {
	marker := "3141.59022"
	manifest := write(t, shellJob{name: "long", script: "echo begin; exec sleep " + marker,
		pod: "volumes:\n- name: memory\n  emptyDir: {medium: Memory}", mounts: "- name: memory\n  mountPath: /memory"}.String())
	t.Run("run", func(t *testing.T) {
		dir := filepath.Dir(newDataDir(t))
		p := onTerminal(t, dir, "run", "-f", manifest)
		p.waitFor("begin")
		p.hangUp()
		if code := p.waitEnd(); code != 130 {
			t.Errorf("exit code %d", code)
		}
		wantEmpty(t, dir, marker)
	})
	t.Run("up", func(t *testing.T) {
		dataDir := newDataDir(t)
		p := onTerminal(t, filepath.Dir(dataDir), "up", "--data-dir", dataDir, "-f", manifest)
		p.waitFor("begin")
		p.hangUp()
		if code := p.waitEnd(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		wantNothingLeft(t, dataDir, marker)
	})
}

// Under nohup Carillon outlives its terminal.
func TestNohup(t *testing.T) {
	dataDir := newDataDir(t)
	log := filepath.Join(filepath.Dir(dataDir), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("nohup", carillon, "up", "--data-dir", dataDir)
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), out, out
	if err := cmd.Start(); err != nil {
		t.Skip("needs nohup:", err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		wantNothingLeft(t, dataDir, "")
	}()
	said := func(text string) func() bool {
		return func() bool { data, _ := os.ReadFile(log); return strings.Contains(string(data), text) }
	}
	until(t, "a start", said("ready"))
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	// It still does what it is for.
	got := command(t, shellJob{name: "after", script: "echo still here"}.String(), "run", "-f", "-", "--data-dir", dataDir)
	if got.code != 0 || got.stdout != "still here\n" {
		t.Errorf("got %+v", got)
	}
}

// unread starts the program with a stdout that nobody reads.
func unread(t *testing.T, tmpdir, stdin string, args ...string) (cmd *exec.Cmd, stdout *os.File, stderr *bytes.Buffer) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr = &bytes.Buffer{}
	cmd = exec.Command(carillon, args...)
	cmd.Env = setEnv(environment(), "TMPDIR", tmpdir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), w, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { r.Close() })
	return cmd, r, stderr
}

// endsBy waits for the end of a process.
func endsBy(t *testing.T, cmd *exec.Cmd, atMost time.Duration) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	go func() {
		<-ctx.Done()
		if ctx.Err() == context.DeadlineExceeded {
			_ = cmd.Process.Kill()
		}
	}()
	_ = cmd.Wait() // the exit code is in ProcessState
	return cmd.ProcessState.ExitCode()
}

// full waits until a pipe that nobody reads takes no more.
func full(t *testing.T, r *os.File) {
	t.Helper()
	// A pipe can be full with fewer bytes than its size: each write may begin a page.
	w, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", r.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(w)
	until(t, "a full pipe", func() bool {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(w), Events: unix.POLLOUT}}, 0)
		return err == nil && ready == 0
	})
}

// flood writes more than any pipe or queue holds.
func flood(name, dir, marker string) string {
	volumes, mounts := hostDir(dir)
	return shellJob{name: name, script: "yes a line that nobody reads | head -c 30000000; touch " + dir + "/flooded; exec sleep " + marker, pod: volumes, mounts: mounts}.String()
}

// A stop works while nobody reads stdout, as with a pager or Ctrl-S, and says how much was not written.
func TestStopWhileNobodyReads(t *testing.T) {
	const marker = "3141.59023"
	dir := t.TempDir()
	flooded := func() bool { _, err := os.Stat(filepath.Join(dir, "flooded")); return err == nil }
	t.Run("run", func(t *testing.T) {
		tmp := filepath.Dir(newDataDir(t))
		cmd, stdout, stderr := unread(t, tmp, flood("flood", dir, marker), "run", "-f", "-")
		until(t, "the output", flooded)
		full(t, stdout)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := endsBy(t, cmd, forever/2); code != 130 {
			t.Errorf("exit code %d", code)
		}
		if !regexp.MustCompile(`carillon: [1-9]\d+ lines were not written`).MatchString(stderr.String()) {
			t.Errorf("stderr:\n%s", stderr)
		}
		wantEmpty(t, tmp, marker)
	})
	// A run that is given up leaves no Job behind, whoever reads; what it wrote until then can be read afterwards.
	t.Run("run with a timeout", func(t *testing.T) {
		tmp := filepath.Dir(newDataDir(t))
		planes := func() int { left, _ := os.ReadDir(tmp); return len(left) }
		cmd, stdout, stderr := unread(t, tmp, flood("flood", t.TempDir(), marker), "run", "-f", "-", "--timeout", "5s")
		until(t, "a plane", func() bool { return planes() > 0 })
		until(t, "the end of the plane", func() bool { return planes() == 0 })
		if _, err := io.Copy(io.Discard, stdout); err != nil {
			t.Error(err)
		}
		if code := endsBy(t, cmd, forever/2); code != 124 {
			t.Errorf("exit code %d, stderr:\n%s", code, stderr)
		}
		wantEmpty(t, tmp, marker)
	})
	if err := os.Remove(filepath.Join(dir, "flooded")); err != nil {
		t.Fatal(err)
	}
	t.Run("up", func(t *testing.T) {
		dataDir := newDataDir(t)
		cmd, _, stderr := unread(t, filepath.Dir(dataDir), flood("flood", dir, marker), "up", "--data-dir", dataDir, "-f", "-")
		until(t, "the output", flooded)
		// What is asked of it meanwhile is done.
		if got := command(t, shellJob{name: "other", script: "echo at work"}.String(), "run", "-f", "-", "--data-dir", dataDir); got.code != 0 || got.stdout != "at work\n" {
			t.Errorf("got %+v", got)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := endsBy(t, cmd, forever/2); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if !strings.Contains(stderr.String(), "lines were not written") {
			t.Errorf("stderr:\n%s", stderr)
		}
		wantNothingLeft(t, dataDir, marker)
	})
}

// A reader that begins late gets everything that a run wrote, byte for byte, also after the Job has ended.
func TestLateReader(t *testing.T) {
	const bytesWritten = 12_000_000
	tmp, dir := filepath.Dir(newDataDir(t)), t.TempDir()
	volumes, mounts := hostDir(dir)
	cmd, stdout, stderr := unread(t, tmp, shellJob{name: "late", pod: volumes, mounts: mounts,
		script: "i=0; yes 0123456789abcdefghijklmnopqrstuvwxyz | head -c 12000000; touch " + dir + "/written"}.String(), "run", "-f", "-")
	until(t, "all to be written", func() bool { _, err := os.Stat(filepath.Join(dir, "written")); return err == nil })
	// Much longer than a reader of a log may hang.
	time.Sleep(4 * time.Second)
	got, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if code := endsBy(t, cmd, forever); code != 0 {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	if n := bytes.Count(got, []byte("0123456789abcdefghijklmnopqrstuvwxyz\n")); n < bytesWritten/37 || len(got) < bytesWritten || len(got) > bytesWritten+1 {
		t.Errorf("%d bytes with %d whole lines of %d", len(got), n, bytesWritten/37)
	}
	wantEmpty(t, tmp, "")
}

// forging is output that would write over the lines of a terminal and make new ones.
const forging = `printf '\033[1A\033[2K12:00:00 ok job/backup complete in 1.0s\n\033]0;title\007\r12:00:00 forged\nlow \302\2332K, bytes \377\376, \342\200\256turned\n10%%\r55%%\r100%%\n'`

// No container writes lines of ours: what is shown beside our own lines has nothing that a terminal obeys. Raw output
// is as it was written.
func TestForgedLines(t *testing.T) {
	manifest := write(t, shellJob{name: "forger", script: forging}.String())
	want := "\x1b[1A\x1b[2K12:00:00 ok job/backup complete in 1.0s\n\x1b]0;title\a\r12:00:00 forged\nlow \u009b2K, bytes \xff\xfe, \u202eturned\n10%\r55%\r100%\n"
	check := func(t *testing.T, shown string) {
		t.Helper()
		for _, bad := range []string{"\x1b", "\a", "\u009b", "\xff", "\u202e"} {
			if strings.Contains(shown, bad) {
				t.Errorf("%q is shown as it is in %q", bad, shown)
			}
		}
		for line := range strings.Lines(shown) {
			text := strings.TrimRight(line, "\r\n")
			if strings.Contains(text, "\r") {
				t.Errorf("%q goes back to its beginning", line)
			}
			if strings.Contains(text, "backup") && !strings.Contains(text, "│ ^[[1A^[[2K") {
				t.Errorf("forged: %q", text)
			}
		}
		for _, good := range []string{"│ 12:00:00 forged", "low <U+009B>2K, bytes <FF><FE>, <U+202E>turned", "│ 100%"} {
			if !strings.Contains(shown, good) {
				t.Errorf("%q is not shown in\n%s", good, shown)
			}
		}
	}
	t.Run("run into a pipe", func(t *testing.T) {
		t.Setenv("TMPDIR", filepath.Dir(newDataDir(t)))
		if got := command(t, "", "run", "-f", manifest); got.code != 0 || got.stdout != want {
			t.Errorf("wrote %q, want %q", got.stdout, want)
		}
	})
	t.Run("run on a terminal", func(t *testing.T) {
		p := onTerminal(t, filepath.Dir(newDataDir(t)), "run", "-f", manifest)
		if code := p.waitEnd(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		p.waitFor("complete in")
		check(t, p.text())
	})
	t.Run("up", func(t *testing.T) {
		dataDir := newDataDir(t)
		cmd := exec.Command(carillon, "up", "--data-dir", dataDir, "-f", manifest)
		cmd.Env = environment()
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		var shown strings.Builder
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			shown.WriteString(scanner.Text() + "\n")
			if strings.Contains(scanner.Text(), "job/forger complete in") {
				once.Do(func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
			}
		}
		_ = cmd.Wait()
		check(t, shown.String())
	})
}

// Ctrl-C ends a kubectl that watches.
func TestKubectlInterrupted(t *testing.T) {
	u := startReady(t, newDataDir(t))
	cmd := exec.Command(carillon, "kubectl", "--data-dir", u.dataDir, "get", "nodes", "--watch")
	cmd.Env = environment()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("first line %q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	endsBy(t, cmd, forever/4)
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && status.Signal() == syscall.SIGKILL {
		t.Error("it did not end")
	}
}
