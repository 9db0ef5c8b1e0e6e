// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import "github.com/carillon-dev/carillon/internal/plan/document"

// Header is the comment at the head of a manifest: what it was made of, how it is run, and what of cron it keeps. zone
// says in words which time zone the times are in.
func Header(source string, kind Kind, zone string) []string {
	overlap, missed := "concurrencyPolicy: Forbid", "startingDeadlineSeconds"
	if kind == Timetable {
		overlap, missed = "without concurrency: they do not", "startingDeadline"
	}
	lines := []string{
		"Made of " + source + " by carillon import crontab. To run it:",
		"  carillon up -f THIS-FILE",
		"",
	}
	for _, text := range []string{
		"As under cron, runs may overlap (" + overlap + "),",
		"what was due while Carillon did not run is not made up (without " + missed + ": the latest is),",
		"what fails is not tried again (backoffLimit),",
		"and commands work on this machine's own files (without runtimeClassName: on a copy, which is thrown away).",
		zone,
	} {
		lines = append(lines, document.Wrap(text, "  ")...)
	}
	return append(lines, "")
}
