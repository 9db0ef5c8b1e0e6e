// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import (
	"time"

	"github.com/carillon-dev/carillon/schedule"
)

// jitterOffset returns by how many seconds each start of a Timetable is put off, before
// neighbours cut it (timetable.md 3.4).
func jitterOffset(hash schedule.Hash, limit time.Duration) int64 {
	seconds := int64(limit / time.Second)
	if seconds <= 0 {
		return 0
	}
	return int64(hash.Value("", "jitter") % uint64(seconds+1))
}
