// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// JOB-283, JOB-284, JOB-288 to JOB-291: which rule matches a failed pod, and what it says.
func TestFailurePolicyMatches(t *testing.T) {
	t.Parallel()
	const failJob, ignore = batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore
	pod := aPod("a failed exit42")
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
		corev1.ContainerStatus{Name: "second", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: -1073741510}}},
		corev1.ContainerStatus{Name: "fine", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
		corev1.ContainerStatus{Name: "running", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 99}}})
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Odd", Status: "Unknown"}, {Type: "DisruptionTarget", Status: "True"}}
	exits := func(action batchv1.PodFailurePolicyAction, container string, op batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
		r := batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: op, Values: codes}}
		if container != "" {
			r.OnExitCodes.ContainerName = &container
		}
		return r
	}
	const in, notIn = batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn
	tests := map[string]struct {
		rules   []batchv1.PodFailurePolicyRule
		action  batchv1.PodFailurePolicyAction
		message string
	}{
		"JOB-283 app container":   {[]batchv1.PodFailurePolicyRule{exits(failJob, "", in, 42)}, failJob, "Container main for pod ns/a failed with exit code 42 matching FailJob rule at index 0"},
		"JOB-283 init container":  {[]batchv1.PodFailurePolicyRule{exits(ignore, "", in, 1), exits(failJob, "", in, 7)}, failJob, "Container init for pod ns/a failed with exit code 7 matching FailJob rule at index 1"},
		"JOB-283 condition":       {[]batchv1.PodFailurePolicyRule{onCondition(failJob, "DisruptionTarget", "True")}, failJob, "Pod ns/a has condition DisruptionTarget matching FailJob rule at index 0"},
		"JOB-284 other container": {[]batchv1.PodFailurePolicyRule{exits(failJob, "second", in, 42)}, "", ""},
		"JOB-288 not in the list": {[]batchv1.PodFailurePolicyRule{exits(ignore, "main", notIn, 5, 6, 7)}, ignore, ""},
		"JOB-288 in the list":     {[]batchv1.PodFailurePolicyRule{exits(ignore, "main", notIn, 42)}, "", ""},
		"JOB-288 exit 0 never":    {[]batchv1.PodFailurePolicyRule{exits(ignore, "fine", notIn, 1), exits(ignore, "fine", in, 0)}, "", ""},
		"JOB-289 negative":        {[]batchv1.PodFailurePolicyRule{exits(ignore, "", in, -1073741510)}, ignore, ""},
		"JOB-290 unknown operator": {[]batchv1.PodFailurePolicyRule{exits(ignore, "", "Like", 42), exits(failJob, "", in, 42)}, failJob,
			"Container main for pod ns/a failed with exit code 42 matching FailJob rule at index 1"},
		"JOB-290 unknown action":       {[]batchv1.PodFailurePolicyRule{exits("Shrug", "", in, 42), exits(ignore, "", in, 42)}, ignore, ""},
		"JOB-291 status differs":       {[]batchv1.PodFailurePolicyRule{onCondition(failJob, "DisruptionTarget", "False"), onCondition(ignore, "Odd", "True")}, "", ""},
		"JOB-291 status Unknown":       {[]batchv1.PodFailurePolicyRule{onCondition(ignore, "Odd", "Unknown")}, ignore, ""},
		"JOB-295 earlier restarts":     {[]batchv1.PodFailurePolicyRule{exits(failJob, "", in, 99)}, "", ""},
		"a rule that asks for nothing": {[]batchv1.PodFailurePolicyRule{{Action: failJob}}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := matchFailurePolicy(&batchv1.PodFailurePolicy{Rules: test.rules}, pod)
			if got.action != test.action || got.message != test.message {
				t.Errorf("%q %q, want %q %q", got.action, got.message, test.action, test.message)
			}
		})
	}
}
