// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/upcoming"
	"github.com/carillon-dev/carillon/schedule/timeset"
)

// ParseInstant reads an instant as people write it: RFC 3339, or a date or 2027-03-01T14:00 on the clocks of a zone, or
// "+2h" after the beginning. It gives UTC.
func ParseInstant(text string, begins time.Time, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if after, ok := strings.CutPrefix(text, "+"); ok {
		d, err := ParseDuration(after)
		if err != nil || d < 0 {
			return time.Time{}, fmt.Errorf("%q is no time after the beginning; write +90m, +2h or +1d", text)
		}
		return begins.Add(d), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	m, err := timeset.ParseMoment(strings.Replace(text, " ", "T", 1))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time; write 2027-03-01, 2027-03-01T14:00, 2027-03-01T14:00:00+01:00, or +2h after the beginning", text)
	}
	return upcoming.FirstShowing(m, zone).UTC(), nil
}
