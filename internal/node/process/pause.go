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

// maxRounds bounds the search for processes that were started meanwhile.
const maxRounds = 20

// signalContainers sends sig to every process of the containers, parents before
// children, and looks again until there is none that has not had it: a process
// may fork while the others are being stopped.
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
	done := map[int]bool{}
	for range maxRounds {
		if signalOnce(shims, sig, done) == 0 {
			return
		}
	}
}

// signalOnce signals the descendants that are not in done, adds them to it, and
// returns how many there were.
func signalOnce(shims []int, sig unix.Signal, done map[int]bool) int {
	tree, found := shim.ProcessTree(), 0
	for _, root := range shims {
		for _, pid := range tree.Descendants(root) {
			if done[pid] {
				continue
			}
			found++
			done[pid] = true
			shim.SignalIf(pid, sig, func() bool { return tree.Same(pid) }) // one that has ended needs none
		}
	}
	return found
}
