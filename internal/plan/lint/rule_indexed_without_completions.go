// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	batchv1 "k8s.io/api/batch/v1"
)

var indexedWithoutCompletions = &Rule{
	ID: "indexed-without-completions", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "completionMode: Indexed without completions",
	Reason:  "An Indexed Job has one Pod for each index, and completions says how many there are: the API server refuses it without.",
	Cure:    "Write completions.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		if mode := j.spec.CompletionMode; mode == nil || *mode != batchv1.IndexedCompletion || j.spec.Completions != nil {
			return nil
		}
		return one(j.path.and("completionMode"), "completionMode: Indexed is refused without completions")
	}),
}
