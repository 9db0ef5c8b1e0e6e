// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import batchv1 "k8s.io/api/batch/v1"

// Outcome is how a Job ends.
type Outcome string

// The outcomes.
const (
	Undecided Outcome = ""
	Success   Outcome = "Success"
	Failure   Outcome = "Failure"
)

// Verdict is how a Job will end, and why: the reason and message of both its interim and its terminal condition. The
// zero Verdict is a Job that goes on.
type Verdict struct {
	Outcome Outcome
	Reason  string
	Message string
	// Stored says that the interim condition is in the Job's status already. Only a stored verdict stops running pods.
	Stored bool
}

// verdictRules are the rules of how a Job ends, in order; the first that applies decides. What is stored comes first:
// an outcome is never reconsidered. Then failures before successes, so that a limit that is exceeded is not passed over
// for pods that succeed in the same sync.
var verdictRules = []func(*syncState) Verdict{
	storedSuccess,
	storedFailure,
	failJobRule,
	backoffLimitExceeded,
	deadlineExceeded,
	maxFailedIndexesExceeded,
	failedIndexes,
	successPolicyMet,
	completionsReached,
}

func (s *syncState) findVerdict() Verdict {
	for _, rule := range verdictRules {
		if v := rule(s); v.Outcome != Undecided {
			return v
		}
	}
	return Verdict{}
}

// storedSuccess: once the success criteria were met nothing turns the Job into a failure.
func storedSuccess(s *syncState) Verdict {
	return stored(s, batchv1.JobSuccessCriteriaMet, Success)
}

// storedFailure: the pods that led to it may be gone by now; the condition is what is left of them.
func storedFailure(s *syncState) Verdict {
	return stored(s, batchv1.JobFailureTarget, Failure)
}

func stored(s *syncState, kind batchv1.JobConditionType, outcome Outcome) Verdict {
	c, ok := findTrue(s.job.Status.Conditions, kind)
	if !ok {
		return Verdict{}
	}
	return Verdict{Outcome: outcome, Reason: c.Reason, Message: c.Message, Stored: true}
}

// failJobRule looks only at pods that are still to be accounted for: a pod that we removed ourselves, by scaling down
// or suspending, says nothing about the Job.
func failJobRule(s *syncState) Verdict {
	if s.job.Spec.PodFailurePolicy == nil {
		return Verdict{}
	}
	for _, v := range s.pods.relevant {
		if !v.tracked || !s.hasFailed(v) {
			continue
		}
		if m := s.failurePolicyMatch(v); m.action == batchv1.PodFailurePolicyActionFailJob {
			return failure(batchv1.JobReasonPodFailurePolicy, m.message)
		}
	}
	return Verdict{}
}

func backoffLimitExceeded(s *syncState) Verdict {
	if !s.tooManyFailures() {
		return Verdict{}
	}
	return failure(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
}

func deadlineExceeded(s *syncState) Verdict {
	if at, ok := deadline(s.job, s.start); !ok || s.now.Before(at) {
		return Verdict{}
	}
	return failure(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
}

func maxFailedIndexesExceeded(s *syncState) Verdict {
	limit := s.job.Spec.MaxFailedIndexes
	if s.indexes == nil || !s.indexes.perIndex || limit == nil || s.indexes.failed.Len() <= int(*limit) {
		return Verdict{}
	}
	return failure(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
}

// failedIndexes: every index has ended and some of them failed.
func failedIndexes(s *syncState) Verdict {
	if s.indexes == nil || !s.indexes.perIndex || s.indexes.failed.Len() == 0 ||
		s.indexes.failed.Len()+s.indexes.completed.Len() < s.indexes.completions {
		return Verdict{}
	}
	return failure(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
}

func successPolicyMet(s *syncState) Verdict {
	message, ok := s.matchSuccessPolicy()
	if !ok {
		return Verdict{}
	}
	return success(batchv1.JobReasonSuccessPolicy, message)
}

// completionsReached waits until no pod is active. A work queue is done when one pod succeeded and the others ended by
// themselves.
func completionsReached(s *syncState) Verdict {
	if !s.reached() || len(s.pods.active) > 0 {
		return Verdict{}
	}
	return success(batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
}

// reached: there are as many successes as the Job wants.
func (s *syncState) reached() bool {
	if s.job.Spec.Completions == nil {
		return s.succeeded > 0
	}
	return s.succeeded >= int(*s.job.Spec.Completions)
}

func failure(reason, message string) Verdict {
	return Verdict{Outcome: Failure, Reason: reason, Message: message}
}

func success(reason, message string) Verdict {
	return Verdict{Outcome: Success, Reason: reason, Message: message}
}
