// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	corev1 "k8s.io/api/core/v1"
)

var restartPolicy = &Rule{
	ID: "restart-policy", Level: Error, Kinds: "CronJob, Timetable, Job",
	Summary: "restartPolicy is missing or Always, which a Job cannot have",
	Reason:  "A Job has an end; the API server refuses Pods that are restarted for ever.",
	Cure:    "Write restartPolicy: Never: each attempt has a Pod of its own, which stays for its logs.",
	Fix:     "writes restartPolicy: Never",
	check: eachPod(func(s *Subject, p *podSpec) []problem {
		if p.job == nil || p.restartPolicy() != corev1.RestartPolicyAlways {
			return nil
		}
		path := p.path.and("restartPolicy")
		found := one(path, "restartPolicy: Always is refused: a Job has OnFailure or Never")
		if !s.has(path...) {
			found = one(path, "restartPolicy is missing, and its default, Always, is refused in a Job")
		}
		found[0].changes = []Change{{Path: path, Value: string(corev1.RestartPolicyNever), After: "serviceAccountName"}}
		return found
	}),
}
