// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

var unevenStep = &Rule{
	ID: "uneven-step", Level: Warning, Kinds: "CronJob, Timetable",
	Summary: "a step does not divide its field, so that the interval is uneven",
	Reason:  `Steps begin anew each hour, each day, each month: "*/40" is minute 0 and 40, so 40 and then 20 minutes apart.`,
	Cure:    "Take a step that divides the field; a Timetable has every, whose interval is steady.",
	check: eachCron(func(s *Subject, c cronText) []problem {
		if c.fields == nil || s.obstacle() != nil {
			return nil
		}
		var found []problem
		for i, field := range []struct {
			index, first, size int
			unit, whole        string
		}{{0, 0, 60, "minute", "hour"}, {1, 0, 24, "hour", "day"}} {
			if i == 0 && !strings.ContainsAny(c.fields[1], "*?-/,") {
				continue // in one hour of the day it begins anew tomorrow only
			}
			text := c.fields[field.index]
			step, stepped := stepOf(text, field.first)
			ranged := strings.Contains(text, "-") || strings.Contains(text, ",") // which says where it ends
			if !stepped || ranged || step < 2 || field.size%step == 0 {
				continue
			}
			last := (field.size - 1) / step * step
			message := fmt.Sprintf("%q in %q counts from %s 0 anew each %s: from %d to the next 0 it is %s, not %d",
				text, c.text, field.unit, field.whole, last, quantity.Count(field.size-last, field.unit), step)
			if last == 0 {
				message = fmt.Sprintf("%q in %q is only %s 0: a step of %d is longer than %s", text, c.text, field.unit, step, article(field.whole))
			}
			found = append(found, problem{path: c.path, message: message,
				cure: fmt.Sprintf("Take a step that divides %d %ss; or, in a Timetable, every: %d%c.", field.size, field.unit, step, field.unit[0])})
		}
		if step, stepped := stepOf(c.fields[2], 1); stepped && step > 1 && !strings.ContainsAny(c.fields[2], ",-") {
			found = append(found, problem{path: c.path, message: fmt.Sprintf("%q in %q counts from the 1st anew each month: at its end the interval is shorter than %d days", c.fields[2], c.text, step),
				cure: fmt.Sprintf("Write the days out; or, in a Timetable, every: %dh with an anchor.", 24*step)})
		}
		return found
	}),
}

func article(word string) string {
	if word == "hour" {
		return "an " + word
	}
	return "a " + word
}
