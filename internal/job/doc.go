// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package job decides what a batch/v1 Job needs now.
//
// It is the pure half of the Job controller: [Decide] takes a [Snapshot] (the Job, its pods, the [Expectations] of this
// process, and one Now) and gives a [Plan]. Nothing here talks to an API server, reads a clock, logs or keeps state.
// Every function is total: garbage in a status or on a pod leads to a cautious plan, never to a panic.
//
// # The protocol
//
// Exactly-once accounting needs writes in a fixed order, and what one step achieved shapes the next. So a sync is a
// dialogue in which the shell only carries out and reports:
//
//	plan := job.Decide(snapshot)
//	  0. carry out plan.Cleanup              nothing depends on it
//	  1. carry out plan.Claim                any effect that is not a success ends the sync: gather again
//	  2. carry out plan.Delete, plan.Create  never both; report each outcome
//	status := plan.PlanStatus(results)
//	  3. publish status.Events               what happened to the pods
//	  4. write status.Write (if any)         fails: end of the sync, nothing below may happen
//	     then publish its Events and Metrics
//	  5. remove the tracking finalizer from status.Unfinalize
//
// and wake up again no later than the earlier of the two Wakes. There is one status write per sync: pods whose
// finalizer was removed in step 5 are moved from the recorded UIDs to the counters by the next one. A crash between any
// two effects is safe: the next sync starts from the API objects alone and arrives at the same counts (the contract's
// crash points CP-01 to CP-20 are tests of this package).
//
// Before steps 2 and 5 the shell notes what it is about to do (Expectations.Creating, Deleting, Unfinalizing, keyed by
// the Job's UID) and takes an entry out again when the pod cache shows the effect or when the call is known to have
// done nothing. After a write that carries Finished it notes that too, until the cache shows the finished Job.
//
// # Two departures from the built-in controller worth knowing
//
// A new outcome (FailureTarget, SuccessCriteriaMet) is written down before any running pod is stopped because of it:
// the sync that finds it records it, the next one stops the pods. A crash or a failing delete can so never change how a
// Job ends.
//
// When no pod is active or terminating the whole end (counters, interim and terminal condition) goes into one write,
// and the finalizers come off after it; a finished Job is never counted again, so nothing needs the two-phase
// bookkeeping of uncounted UIDs then.
//
// # Where things are
//
//	snapshot.go       what goes in: Snapshot, Expectations, Options
//	plan.go           what comes out: Plan, then StatusPlan with the status write
//	decide.go         one sync from the one to the other, and the Jobs that need none
//	managedby.go      whose Job it is
//	claim.go          which pods are the Job's: adopt and release
//	pods.go           what state each pod is in, by podReplacementPolicy too; which own creations are not seen yet
//	accounting.go     which pods are counted, when; which finalizers may go
//	indexes.go        completion indexes: which are done, which are pending
//	backoff.go        back-off: the delay before a failed pod is replaced
//	backofflimit.go   backoffLimit
//	backofflimitperindex.go
//	                  backoffLimitPerIndex: retries and back-off of each index
//	finishtime.go     when a pod ended
//	deadline.go       activeDeadlineSeconds, and from when it counts
//	failurepolicy.go  podFailurePolicy
//	successpolicy.go  successPolicy
//	verdict.go        how the Job ends: the ordered rules
//	podplan.go        how many pods to create, or which to delete
//	podtemplate.go    the pod that is created
//	podname.go        and its name
//	suspend.go        the Suspended condition, and startTime with it (its pods: podplan.go)
//	status.go         the status that is written after a sync: Plan.PlanStatus
//	urgency.go        who waits for that write
//	conditions.go     how conditions are read and set: finished, interim, terminal
//	invariants.go     what statuses the API server refuses
//	events.go         every event
//	orphan.go         finalizers of pods whose Job is gone or finished, also of Jobs deleted with orphan propagation
//	text.go           plans and records as text
//
// The contract is docs/contract/job.md, where the ids that comments cite (JOB-123, CP-01, TTL-004, …) are found; the
// words are in a table in docs/concepts.md.
package job
