// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// forever ends a test that would otherwise wait for ever. Nothing is expected
// to take anything like it.
const forever = 2 * time.Minute

// line is one line of "carillon up -o json".
type line struct {
	Type    string  `json:"type"`
	Object  string  `json:"object"`
	Outcome string  `json:"outcome"`
	Reason  string  `json:"reason"`
	Message string  `json:"message"`
	Source  string  `json:"container"`
	Seconds float64 `json:"durationSeconds"`
}

// up is a running "carillon up".
type up struct {
	t       *testing.T
	dataDir string
	user    *syscall.Credential // who runs it; nil is oneself
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has been waited for

	mu     sync.Mutex
	news   chan struct{} // closed and replaced when there is something new
	lines  []line
	stdout bytes.Buffer
	stderr bytes.Buffer
}

// dataDir is a short path of this test alone: sockets live in it.
func newDataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ce2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("the test's directory cannot be removed: %v", err)
		}
	})
	return filepath.Join(dir, "data")
}

// startUp starts "carillon up" and returns at once. It is stopped, and what it
// left is looked at, when the test ends.
func startUp(t *testing.T, dataDir string, args ...string) *up {
	t.Helper()
	return startUpAs(t, nil, dataDir, args...)
}

// startUpAs does it as another user; nil is oneself.
func startUpAs(t *testing.T, user *syscall.Credential, dataDir string, args ...string) *up {
	t.Helper()
	return startUpWith(t, user, nil, dataDir, args...)
}

// startUpWith does it with more of an environment.
func startUpWith(t *testing.T, user *syscall.Credential, env []string, dataDir string, args ...string) *up {
	t.Helper()
	u := &up{t: t, dataDir: dataDir, user: user, ended: make(chan struct{}), news: make(chan struct{})}
	u.cmd = exec.Command(carillon, append([]string{"up", "--data-dir", dataDir, "-o", "json"}, args...)...)
	u.cmd.Env = append(environment(), env...)
	if user != nil {
		u.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
		u.cmd.Env = setEnv(u.cmd.Env, "HOME", filepath.Dir(dataDir))
		u.cmd.Dir = filepath.Dir(dataDir)
	}
	stdout, err := u.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := u.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { u.read(stdout) })
	readers.Go(func() { u.readErr(stderr) })
	go func() {
		readers.Wait()
		_ = u.cmd.Wait() // the exit code is in ProcessState
		close(u.ended)
		u.tell(func() {})
	}()
	t.Cleanup(func() {
		u.stop()
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.stderr.Len() > 0 {
			t.Errorf("what belongs in the log, or is an error, is on the terminal:\n%s", &u.stderr)
		}
		if t.Failed() {
			t.Logf("carillon up said:\n%s\n%s", tail(u.stdout.String()), tail(u.stderr.String()))
			t.Logf("log:\n%s", logOf(dataDir))
		}
	})
	return u
}

// startReady starts "carillon up" and waits until its node runs Pods.
func startReady(t *testing.T, dataDir string, args ...string) *up {
	t.Helper()
	u := startUp(t, dataDir, args...)
	u.wait("ready", func(l line) bool { return l.Type == "step" && l.Message == "ready" })
	return u
}

func (u *up) read(r io.Reader) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		text := scanner.Bytes()
		u.tell(func() {
			u.stdout.Write(text)
			u.stdout.WriteByte('\n')
			var l line
			if err := json.Unmarshal(text, &l); err != nil {
				u.t.Errorf("a line of -o json is not JSON: %q", text)
				return
			}
			u.lines = append(u.lines, l)
		})
	}
}

func (u *up) readErr(r io.Reader) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		u.tell(func() { u.stderr.WriteString(scanner.Text() + "\n") })
	}
}

// tell changes something under the lock and wakes who waits.
func (u *up) tell(change func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	change()
	close(u.news)
	u.news = make(chan struct{})
}

// wait returns the first line, of all since the start, that is as wanted.
func (u *up) wait(what string, wanted func(line) bool) line {
	u.t.Helper()
	deadline := time.After(forever)
	seen := 0
	for {
		u.mu.Lock()
		news, lines := u.news, u.lines
		u.mu.Unlock()
		for ; seen < len(lines); seen++ {
			if wanted(lines[seen]) {
				return lines[seen]
			}
		}
		select {
		case <-news:
		case <-u.ended:
			u.mu.Lock()
			all := len(u.lines) == seen
			u.mu.Unlock()
			if all {
				u.t.Fatalf("carillon up ended (%v) before %s", u.cmd.ProcessState, what)
			}
		case <-deadline:
			u.t.Fatalf("waited %v in vain for %s", forever, what)
		}
	}
}

// finished waits for the end of a Job and returns its line.
func (u *up) finished(job string) line {
	u.t.Helper()
	return u.wait("the end of job "+job, func(l line) bool {
		return l.Type == "finished" && l.Object == "job/default/"+job
	})
}

// outputs are the lines that containers of the named Pods (a prefix) wrote so
// far.
func (u *up) outputs(pod string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var found []string
	for _, l := range u.lines {
		if l.Type == "output" && strings.Contains(l.Object+" "+l.Source, pod) {
			found = append(found, l.Message)
		}
	}
	return found
}

func (u *up) signal(s os.Signal) {
	u.t.Helper()
	if err := u.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		u.t.Fatal(err)
	}
}

// kill ends the process as a power cut would, and waits until it is gone.
func (u *up) kill() {
	u.t.Helper()
	u.signal(syscall.SIGKILL)
	u.waitEnd()
}

// stop asks the process to end, and returns its exit code and how long it took.
func (u *up) stop() (code int, took time.Duration) {
	u.t.Helper()
	began := time.Now()
	select {
	case <-u.ended:
		return u.cmd.ProcessState.ExitCode(), 0
	default:
	}
	u.signal(syscall.SIGTERM)
	u.waitEnd()
	return u.cmd.ProcessState.ExitCode(), time.Since(began)
}

// promisedStop is how long a clean stop takes at most.
const promisedStop = 5 * time.Second

// wantCleanStop checks the promise that a stop is clean and quick. On a machine
// with much more to do than it has processors for, nothing can be promised.
func (u *up) wantCleanStop(code int, took time.Duration) {
	u.t.Helper()
	switch {
	case code == 0 && took <= promisedStop:
	case overloaded():
		u.t.Logf("stopped with exit code %d after %v on an overloaded machine", code, took)
	default:
		u.t.Errorf("stopped with exit code %d after %v", code, took)
	}
}

// overloaded tells whether twice as many threads want to run as can.
func overloaded() bool {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var load float64
	_, err = fmt.Sscan(string(data), &load)
	return err == nil && load > 2*float64(runtime.NumCPU())
}

func (u *up) waitEnd() {
	u.t.Helper()
	select {
	case <-u.ended:
	case <-time.After(forever):
		_ = u.cmd.Process.Kill()
		u.t.Fatalf("carillon up did not end within %v", forever)
	}
}

// result is what a command that ended said.
type result struct {
	code           int
	stdout, stderr string
}

// command runs the program to its end.
func command(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return commandAs(t, nil, stdin, args...)
}

// commandAs does it as another user; nil is oneself.
func commandAs(t *testing.T, user *syscall.Credential, stdin string, args ...string) result {
	t.Helper()
	return commandWith(t, user, nil, stdin, args...)
}

// commandWith does it with more of an environment.
func commandWith(t *testing.T, user *syscall.Credential, env []string, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), forever)
	defer cancel()
	cmd := exec.CommandContext(ctx, carillon, args...)
	cmd.Env = environment()
	if user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
		cmd.Env = setEnv(cmd.Env, "HOME", "/nonexistent")
		cmd.Dir = "/"
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("carillon %s: %v", strings.Join(args, " "), err)
	}
	if ctx.Err() != nil {
		t.Fatalf("carillon %s did not end within %v:\n%s\n%s", strings.Join(args, " "), forever, &stdout, &stderr)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// kubectl runs "carillon kubectl" against this Carillon and wants it to succeed.
func (u *up) kubectl(args ...string) string {
	u.t.Helper()
	got := u.tryKubectl("", args...)
	if got.code != 0 {
		u.t.Fatalf("kubectl %s: exit code %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

func (u *up) tryKubectl(stdin string, args ...string) result {
	u.t.Helper()
	return commandAs(u.t, u.user, stdin, append([]string{"kubectl", "--data-dir", u.dataDir}, args...)...)
}

// environment is that of the tests, without what points at another cluster.
func environment() []string {
	var env []string
	for _, each := range os.Environ() {
		if !strings.HasPrefix(each, "KUBECONFIG=") && !strings.HasPrefix(each, "CARILLON_") {
			env = append(env, each)
		}
	}
	return append(env, "NO_COLOR=1")
}

func logOf(dataDir string) string {
	var all strings.Builder
	_ = filepath.WalkDir(dataDir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".log") && !strings.Contains(path, "/node/logs/") && !entry.IsDir() {
			if data, _ := os.ReadFile(path); len(data) > 0 {
				all.WriteString(path + ":\n" + tail(string(data)))
			}
		}
		return nil
	})
	return all.String()
}

// tail is the end of a long text.
func tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}
