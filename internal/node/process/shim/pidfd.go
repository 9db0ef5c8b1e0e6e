// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process ID that was read from somewhere may mean another process by the
// time it is used. So a process that is not an unreaped child of the caller is
// opened first (pidfd), then looked at, and then signalled through what was
// opened: when the number came to mean another process in between, the one
// that was opened is gone, and the signal reaches nobody.
//
// Children of this process need none of that: until they are waited for, their
// number is not given away. [os.Process] uses a pidfd for them anyway.
//
// Kernels before 5.3 have no pidfd. There the look comes right before the
// signal, which leaves the time between the two.

// pidfdOpen can be replaced by tests.
var pidfdOpen = unix.PidfdOpen

// SignalIf sends sig to the process with the number pid if same, which is asked
// after the process was opened, says that it is the one that is meant. It
// reports whether the signal was sent.
func SignalIf(pid int, sig unix.Signal, same func() bool) bool {
	if pid <= 1 {
		return false
	}
	fd, err := pidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return false
	}
	if err != nil {
		return same() && unix.Kill(pid, sig) == nil
	}
	defer func() { _ = unix.Close(fd) }()
	return same() && unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}

// Kill kills the process of id if it runs and is the shim of the container in
// dir. That a file in dir names it is not enough.
func (id Identity) Kill(dir string) bool {
	return SignalIf(id.PID, unix.SIGKILL, func() bool { return id.Supervises(dir) })
}

// Supervises reports whether the process of id runs and is the shim of the
// container in dir: started in this boot at the time that id says, under the
// name of a shim, for this directory.
func (id Identity) Supervises(dir string) bool {
	if !id.Alive() {
		return false
	}
	proc := filepath.Join("/proc", strconv.Itoa(id.PID))
	name, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil || !bytes.HasPrefix(name, []byte(procName)) {
		return false
	}
	env, err := os.ReadFile(filepath.Join(proc, "environ"))
	if err != nil {
		return false
	}
	of := lookEnv(strings.Split(string(env), "\x00"), envDir)
	theirs, err := os.Stat(of)
	if err != nil {
		return false
	}
	ours, err := os.Stat(dir)
	return err == nil && os.SameFile(theirs, ours)
}

// alivePoll is how often a process is looked at where it cannot be waited for.
const alivePoll = 50 * time.Millisecond

// Wait returns true when the process of id has ended, false when done is closed
// first.
func (id Identity) Wait(done <-chan struct{}) bool {
	fd, err := pidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.EINVAL) {
		fd, err = pidfdOpen(id.PID, 0) // the flag came with kernel 5.10
	}
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if err != nil {
		return id.poll(done)
	}
	_ = unix.SetNonblock(fd, true)
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	if !id.Alive() {
		return true
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-done:
			_ = f.SetReadDeadline(time.Unix(1, 0)) // a pidfd is pollable, so it has deadlines
		case <-ended:
		}
	}()
	conn, err := f.SyscallConn()
	if err != nil {
		return id.poll(done)
	}
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err != nil && err != unix.EINTR || n > 0
	})
	return err == nil
}

func (id Identity) poll(done <-chan struct{}) bool {
	for id.Alive() {
		timer := time.NewTimer(alivePoll)
		select {
		case <-timer.C:
		case <-done:
			timer.Stop()
			return false
		}
	}
	return true
}

// Processes are the processes of the machine at one moment.
type Processes struct {
	children map[int][]int
	ticks    map[int]uint64 // start times
}

// ProcessTree reads which process has which children from /proc.
func ProcessTree() Processes {
	tree := Processes{children: map[int][]int{}, ticks: map[int]uint64{}}
	dir, err := os.Open("/proc")
	if err != nil {
		return tree
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := ReadProcessStat(pid); err == nil {
			tree.children[stat.Parent] = append(tree.children[stat.Parent], pid)
			tree.ticks[pid] = stat.StartTicks
		}
	}
	return tree
}

// All lists the processes, in no order.
func (p Processes) All() []int {
	all := make([]int, 0, len(p.ticks))
	for pid := range p.ticks {
		all = append(all, pid)
	}
	return all
}

// Descendants lists the processes below pid, in no order.
func (p Processes) Descendants(pid int) []int {
	var all []int
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0; {
		next := p.children[queue[0]]
		queue = queue[1:]
		for _, child := range next {
			// The tree is read while it changes; a number used twice must not
			// make a circle.
			if !seen[child] {
				seen[child] = true
				all = append(all, child)
				queue = append(queue, child)
			}
		}
	}
	return all
}

// StillHas reports whether pid means the process that it meant when the tree was
// read.
func (p Processes) StillHas(pid int) bool {
	stat, err := ReadProcessStat(pid)
	return err == nil && p.Has(pid, stat.StartTicks)
}

// Has reports whether pid meant the process that started at ticks when the tree
// was read.
func (p Processes) Has(pid int, ticks uint64) bool {
	was, ok := p.ticks[pid]
	return ok && was == ticks
}

// KillBelow kills the descendants of root. Each is looked at again once it has
// been opened: it must be the process that the tree means, and below root still.
func (p Processes) KillBelow(root int) {
	for _, pid := range p.Descendants(root) {
		SignalIf(pid, unix.SIGKILL, func() bool { return p.StillHas(pid) && below(pid, root) })
	}
}

// below reports whether pid descends from root at this moment.
func below(pid, root int) bool {
	for range 1 << 15 { // no chain of parents is longer
		stat, err := ReadProcessStat(pid)
		if err != nil || stat.Parent <= 0 {
			return false
		}
		if stat.Parent == root {
			return true
		}
		pid = stat.Parent
	}
	return false
}
