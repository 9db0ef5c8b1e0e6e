// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

var backoffOnFailure = &Rule{
	ID: "backoff-on-failure", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "restartPolicy: OnFailure, so that the Pod and its logs are gone when backoffLimit is reached",
	Reason:  "The container is restarted in its Pod, and at the limit the Pod is deleted while it runs: the logs of the failures go with it.",
	Cure:    "Write restartPolicy: Never: each attempt has a Pod of its own then, which stays for its logs.",
	check: eachPod(func(_ *Subject, p *podSpec) []problem {
		if p.job == nil || p.restartPolicy() != corev1.RestartPolicyOnFailure {
			return nil
		}
		limit, written := p.job.backoffLimit()
		what := fmt.Sprintf("%d", limit)
		if !written {
			what += ", the default"
		}
		return one(p.path.and("restartPolicy"), "restartPolicy: OnFailure: when backoffLimit (%s) is reached, the Pod is deleted, and its logs with it", what)
	}),
}
