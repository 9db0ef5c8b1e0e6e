// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var parallelismWithoutCompletions = &Rule{
	ID: "parallelism-without-completions", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "parallelism without completions is a work queue, not that many runs",
	Reason:  "As soon as one Pod has succeeded no other is started or repeated, and the Job is complete when the rest have ended, also if they failed.",
	Cure:    "Write completions beside it if each Pod must succeed; suppress this if the Pods share a queue.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		if n := j.spec.Parallelism; n != nil && *n > 1 && j.spec.Completions == nil {
			return one(j.path.and("parallelism"), "parallelism: %d without completions: the Job is complete when one Pod has succeeded and the others have ended", *n)
		}
		return nil
	}),
}
