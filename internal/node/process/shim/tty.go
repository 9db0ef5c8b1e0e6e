// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTTY makes a pseudo terminal in this root. The terminal belongs to the
// user that will run on it.
func openTTY(user *User) (master, slave *os.File, err error) {
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening a terminal: %w", err)
	}
	if err := unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0); err != nil {
		_ = unix.Close(m)
		return nil, nil, fmt.Errorf("unlocking a terminal: %w", err)
	}
	// By descriptor, not by name: the terminal may be of another /dev/pts than
	// the one that is mounted here.
	s, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		_ = unix.Close(m)
		return nil, nil, fmt.Errorf("opening a terminal: %w", errno)
	}
	if user != nil {
		_ = unix.Fchown(int(s), int(user.UID), -1)
	}
	// Non-blocking, so that the descriptor can be closed while it is read.
	return os.NewFile(uintptr(m), "tty"), os.NewFile(s, "tty"), nil
}

// ResizeTerminal tells a terminal its size in characters.
func ResizeTerminal(tty *os.File, width, height uint16) error {
	conn, err := tty.SyscallConn()
	if err != nil {
		return err
	}
	var ierr error
	if err := conn.Control(func(fd uintptr) {
		ierr = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width})
	}); err != nil {
		return err
	}
	return ierr
}
