// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var parallelismZero = &Rule{
	ID: "parallelism-zero", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "parallelism: 0 starts no Pod",
	Reason:  "The Job is there and never ends; under Forbid it keeps all later ones from starting.",
	Cure:    "Write 1 or more, or suspend: true.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		if n := j.spec.Parallelism; n != nil && *n == 0 {
			return one(j.path.and("parallelism"), "with parallelism: 0 the Job has no Pod, and never ends")
		}
		return nil
	}),
}
