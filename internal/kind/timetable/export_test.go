// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

// Kept is for how many Timetables something is kept.
func (c *Compilations) Kept() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byFor)
}

// CalendarsRead is how many Calendars are remembered.
func CalendarsRead() (n int) {
	calendarsRead.Range(func(any, any) bool { n++; return true })
	return n
}
