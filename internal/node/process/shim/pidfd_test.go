// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// sleeper is a child that lives until it is killed, by its number and by what
// tells it from others.
func sleeper(t *testing.T, env ...string) (*exec.Cmd, Identity) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	stat, err := ReadProcessStat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, Identity{PID: stat.PID, Ticks: stat.StartTicks, BootID: BootID()}
}

// eachKernel runs a test as on a kernel with pidfd, and as on one without.
func eachKernel(t *testing.T, f func(t *testing.T)) {
	t.Run("with pidfd", f)
	t.Run("without", func(t *testing.T) {
		pidfdOpen = func(int, int) (int, error) { return -1, unix.ENOSYS }
		defer func() { pidfdOpen = unix.PidfdOpen }()
		f(t)
	})
}

// A signal goes to the process that the look recognises, after it was opened,
// and to no other.
func TestSignalIf(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		cmd, id := sleeper(t)
		for _, pid := range []int{-1, 0, 1} {
			if SignalIf(pid, unix.SIGKILL, func() bool { t.Errorf("%d is looked at", pid); return false }) {
				t.Errorf("%d was signalled", pid)
			}
		}
		if SignalIf(id.PID, unix.SIGKILL, func() bool { return false }) || !id.Alive() {
			t.Error("what is not meant was signalled")
		}
		if !SignalIf(id.PID, unix.SIGKILL, id.Alive) {
			t.Error("what is meant was not signalled")
		}
		_ = cmd.Wait()
		if SignalIf(id.PID, unix.SIGKILL, func() bool { return true }) {
			t.Error("the dead was signalled")
		}
	})
}

// The process that was opened is the one that gets the signal, or nobody: one
// that got its number afterwards does not. This needs pidfd.
func TestSignalNotTheNext(t *testing.T) {
	first, _ := sleeper(t)
	second, id := sleeper(t)
	open := pidfdOpen
	defer func() { pidfdOpen = open }()
	// What is opened is the first; then it ends, and its number means the second.
	pidfdOpen = func(_, flags int) (int, error) { return open(first.Process.Pid, flags) }
	sent := SignalIf(id.PID, unix.SIGKILL, func() bool {
		_ = first.Process.Kill()
		_ = first.Wait()
		return true
	})
	if sent || !id.Alive() {
		t.Error("the next process of the number was killed")
	}
	_ = second
}

// A file that names a process does not make it a shim: name, directory, start
// time and boot must be right, too.
func TestSupervises(t *testing.T) {
	dir := t.TempDir()
	_, id := sleeper(t, envDir+"="+dir)
	if id.Supervises(dir) || id.Kill(dir) || !id.Alive() {
		t.Error("a process that is no shim")
	}
	shim := exec.Command("sleep", "1000")
	shim.Args[0] = procName + " x" // what is called so is one, for all that can be seen
	shim.Env = []string{envDir + "=" + dir}
	if err := shim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shim.Process.Kill() }()
	stat, err := ReadProcessStat(shim.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	id = Identity{PID: stat.PID, Ticks: stat.StartTicks, BootID: BootID()}
	later, other := id, id
	later.Ticks++
	other.BootID = "x"
	for name, wrong := range map[string]bool{
		"another directory":  id.Kill(t.TempDir()),
		"no directory":       id.Kill(dir + "/none"),
		"another start time": later.Kill(dir),
		"another boot":       other.Kill(dir),
	} {
		if wrong {
			t.Errorf("%s: killed", name)
		}
	}
	link := t.TempDir() + "/link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if !id.Kill(link) {
		t.Error("the shim, by another name of its directory, was not killed")
	}
	if err := shim.Wait(); err == nil {
		t.Error("it ended by itself")
	}
}

// Waiting for a process that is no child ends with it, or when asked to.
func TestWait(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		cmd, id := sleeper(t)
		done := make(chan struct{})
		close(done)
		if id.Wait(done) {
			t.Error("the living has ended")
		}
		ended := make(chan bool)
		go func() { ended <- id.Wait(nil) }()
		_ = cmd.Process.Kill()
		if !<-ended {
			t.Error("gave up on a process that has ended")
		}
		_ = cmd.Wait()
		if !id.Wait(nil) {
			t.Error("the dead is waited for")
		}
	})
}

// What stands below a process is killed, and nothing else: not what took the
// number of one, nor what is below somebody else by now.
func TestKillBelow(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		shell := exec.Command("sh", "-c", "sleep 1000 & sleep 1000 & wait")
		if err := shell.Start(); err != nil {
			t.Fatal(err)
		}
		_, beside := sleeper(t)
		root := shell.Process.Pid
		var tree Processes
		for tree = ProcessTree(); len(tree.Descendants(root)) < 2; tree = ProcessTree() {
		}
		wrong := Processes{children: tree.children, ticks: map[int]uint64{}}
		for pid, ticks := range tree.ticks {
			wrong.ticks[pid] = ticks + 1
		}
		wrong.KillBelow(root)
		// beside is another process's child, whatever the tree says.
		moved := Processes{children: map[int][]int{root: {beside.PID}}, ticks: tree.ticks}
		moved.ticks[beside.PID] = beside.Ticks
		moved.KillBelow(root)
		if !beside.Alive() || len(ProcessTree().Descendants(root)) != 2 {
			t.Error("what is not below was killed")
		}
		tree.KillBelow(root)
		if err := shell.Wait(); err != nil { // both of its children have ended
			t.Error(err)
		}
	})
}
