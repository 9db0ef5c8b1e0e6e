// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"sync"

	"golang.org/x/sys/unix"
)

var fallback = sync.OnceValue(systemLonger)

func now() Instant {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return fallback().now() // a sandbox without this clock
	}
	return Instant(t.Nano())
}
