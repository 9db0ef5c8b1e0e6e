// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"time"
)

// Duration says a duration in full: "1 hour and 30 minutes". Days are 24 hours. What is less than a second is left out;
// a negative one counts as none.
func Duration(d time.Duration) string {
	seconds := max(int64(d/time.Second), 0)
	var parts []string
	for _, unit := range [...]struct {
		name   string
		length int64
	}{{"day", 24 * 60 * 60}, {"hour", 60 * 60}, {"minute", 60}, {"second", 1}} {
		if n := seconds / unit.length; n > 0 {
			parts = append(parts, Count(int(n), unit.name))
			seconds -= n * unit.length
		}
	}
	if len(parts) == 0 {
		return "0 seconds"
	}
	return join(parts, "and")
}
