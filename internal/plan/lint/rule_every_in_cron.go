// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"time"
)

var everyInCron = &Rule{
	ID: "every-in-cron", Level: Error, Kinds: "Timetable",
	Summary: "@every in cron, which a Timetable says otherwise",
	Reason:  "The API server refuses it: the times of @every depend on when somebody looked.",
	Cure:    "Write every in place of cron.",
	Fix:     "writes every in place of cron; its times stay on a grid from 1970-01-01 UTC",
	check: eachCron(func(s *Subject, c cronText) []problem {
		length, every := c.every()
		if !every || s.timetable == nil {
			return nil
		}
		found := one(c.path, "%q is refused: a Timetable says every: %s, whose times stay on a grid", c.text, length)
		if plainDuration(length) {
			found[0].cure = "Write every: " + length + " in place of cron."
			found[0].changes = []Change{{Path: c.path, Rename: "every", Value: length}}
		}
		return found
	}),
}

// plainDuration tells whether a length of time is one that a Timetable takes: hours, minutes and seconds.
func plainDuration(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= time.Second && d%time.Second == 0 && !strings.ContainsAny(text, ".µun+- ") && !strings.Contains(text, "ms")
}
