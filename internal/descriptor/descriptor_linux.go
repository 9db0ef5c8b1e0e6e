// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// CloseOnExec keeps all files that this process has open, from descriptor
// first on, from the programs that it starts. This process can go on using
// them. Whoever started it may have left files open by mistake: a shell
// script's log, a service manager's socket, a file with a key.
func CloseOnExec(first int) error {
	if err := unix.CloseRange(uint(first), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err == nil {
		return nil
	}
	return oneByOne(first)
}

// oneByOne is for kernels before 5.11, and for those that hide the system call.
func oneByOne(first int) error {
	const dir = "/proc/self/fd"
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("listing open files: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("listing open files: %w", err)
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= first {
			unix.CloseOnExec(fd) // nothing to do where it was closed meanwhile
		}
	}
	return nil
}
