// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import "strings"

// UnreadSchedules are the notes of Cache about CronJobs and Timetables: while there is one, that none is known does not
// say that there is none.
func (s *Site) UnreadSchedules() []string {
	var unread []string
	for _, note := range s.Cache.Notes() {
		if strings.HasPrefix(note, "CronJobs") || strings.HasPrefix(note, "Timetables") {
			unread = append(unread, strings.TrimSuffix(note, "."))
		}
	}
	return unread
}
