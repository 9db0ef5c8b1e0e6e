// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import batchv1 "k8s.io/api/batch/v1"

// ManagedByUs reports whether this controller may touch the Job (job.md 1.10). With Options.Standalone those are Jobs
// without spec.managedBy, those that name the built-in controller, and those that name Options.ManagedBy; otherwise only the
// latter, compared exactly. The field is immutable, but a name is not an object: ask again for every freshly read Job.
// A nil Job is nobody's.
func ManagedByUs(job *batchv1.Job, options Options) bool {
	if job == nil {
		return false
	}
	manager := job.Spec.ManagedBy
	switch {
	case manager == nil || *manager == batchv1.JobControllerName:
		return options.Standalone
	default:
		return options.ManagedBy != "" && *manager == options.ManagedBy
	}
}
