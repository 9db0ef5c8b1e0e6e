// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

var jobKeptForEver = &Rule{
	ID: "job-kept-for-ever", Level: Info, Kinds: "Job",
	Summary: "nothing deletes the Job when it has ended",
	Reason:  "It and its Pods stay in the API until somebody deletes them; thousands of them slow a cluster down.",
	Cure:    "Write ttlSecondsAfterFinished, such as 86400 for a day.",
	check: eachJob(func(s *Subject, j *jobSpec) []problem {
		if !j.alone || j.spec.TTLSecondsAfterFinished != nil || len(s.Content.GetOwnerReferences()) > 0 {
			return nil
		}
		return one(j.path.and("ttlSecondsAfterFinished"), "it stays when it has ended: ttlSecondsAfterFinished is missing")
	}),
}
