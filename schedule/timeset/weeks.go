// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeset

// weeks is the mask of everyWeeks: open are the ISO weeks (Monday to Sunday) that are a
// multiple of every weeks away from the week of number anchor, before or after.
type weeks struct {
	every, anchor int64
}

const (
	secondsPerWeek = 7 * secondsPerDay
	// toMonday leads from 1970-01-01, a Thursday, to the Monday before it.
	toMonday = 3 * secondsPerDay
)

// weekOf returns the number of the week that holds a wall clock second.
func weekOf(wall int64) int64 { return floorDiv(wall+toMonday, secondsPerWeek) }

func weekStart(week int64) int64 { return week*secondsPerWeek - toMonday }

func (w weeks) at(wall int64) (open bool, since, until int64) {
	week := weekOf(wall)
	behind := floorMod(week-w.anchor, w.every)
	if behind == 0 {
		return true, weekStart(week), weekStart(week + 1)
	}
	return false, weekStart(week - behind + 1), weekStart(week - behind + w.every)
}
