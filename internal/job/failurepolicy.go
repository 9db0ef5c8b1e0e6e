// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// When is a pod judged? When it has failed ([syncState.hasFailed]: with [replacesOnlyFailed] one that only terminates
// has not), for as long as it has the tracking finalizer. [failJobRule] ends the Job, [syncState.failsIndex] gives up
// an index. Whether a failure counts is asked while the pod [syncState.isUnaccounted]; what is counted stays counted.

// policyMatch is what the pod failure policy says about one failed pod.
type policyMatch struct {
	// action of the rule that matched; "" when none did and the failure simply counts.
	action batchv1.PodFailurePolicyAction
	// message for the condition; only with FailJob.
	message string
}

// counts: the failure goes into status.failed and towards the backoff limits.
func (m policyMatch) counts() bool { return m.action != batchv1.PodFailurePolicyActionIgnore }

// matchFailurePolicy finds the first rule that matches the pod (job.md 6.1). Only the containers' current state is
// looked at, so a restart of a single container triggers nothing. A rule with an action or operator that we do not know
// is passed over. Facts: pkg/controller/job/pod_failure_policy.go, KEP-3329.
func matchFailurePolicy(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) policyMatch {
	if policy == nil {
		return policyMatch{}
	}
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		if !knownAction(rule.Action) {
			continue
		}
		var why string
		switch {
		case rule.OnExitCodes != nil:
			c := exitedWith(rule.OnExitCodes, pod)
			if c == nil {
				continue
			}
			why = fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d", c.Name, pod.Namespace, pod.Name, c.State.Terminated.ExitCode)
		default:
			c := conditionAmong(rule.OnPodConditions, pod)
			if c == nil {
				continue
			}
			why = fmt.Sprintf("Pod %s/%s has condition %s", pod.Namespace, pod.Name, c.Type)
		}
		match := policyMatch{action: rule.Action}
		if rule.Action == batchv1.PodFailurePolicyActionFailJob {
			match.message = fmt.Sprintf("%s matching FailJob rule at index %d", why, i)
		}
		return match
	}
	return policyMatch{}
}

func knownAction(a batchv1.PodFailurePolicyAction) bool {
	switch a {
	case batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount:
		return true
	}
	return false
}

// exitedWith gives the first container, app containers before init containers, whose non-zero exit code the requirement
// accepts.
func exitedWith(r *batchv1.PodFailurePolicyOnExitCodesRequirement, pod *corev1.Pod) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range list {
			c := &list[i]
			if c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 {
				continue
			}
			if r.ContainerName != nil && *r.ContainerName != c.Name {
				continue
			}
			listed := slices.Contains(r.Values, c.State.Terminated.ExitCode)
			switch r.Operator {
			case batchv1.PodFailurePolicyOnExitCodesOpIn:
				if listed {
					return c
				}
			case batchv1.PodFailurePolicyOnExitCodesOpNotIn:
				if !listed {
					return c
				}
			}
		}
	}
	return nil
}

func conditionAmong(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		for _, p := range patterns {
			if c.Type == p.Type && c.Status == p.Status {
				return c
			}
		}
	}
	return nil
}

// FailureAction gives the action of the first rule of a pod failure policy that matches a failed Pod; "" when none
// does, and the failure counts. Nothing is modified.
func FailureAction(policy *batchv1.PodFailurePolicy, pod *corev1.Pod) batchv1.PodFailurePolicyAction {
	return matchFailurePolicy(policy, pod).action
}
