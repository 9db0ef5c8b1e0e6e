// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// command is something to run in the container: its own command or an exec.
type command struct {
	args           []string
	env            []string
	dir            string
	stdio          [3]*os.File
	tty            bool // stdio[0] is a terminal to control
	killWithParent bool // kill it when this process dies: it is not init of a PID namespace

	before func() error // the last thing before the command is executed; its error prevents that
}

// process is a command that runs.
type process struct {
	pid     int
	started time.Time
	done    <-chan unix.WaitStatus
}

// rights are what the commands of the container may do.
type rights struct {
	user         *User
	keep         []int // capabilities of the bounding set
	limit        bool
	ambient      []int
	clearAmbient bool
	noNewPrivs   bool
	seccomp      []byte
	oomScoreAdj  *int
}

func (s *Spec) rights() rights {
	return rights{
		user: s.User, keep: s.Bounding, limit: s.LimitCaps, ambient: s.Ambient,
		clearAmbient: s.ClearAmbient, noNewPrivs: s.NoNewPrivs, seccomp: s.Seccomp, oomScoreAdj: s.OOMScoreAdj,
	}
}

// startError says why a command could not be started, and with which code the
// container ends: 127 not found, 126 found but not to be executed, else 128.
type startError struct {
	code int
	msg  string
}

func (e *startError) Error() string { return e.msg }

// ExitCode is the exit code that stands for an error of a start: 127 and 126 as
// in a shell when the command was not found or may not be executed.
func ExitCode(err error) int {
	var se *startError
	if errors.As(err, &se) {
		return se.code
	}
	return 128
}

// launch starts c. The bounding set, which a thread passes on to its children,
// is set on a thread made for this one fork, which ends with the command: a
// process that should die with us is killed when the thread that made it ends.
func (s *shim) launch(c command) (process, error) {
	dir := c.dir
	if dir == "" {
		dir = "/"
	}
	if err := checkDir(dir); err != nil {
		return process{}, err
	}
	path, err := lookPath(c.args[0], dir, c.env, s.spec.Root == RootImage)
	if err != nil {
		return process{}, err
	}
	type result struct {
		proc process
		err  error
	}
	ch := make(chan result, 1)
	go func() {
		if c.before != nil {
			if err := c.before(); err != nil {
				ch <- result{err: err}
				return
			}
		}
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		s.prepareThread()
		pid, done, err := s.children.start(func() (int, error) { return s.fork(path, dir, c) })
		if err != nil {
			ch <- result{err: explain(err, path, dir, c.args[0])}
			return
		}
		out := make(chan unix.WaitStatus, 1)
		ch <- result{proc: process{pid: pid, started: time.Now(), done: out}}
		ws := <-done
		out <- ws
	}()
	r := <-ch
	return r.proc, r.err
}

// prepareThread gives the calling thread what the command is to inherit.
func (s *shim) prepareThread() {
	if !s.rights.limit {
		return
	}
	for c := 0; c <= LastCap(); c++ {
		if !slices.Contains(s.rights.keep, c) {
			// Fails only where we lack CAP_SETPCAP, and then there is nothing
			// that could be taken away.
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		}
	}
}

// fork starts the command from the prepared thread.
func (s *shim) fork(path, dir string, c command) (int, error) {
	args, err := s.newChildArgs(path, dir, c)
	if err != nil {
		return 0, err
	}
	restore := setOOMScore(s.rights.oomScoreAdj)
	defer restore()
	pid, err := args.forkExec()
	var failed *forkError
	if err != nil && !errors.As(err, &failed) && args.cgroup >= 0 {
		// There was no process. If it is because of the cgroup, the container
		// runs without its limits rather than not at all.
		args.cgroup = -1
		pid, err = args.forkExec()
	}
	return pid, err
}

// setOOMScore lets the next child inherit an OOM score and returns how to take
// it back: the shim itself should outlive its container.
func setOOMScore(adj *int) func() {
	const file = "/proc/self/oom_score_adj"
	if adj == nil {
		return func() {}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		return func() {}
	}
	// Lowering needs rights; then the score stays as it is.
	_ = os.WriteFile(file, []byte(strconv.Itoa(*adj)), 0)
	return func() { _ = os.WriteFile(file, before, 0) }
}

// explain turns the bare error number of a failed start into what went wrong.
func explain(err error, path, dir, name string) error {
	var se *startError
	var failed *forkError
	switch {
	case errors.As(err, &se):
		return err
	case errors.As(err, &failed) && failed.step == stepSeccomp:
		return &startError{128, fmt.Sprintf("exec %q: %v: this kernel has no seccomp filters, or refuses this one; securityContext.seccompProfile type Unconfined runs the container without", path, err)}
	case errors.As(err, &failed) && failed.step != stepExec && failed.step != stepDir:
		return &startError{128, fmt.Sprintf("exec %q: %v: the user, groups or capabilities asked for can not be given", path, err)}
	case errors.Is(err, unix.ENOEXEC):
		return &startError{126, fmt.Sprintf("exec %q: exec format error: not a program for this machine; a script needs a first line such as #!/bin/sh", path)}
	case errors.Is(err, unix.EACCES):
		return &startError{126, fmt.Sprintf("exec %q in %q: permission denied: the user of the container must be allowed to execute the file and to enter the directory", path, dir)}
	case errors.Is(err, unix.ENOENT):
		return &startError{127, fmt.Sprintf("exec %q: the file exists, but the interpreter named in its first line or its program loader does not", path)}
	case errors.Is(err, unix.E2BIG):
		return &startError{126, fmt.Sprintf("exec %q: arguments and environment are longer than the kernel takes", path)}
	case errors.Is(err, unix.EPERM):
		if size, xerr := unix.Getxattr(path, "security.capability", nil); xerr == nil && size > 0 {
			return &startError{126, fmt.Sprintf("exec %q: operation not permitted: the program asks for capabilities that the container does not have (getcap %s names them): add them in securityContext.capabilities.add", path, path)}
		}
		return &startError{126, fmt.Sprintf("exec %q: operation not permitted: the seccomp profile or the filesystem does not let it be executed", path)}
	}
	return &startError{128, fmt.Sprintf("exec %q: %v", name, err)}
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &startError{128, fmt.Sprintf("workingDir %q does not exist: mount a volume there or choose another directory", dir)}
	case err != nil:
		return &startError{128, fmt.Sprintf("workingDir %q: %v", dir, err)}
	case !info.IsDir():
		return &startError{128, fmt.Sprintf("workingDir %q is not a directory", dir)}
	}
	return nil
}

// lookPath finds the file of a command as execvp does, with the PATH and the
// working directory of the container. What to do about a file that is not there
// depends on whether it should be in an image.
func lookPath(name, dir string, env []string, image bool) (string, error) {
	if name == "" {
		return "", &startError{127, "the command is an empty string"}
	}
	if strings.Contains(name, "/") {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, executable(path, name, image)
	}
	var found error
	for _, d := range filepath.SplitList(lookEnv(env, "PATH")) {
		if d == "" {
			d = "."
		}
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		path := filepath.Join(d, name)
		err := executable(path, name, image)
		if err == nil {
			return path, nil
		}
		if ExitCode(err) == 126 && found == nil {
			found = err
		}
	}
	if found != nil {
		return "", found
	}
	cure := "install it on this machine or give the full path"
	if image {
		cure = "the image has no such program there; give the full path or use another image"
	}
	return "", &startError{127, fmt.Sprintf("exec %q: executable file not found in $PATH (%s): %s", name, lookEnv(env, "PATH"), cure)}
}

func executable(path, name string, image bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR), errors.Is(err, fs.ErrPermission) && !strings.Contains(name, "/"):
		// A directory of PATH that may not be entered holds nothing for us.
		if image {
			return &startError{127, fmt.Sprintf("exec %q: no such file in the image: correct the path or use another image", name)}
		}
		return &startError{127, fmt.Sprintf("exec %q: no such file on this machine: install it or correct the path", name)}
	case err != nil:
		return &startError{126, fmt.Sprintf("exec %q: %v", path, err)}
	case info.IsDir():
		return &startError{126, fmt.Sprintf("exec %q: is a directory", path)}
	case info.Mode()&0o111 == 0:
		return &startError{126, fmt.Sprintf("exec %q: permission denied: the file is not executable (chmod +x)", path)}
	}
	return nil
}

// lookEnv returns the last value of key.
func lookEnv(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], key+"="); ok {
			return v
		}
	}
	return ""
}

// LastCap is the highest capability that the kernel knows.
func LastCap() int {
	c := 0
	for c < 63 {
		if err := unix.Prctl(unix.PR_CAPBSET_READ, uintptr(c+1), 0, 0, 0); err != nil {
			break
		}
		c++
	}
	return c
}
