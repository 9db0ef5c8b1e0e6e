// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"strconv"
	"strings"
	"time"
)

// Values are what the variables of one run stand for.
type Values struct {
	// Zone is the Timetable's time zone, in which times and dates are written; nil is UTC.
	Zone *time.Location
	// ScheduledTime is the scheduled time; PreviousTime and NextTime are those before and after it in the schedule;
	// LastSuccessScheduledTime is that of the latest scheduled run that succeeded. A zero time means that there is
	// none: the variable is empty in all its forms.
	ScheduledTime, PreviousTime, NextTime, LastSuccessScheduledTime time.Time
	// Schedules are the names of the schedules that name the time, in the order of the spec.
	Schedules []string
	// Run is the name of the run: that of its first child.
	Run string
	// Attempt counts from 1.
	Attempt int32
	// Trigger is Schedule, CatchUp or Manual.
	Trigger string
	// Timetable and Namespace are the names of the Timetable and its namespace.
	Timetable, Namespace string
	// Parameters are the values of all parameters that the template was compiled with, from [Parameters.Values]. One
	// that is not there is empty.
	Parameters map[string]string
}

// of gives the value of a variable.
func (v *Values) of(name variable) string {
	switch name.source {
	case scheduledTime:
		return v.write(v.ScheduledTime, name.form)
	case previousTime:
		return v.write(v.PreviousTime, name.form)
	case nextTime:
		return v.write(v.NextTime, name.form)
	case lastSuccessScheduledTime:
		return v.write(v.LastSuccessScheduledTime, name.form)
	case schedule:
		if len(v.Schedules) == 0 {
			return ""
		}
		return v.Schedules[0]
	case schedules:
		return strings.Join(v.Schedules, ",")
	case run:
		return v.Run
	case attempt:
		return strconv.Itoa(int(v.Attempt))
	case trigger:
		return v.Trigger
	case timetable:
		return v.Timetable
	case namespace:
		return v.Namespace
	case parameter:
		return v.Parameters[name.name]
	}
	return "" // literalDollar
}

// write writes a time in a form.
func (v *Values) write(t time.Time, f form) string {
	if t.IsZero() {
		return ""
	}
	switch f {
	case utc:
		return t.UTC().Format(time.RFC3339)
	case unix:
		return strconv.FormatInt(t.Unix(), 10)
	case compact:
		return t.UTC().Format("20060102T150405Z")
	}
	local := t.UTC()
	if v.Zone != nil {
		local = t.In(v.Zone)
	}
	if f == date {
		return local.Format(time.DateOnly)
	}
	return local.Format(time.RFC3339)
}
