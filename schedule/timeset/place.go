// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

import "github.com/carillon-dev/carillon/schedule"

// farthestOffset is more than any clock is away from UTC, in seconds.
const farthestOffset = 8 * secondsPerDay

// place returns the instant at which a clock shows wall (timetable.md 3.2). Where it
// comes twice that is the earlier one, or, if asked for, the later one. Where it does
// not exist it is the first instant after the gap, and inGap is true.
func place(clock schedule.Clock, wall int64, later bool) (sec int64, inGap bool) {
	exists := false
	for at := wall - farthestOffset; at <= wall+farthestOffset; {
		start, end, offset := clock.Stretch(at)
		switch t := wall - offset; {
		case start <= t && t < end:
			if sec, exists = t, true; !later {
				return sec, false
			}
		case !exists && !inGap && t < start:
			// The clock jumped over wall at start: before, it showed less.
			sec, inGap = start, true
		}
		at = end
	}
	return sec, inGap && !exists
}
