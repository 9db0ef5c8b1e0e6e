// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// When the container has ended, who is attached has got all of its output: the
// shim is gone a moment later, and with it whatever was not written.
func TestEndDelivers(t *testing.T) {
	for range 200 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		s := newStreams(&logFile{}, false)
		s.watch("stdout", w)
		s.broadcast("stdout", []byte("first "))
		s.broadcast("stdout", []byte("last"))
		s.end()
		n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		r.Close()
		if err != nil || n != len("first last") {
			t.Fatalf("%d bytes are there, %v", n, err)
		}
	}
}

// A client that does not read keeps no container from ending.
func TestEndDoesNotWaitForEver(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := newStreams(&logFile{}, false)
	s.watch("stdout", w)
	s.broadcast("stdout", make([]byte, 1<<20))
	ended := make(chan struct{})
	go func() {
		s.end()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it waits")
	}
}
