// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
)

// What may be asked for: the years that RFC 3339 can write and for which time zones are known.
var (
	earliestTime = time.Unix(0, 0)
	endOfTime    = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// withinYears refuses a span that begins before 1970 or ends after 9999. The flags are those that say when.
func withinYears(fromFlag string, from time.Time, toFlag string, to time.Time) error {
	switch {
	case from.Before(earliestTime):
		return exitcode.UsageError("%s: it begins before 1970-01-01", fromFlag)
	case !from.Before(endOfTime):
		return exitcode.UsageError("%s: it begins after 9999-12-31", fromFlag)
	case to.After(endOfTime):
		return exitcode.UsageError("%s: it ends after 9999-12-31", toFlag)
	}
	return nil
}
