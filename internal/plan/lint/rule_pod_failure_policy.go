// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	corev1 "k8s.io/api/core/v1"
)

var podFailurePolicy = &Rule{
	ID: "pod-failure-policy", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "podFailurePolicy needs restartPolicy: Never",
	Reason:  "With OnFailure the kubelet restarts a container before anybody asks the policy; the API server refuses it.",
	Cure:    "Write restartPolicy: Never.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		if p.job == nil || p.job.spec.PodFailurePolicy == nil || p.restartPolicy() == corev1.RestartPolicyNever {
			return nil
		}
		return one(p.path.and("restartPolicy"), "podFailurePolicy is refused with restartPolicy: %s", p.restartPolicy())
	}),
}
