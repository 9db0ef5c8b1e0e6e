// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"runtime"
	"sync"
	"weak"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// calendarsRead has a *timeset.Calendar for each weak.Pointer[v1alpha1.Calendar] that was read and is in use still.
var calendarsRead sync.Map

// ReadCalendar reads a Calendar, which must not be modified any more: once for all Timetables that name it, since one
// of a thousand periods takes most of a millisecond and 100 KB. What of it cannot be read is told by Times.
func ReadCalendar(calendar *v1alpha1.Calendar) *timeset.Calendar {
	key := weak.Make(calendar)
	if read, known := calendarsRead.Load(key); known {
		return read.(*timeset.Calendar)
	}
	periods := make([]string, len(calendar.Spec.Periods))
	for i, p := range calendar.Spec.Periods {
		periods[i] = string(p.Period)
	}
	read, known := calendarsRead.LoadOrStore(key, timeset.NewCalendar(calendar.Name, periods))
	if !known {
		runtime.AddCleanup(calendar, func(key weak.Pointer[v1alpha1.Calendar]) { calendarsRead.Delete(key) }, key)
	}
	return read.(*timeset.Calendar)
}
