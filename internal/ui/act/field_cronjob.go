// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"math"

	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/entry"
)

// cronJobSections are the inputs for a CronJob, of whatever API.
func cronJobSections(s *workload.Scheduled) []section {
	expression := input("schedule", "Schedule", "Minute, hour, day of the month, month, day of the week; or @hourly, @daily, @weekly, @monthly, @yearly.", "spec", "schedule").checked(entry.CronJob)
	when := section{Legend: "When", Settings: []*setting{expression}}
	if s.Kind.Info().ShortName == "tutorial" {
		expression.Hint += " This API has no field for a time zone: write it before them, as TZ=Europe/Berlin."
	} else {
		expression.check = func(text string) error { return cmp.Or(entry.NoZone(text), entry.CronJob(text)) }
		when.Settings = append(when.Settings, zone("that of the controller, mostly UTC."))
	}
	when.Settings = append(when.Settings, suspended())
	return []section{when, {Legend: "What if", Settings: []*setting{
		choose("concurrencyPolicy", "A run is still active at the next time", "", "Allow (the default)",
			[]string{"Allow both run", "Forbid the time waits", "Replace the active run is stopped"}, "spec", "concurrencyPolicy"),
		number("startingDeadlineSeconds", "Starting deadline in seconds", "A time that cannot start within so long is given up. Empty: however late it is.", 0, math.MaxInt64, "spec", "startingDeadlineSeconds"),
	}}, {Legend: "What is kept", Settings: []*setting{
		number("successfulJobsHistoryLimit", "Runs that succeeded", "So many stay, with their Pods. Empty: 3.", 0, math.MaxInt32, "spec", "successfulJobsHistoryLimit"),
		number("failedJobsHistoryLimit", "Runs that failed", "Empty: 1.", 0, math.MaxInt32, "spec", "failedJobsHistoryLimit"),
	}}}
}

// suspended is the input for whether anything starts.
func suspended() *setting {
	s := choose("suspend", "Suspended", "", "no (not written)", nil, "spec", "suspend")
	s.Options = append(s.Options, option{Value: "false", Text: "no"}, option{Value: "true", Text: "yes: nothing starts"})
	return s.checked(func(text string) error { return entry.Word(text, []string{"true", "false"}) })
}
