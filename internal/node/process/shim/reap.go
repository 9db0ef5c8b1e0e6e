// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// children reaps every child of this process: those it started, and those that
// became its children when their parent died. All waiting happens here,
// because whoever waits for any child takes away the results of all others.
type children struct {
	mu      sync.Mutex
	waiters map[int]chan unix.WaitStatus // started and not yet reaped
	closed  bool                         // the command has ended, nothing may start
	changed chan struct{}                // a token after each look
}

func newChildren() *children {
	c := &children{waiters: map[int]chan unix.WaitStatus{}, changed: make(chan struct{}, 1)}
	sigchld := make(chan os.Signal, 1)
	signal.Notify(sigchld, unix.SIGCHLD)
	go func() {
		for range sigchld {
			c.reap()
		}
	}()
	return c
}

// start runs fork and returns the new process and a channel that delivers its
// wait status. Holding the lock keeps the reaper from taking the status before
// somebody waits for it.
func (c *children) start(fork func() (int, error)) (int, <-chan unix.WaitStatus, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, nil, &startError{128, "the container has ended"}
	}
	pid, err := fork()
	if err != nil {
		return 0, nil, err
	}
	done := make(chan unix.WaitStatus, 1)
	c.waiters[pid] = done
	return pid, done, nil
}

// signal sends sig to a child that start returned, unless it was reaped, in
// which case its number may belong to another process by now. Until then, which
// the lock keeps from coming, the number is safe without a pidfd.
func (c *children) signal(pid int, sig unix.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiters[pid]; ok {
		_ = unix.Kill(pid, sig)
	}
}

// signalGroup does the same for the process group that the child leads.
func (c *children) signalGroup(pid int, sig unix.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiters[pid]; ok {
		_ = unix.Kill(-pid, sig)
		_ = unix.Kill(pid, sig)
	}
}

// reap takes the results of all children that have ended and reports whether
// no child is left.
func (c *children) reap() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return true // ECHILD
		}
		if pid == 0 {
			select {
			case c.changed <- struct{}{}:
			default:
			}
			return false
		}
		if done, ok := c.waiters[pid]; ok {
			delete(c.waiters, pid)
			done <- ws
		}
	}
}

// killAll kills what the command left behind, daemons too, and returns when
// all of it is gone.
func (s *shim) killAll() {
	s.children.mu.Lock()
	s.children.closed = true
	s.children.mu.Unlock()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		if s.children.reap() {
			return
		}
		switch {
		case s.pid1:
			// Everything in our PID namespace but us.
			_ = unix.Kill(-1, unix.SIGKILL)
		default:
			s.cgroup.kill()
			// Orphans of those that die now become our children, so repeating
			// this ends even against processes that fork meanwhile.
			ProcessTree().KillBelow(os.Getpid())
		}
		timer := time.NewTimer(wait)
		select {
		case <-s.children.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// decode turns a wait status into an exit code as a shell shows it, and the
// signal that killed the process, or 0.
func decode(ws unix.WaitStatus) (code, sig int) {
	if ws.Signaled() {
		return 128 + int(ws.Signal()), int(ws.Signal())
	}
	return ws.ExitStatus(), 0
}
