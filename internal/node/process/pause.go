// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"golang.org/x/sys/unix"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// Pause stops the processes of all running containers where they are, until
// Resume. It may be repeated, for what was started since. Their shims go on, so
// that containers can be killed and their ends are recorded.
func (r *Runtime) Pause() {
	r.mu.Lock()
	r.paused = true
	r.mu.Unlock()
	r.signalRunning(unix.SIGSTOP)
}

// Resume lets the processes of paused containers go on; also one that had
// stopped by itself.
func (r *Runtime) Resume() {
	r.mu.Lock()
	was := r.paused
	r.paused = false
	r.mu.Unlock()
	if was {
		r.signalRunning(unix.SIGCONT)
	}
}

func (r *Runtime) signalRunning(sig unix.Signal) {
	r.mu.Lock()
	var list []*container
	for _, c := range r.containers {
		if c.state == stateRunning {
			list = append(list, c)
		}
	}
	r.mu.Unlock()
	signalContainers(list, sig)
}

// maxRounds bounds the search for processes that do not do as they are told yet.
const maxRounds = 50

// signalContainers sends sig, SIGSTOP or SIGCONT, to every process of the
// containers, parents before children, and looks again until all do as they are
// told: a process may be in the middle of a fork when the signal is sent.
func signalContainers(list []*container, sig unix.Signal) {
	var shims []int
	for _, c := range list {
		if id, err := shim.ReadIdentity(c.dir); err == nil && id.Supervises(c.dir) {
			shims = append(shims, id.PID)
		}
	}
	if len(shims) == 0 {
		return
	}
	told := map[int]bool{}
	for range maxRounds {
		if !signalOnce(shims, sig, told) {
			return
		}
	}
}

// signalOnce signals the descendants that have not had the signal, adds them to
// told, and reports whether it is worth another look: something was new, or has
// had the signal and does not heed it yet. One that sleeps in the kernel does so
// when it wakes.
func signalOnce(shims []int, sig unix.Signal, told map[int]bool) (again bool) {
	tree := shim.ProcessTree()
	for _, root := range shims {
		for _, pid := range tree.Descendants(root) {
			if !told[pid] {
				told[pid], again = true, true
				shim.SignalIf(pid, sig, func() bool { return tree.StillHas(pid) }) // one that has ended needs none
				continue
			}
			stat, err := shim.ReadProcessStat(pid)
			if err == nil && stat.State != 'Z' && stat.State != 'D' {
				again = again || (stat.State == 'T') != (sig == unix.SIGSTOP)
			}
		}
	}
	return again
}
