// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Both ways mark every file from the first on, and leave those before alone.
func TestCloseOnExec(t *testing.T) {
	for name, f := range map[string]func(int) error{"at once": CloseOnExec, "one by one": oneByOne} {
		t.Run(name, func(t *testing.T) {
			var fds [2]int
			for i := range fds {
				var err error
				if fds[i], err = unix.Open(os.DevNull, unix.O_RDONLY, 0); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = unix.Close(fds[i]) }()
			}
			low, high := min(fds[0], fds[1]), max(fds[0], fds[1])
			if err := f(high); err != nil {
				t.Fatal(err)
			}
			for fd, want := range map[int]int{low: 0, high: unix.FD_CLOEXEC} {
				if got, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || got != want {
					t.Errorf("descriptor %d of %d and %d: flags %d, %v", fd, low, high, got, err)
				}
			}
		})
	}
}
