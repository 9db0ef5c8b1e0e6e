// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// changes tells what would help, the most useful first, and what would not.
func (f *forecastText) changes(before forecast.Summary) {
	if len(f.Changes) == 0 {
		return
	}
	var useless []string
	shown := 0
	for _, c := range f.Changes {
		if !c.Helps(before) {
			useless = append(useless, f.changeName(&c))
			continue
		}
		if shown++; shown == 1 {
			f.line("")
			f.line("WHAT WOULD HELP (each alone, added up again)")
		}
		f.say("  %d. %s: %s instead of %s in the fullest minute, %s at once.", shown, f.changeName(&c),
			quantity.CountGrouped(int(c.Starts.Number), "start"), quantity.Grouped(before.Starts.Number), runningAfter(before.Running.Number, c.Running.Number))
		f.edits(&c)
		f.advice(&c)
	}
	if shown > 0 {
		f.say("Runs that rely on others to be done by their time must be moved with them.")
	}
	if len(useless) > 0 {
		f.line("")
		f.say("Of no use for the fullest minute: %s.", strings.Join(useless, "; "))
	}
}

func runningAfter(before, after int64) string {
	runs := quantity.CountGrouped(int(after), "run")
	if after == before {
		return "still " + runs
	}
	return runs + " instead of " + quantity.Grouped(before)
}

func (f *forecastText) changeName(c *forecast.Change) string {
	objects := quantity.CountGrouped(c.Objects, "object")
	switch c.ID {
	case forecast.ChangeHash:
		if c.Objects == 1 {
			return "the minute of H for 1 object"
		}
		return "a minute of its own, by H, for each of " + objects
	case forecast.ChangeJitter:
		return fmt.Sprintf("a jitter of %s for %s", lengthText(f.options.Jitter), objects)
	}
	return fmt.Sprintf("minute %s for the %s with %s", c.Minute, objects, c.Schedule)
}

// edits shows the first of the schedules that change.
func (f *forecastText) edits(c *forecast.Change) {
	arrow := "→"
	if f.ascii {
		arrow = "->"
	}
	for n, e := range c.Edits {
		if n == mostEdits {
			f.line(fmt.Sprintf("       and %s more (-o json lists all)", quantity.Grouped(int64(len(c.Edits)-n))))
			return
		}
		f.cut(fmt.Sprintf("       %s/%s: %s %s %s", e.Object.Owner.Namespace, e.Object.Owner.Name, e.From, arrow, e.To))
	}
}

// advice says how a change is made.
func (f *forecastText) advice(c *forecast.Change) {
	switch {
	case c.ID == forecast.ChangeHash && c.CronJobs > 0:
		f.say("     A CronJob has no H: the minute that H would choose is written out.")
	case c.ID == forecast.ChangeJitter && c.CronJobs == 0:
		f.say("     Set spec.jitter: %s.", lengthText(f.options.Jitter))
	case c.ID == forecast.ChangeJitter:
		cronJobs := counted(c.CronJobs, "of them is a CronJob", "of them are CronJobs")
		if c.CronJobs == c.Objects {
			cronJobs = "All of them are CronJobs"
		}
		f.say("     Set spec.jitter: %s. %s, and those have no jitter: carillon convert makes Timetables of them.", lengthText(f.options.Jitter), cronJobs)
	}
}
