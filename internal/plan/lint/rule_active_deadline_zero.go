// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var activeDeadlineZero = &Rule{
	ID: "active-deadline-zero", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "activeDeadlineSeconds: 0 ends a Job as it begins",
	Reason:  "The Job fails with DeadlineExceeded before its Pod runs.",
	Cure:    "Take it out for no limit, or write one in seconds.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		if d := j.spec.ActiveDeadlineSeconds; d != nil && *d <= 0 {
			return one(j.path.and("activeDeadlineSeconds"), "activeDeadlineSeconds: %d ends each Job as it begins", *d)
		}
		return nil
	}),
}
