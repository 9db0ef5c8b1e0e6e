// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Fail points are named places on the way from "create this container" to the
// record of its end. A test of crashes names one, and the process that comes
// there ends at once, as if it had been killed, or waits for the test.
//
// Only a test binary has them: what is asked for in the environment counts
// when the program's own main package, which the toolchain writes into it, is
// one that "go test" made. In any other program FailPoint compares with nil.

// Environment of a process with a fail point.
const (
	// EnvFailPoint is point=die or point=wait.
	EnvFailPoint = "CARILLON_FAIL_POINT"
	// EnvFailDir is a directory. A file with the name of the point is made in it by the first
	// process that comes to the point; others pass. One that waits goes on when there is a file
	// with ".go" behind that name, and dies when there is one with ".die".
	EnvFailDir = "CARILLON_FAIL_DIR"
)

// The fail points, in the order in which a container that is created, started
// and ends passes them: those of the runtime, of what it tells, and of the shim.
var (
	RuntimeFailPoints = []string{
		"create-directory", "create-spec", "create-record", "create-known",
		"start-locked", "start-forked", "start-answered", "start-known",
	}
	// Those of a runtime that tells somebody of ends, behind all the others.
	EndFailPoints  = []string{"end-telling", "end-kept", "end-told"}
	ShimFailPoints = []string{
		"shim-begun", "shim-locked", "shim-identified", "shim-rooted", "shim-reserved", "shim-marking",
		"shim-marked", "shim-executed", "shim-told", "shim-ended", "shim-written", "shim-recorded",
	}
)

type failPoint struct {
	name string
	wait bool
	dir  int // stays usable after the root of this process changed
}

var fail = findFailPoint()

func findFailPoint() *failPoint {
	name, action, ok := strings.Cut(os.Getenv(EnvFailPoint), "=")
	if !ok {
		return nil
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasSuffix(info.Path, ".test") {
		return nil
	}
	dir, err := unix.Open(os.Getenv(EnvFailDir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &failPoint{name: name, wait: action == "wait", dir: dir}
}

// failEnv passes the fail point on to a shim.
func failEnv() []string {
	if fail == nil {
		return nil
	}
	return []string{EnvFailPoint + "=" + os.Getenv(EnvFailPoint), EnvFailDir + "=" + os.Getenv(EnvFailDir)}
}

// FailPoint says that the process has come to a fail point.
func FailPoint(point string) {
	if fail != nil && fail.name == point {
		fail.act()
	}
}

func (f *failPoint) act() {
	fd, err := unix.Openat(f.dir, f.name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return // somebody was here before
	}
	_ = unix.Close(fd)
	for f.wait {
		if f.exists(".go") {
			return
		}
		if f.exists(".die") {
			break
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // only in tests, which say when to go on
	}
	// Process 1 of a PID namespace cannot kill itself. Ending without another
	// word is the same for everybody else.
	unix.Exit(137)
}

func (f *failPoint) exists(suffix string) bool {
	var st unix.Stat_t
	return unix.Fstatat(f.dir, f.name+suffix, &st, 0) == nil
}
