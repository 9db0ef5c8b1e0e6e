// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var ttlZero = &Rule{
	ID: "ttl-zero", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "a Job is deleted the moment it ends",
	Reason:  "Its result, its Pods and their logs are gone before anybody has seen them; a Timetable may count such a run as cancelled.",
	Cure:    "Write 600 or more, or leave it to the history limits of what starts it.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		if ttl := j.spec.TTLSecondsAfterFinished; ttl != nil && *ttl == 0 {
			return one(j.path.and("ttlSecondsAfterFinished"), "ttlSecondsAfterFinished: 0 deletes the Job and its logs when it ends")
		}
		return nil
	}),
}
