// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	batchv1 "k8s.io/api/batch/v1"
)

var perIndexWithoutIndexed = &Rule{
	ID: "per-index-without-indexed", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "limits for each index in a Job that has none",
	Reason:  "backoffLimitPerIndex, maxFailedIndexes and successPolicy are about indexes: the API server refuses them without completionMode: Indexed.",
	Cure:    "Write completionMode: Indexed, or backoffLimit in place of them.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		if mode := j.spec.CompletionMode; mode != nil && *mode == batchv1.IndexedCompletion {
			return nil
		}
		for _, field := range []struct {
			name    string
			written bool
		}{
			{"backoffLimitPerIndex", j.spec.BackoffLimitPerIndex != nil},
			{"maxFailedIndexes", j.spec.MaxFailedIndexes != nil},
			{"successPolicy", j.spec.SuccessPolicy != nil},
		} {
			if field.written {
				return one(j.path.and(field.name), "%s is refused without completionMode: Indexed", field.name)
			}
		}
		return nil
	}),
}
