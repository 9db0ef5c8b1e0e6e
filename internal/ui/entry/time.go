// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/lint"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/schedule"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// Zone reads the name of a time zone. With the error it is nil.
func Zone(name string) (*time.Location, error) {
	zone, err := schedule.LoadZone(name)
	if err != nil || lint.RefusedZone(name) != "" {
		return nil, fmt.Errorf("there is no time zone %q; names are those of the IANA database, such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}

// LongestDeadline is the longest that Deadline takes.
const LongestDeadline = 366 * 24 * time.Hour

// Deadline reads a starting deadline, in whole seconds: a duration, or a number of seconds as a CronJob has it.
func Deadline(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := simulation.ParseDuration(text)
	if err == nil && (d < time.Second || d > LongestDeadline) {
		err = fmt.Errorf("%q: a deadline is from a second to a year", text)
	}
	return d.Truncate(time.Second), err
}

// Duration checks one that is written into a Timetable, from least to most; a most of 0 is no bound.
func Duration(text string, least, most time.Duration) error {
	d, err := timeset.ParseDuration(text)
	switch {
	case err != nil:
		return err
	case d < least:
		return fmt.Errorf("%q is too short: it is %s at least", text, duration.Short(least))
	case most > 0 && d > most:
		return fmt.Errorf("%q is too long: it is %s at most", text, duration.Short(most))
	}
	return nil
}

// Instant checks one that is written into a Timetable: with its time of day, its seconds and its offset.
func Instant(text string) error {
	if _, err := time.Parse(time.RFC3339, text); err == nil && !strings.Contains(text, ",") {
		return nil
	}
	return fmt.Errorf("%q is no instant: write 2027-03-01T14:00:00Z, or with an offset such as 2027-03-01T14:00:00+01:00", text)
}
