// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package words

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/schedule"
)

// Refusal says why neither a CronJob nor a Timetable takes a text, of the errors that package schedule has for it in
// the two languages: that of CronJobs, or the other where only that language has so many fields. For a line of a
// crontab it names the command that reads those.
func Refusal(text string, ofCronJob, ofTimetable error) error {
	fields := strings.Fields(text)
	if len(fields) < 6 {
		return ofCronJob
	}
	err := ofCronJob
	if parse, ok := errors.AsType[*schedule.ParseError](ofTimetable); ok && len(fields) <= 7 {
		named := *parse // which speaks of seconds and years
		named.Name = ""
		err = &named
	}
	if len(fields) > 7 || slices.ContainsFunc(fields[5:], isPath) {
		return fmt.Errorf("%w; a line of a crontab with its command is read by carillon import crontab", err)
	}
	return err
}

func isPath(word string) bool { return strings.HasPrefix(word, "/") || strings.HasPrefix(word, "./") }
