// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a call on every thread points to stays where it is, however deep the stack is that has to grow for it.
func TestAllThreadsKeepsAddresses(t *testing.T) {
	for depth := range 400 {
		wrong := make(chan string, 1)
		go func() { // a stack of its own, not grown yet
			wrong <- atDepth(depth, func() string {
				header := unix.CapUserHeader{} // the kernel answers with the version that it prefers
				if err := allThreads(unix.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), 0, 0); err != nil {
					return err.Error()
				}
				if header.Version != unix.LINUX_CAPABILITY_VERSION_3 {
					return "the kernel answered elsewhere"
				}
				return ""
			})
		}()
		if text := <-wrong; text != "" {
			t.Fatalf("at depth %d: %s", depth, text)
		}
	}
}

//go:noinline
func atDepth(n int, f func() string) string {
	if n == 0 {
		return f()
	}
	return atDepth(n-1, f)
}
