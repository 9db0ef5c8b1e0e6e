// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import "time"

var backoffBeyondDeadline = &Rule{
	ID: "backoff-beyond-deadline", Level: Info, Kinds: "CronJob, Timetable, Job",
	Summary: "the deadline of the Job comes before its retries are over",
	Reason:  "Between attempts a Job waits 10 s, 20 s, 40 s and so on, up to 10 min. When activeDeadlineSeconds has passed it is ended, with attempts left: it fails with DeadlineExceeded, which hides the first reason.",
	Cure:    "Lower backoffLimit, or raise activeDeadlineSeconds.",
	check: eachJob(func(_ *Subject, j *jobSpec) []problem {
		limit, written := j.backoffLimit()
		deadline := j.spec.ActiveDeadlineSeconds
		if deadline == nil || *deadline <= 0 || *deadline > maxSeconds || !written {
			return nil
		}
		waits, wait := time.Duration(0), 10*time.Second
		for range min(limit, 1000) {
			waits += wait
			wait = min(2*wait, 10*time.Minute)
		}
		if allowed := time.Duration(*deadline) * time.Second; waits >= allowed {
			return one(j.path.and("backoffLimit"), "with backoffLimit: %d a Job waits %s between its attempts alone, and is ended after %s", limit, words(waits), words(allowed))
		}
		return nil
	}),
}
