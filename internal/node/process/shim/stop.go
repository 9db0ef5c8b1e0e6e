// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"time"

	"golang.org/x/sys/unix"
)

// onSignal passes what is meant for the container to its command, so that
// "kill" on the shim, or on process 1 from inside, does what people expect.
func (s *shim) onSignal(sig unix.Signal) {
	switch sig {
	case unix.SIGHUP:
		_ = s.log.reopen()
	case unix.SIGWINCH:
	default:
		s.signal(sig)
	}
}

// signal sends sig to the command, if it runs.
func (s *shim) signal(sig unix.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spec.Builtin != "" {
		s.builtinOnce.Do(func() { close(s.builtin) })
		return
	}
	if s.main == 0 {
		s.pending = sig
		return
	}
	s.children.signal(s.main, sig)
}

// stop asks the command to end with sig and kills it after grace. Of several
// stops the earliest end counts.
func (s *shim) stop(sig unix.Signal, grace time.Duration) {
	if grace > 0 {
		s.signal(sig)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := time.Now().Add(grace)
	if s.kill != nil && !at.Before(s.killAt) {
		return
	}
	if s.kill != nil {
		s.kill.Stop()
	}
	s.killAt = at
	s.kill = time.AfterFunc(max(grace, 0), func() { s.signal(unix.SIGKILL) })
}
