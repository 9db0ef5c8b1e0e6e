// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import batchv1 "k8s.io/api/batch/v1"

// IsOurs reports whether this controller may touch the Job (job.md 1.10): one whose spec.managedBy is
// Options.ManagedBy, compared exactly, and no other. With Options.Standalone there is no built-in controller: Jobs
// without spec.managedBy and those that name it are ours, too. The field is immutable, but a name is not an object: ask
// again for every freshly read Job. A nil Job is nobody's.
func IsOurs(job *batchv1.Job, options Options) bool {
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
