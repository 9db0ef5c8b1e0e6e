// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// tooManyFailures is the rule of spec.backoffLimit (job.md 5.3): more failed pods than the limit or, for restartPolicy
// OnFailure, as many container restarts in pods that still run (any restart when the limit is 0).
func (s *syncState) tooManyFailures() bool {
	limit := int(ptr.Deref(s.job.Spec.BackoffLimit, defaultBackoffLimit))
	if s.failed > limit {
		return true
	}
	if s.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := 0
	for _, v := range s.pods.relevant {
		if phase := v.pod.Status.Phase; phase != corev1.PodPending && phase != corev1.PodRunning {
			continue
		}
		for i := range v.pod.Status.InitContainerStatuses {
			restarts += int(v.pod.Status.InitContainerStatuses[i].RestartCount)
		}
		for i := range v.pod.Status.ContainerStatuses {
			restarts += int(v.pod.Status.ContainerStatuses[i].RestartCount)
		}
	}
	return restarts > 0 && restarts >= limit
}

// defaultBackoffLimit stands in where the API server's default is missing.
const defaultBackoffLimit = 6
