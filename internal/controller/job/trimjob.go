// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/job"
)

// TrimJob returns the transform for Jobs in the manager's cache: it drops managed fields, and the Pod template of each
// Job for which no Pods are made any more, which is the greater part of most Jobs that lie around: of those that are
// finished, and of those that are not ours. options are those of the Job controller; nil means that it does not run.
// A status is written with the whole Job, but only while it is ours and not finished. Other objects pass unchanged.
func TrimJob(options *Options) toolscache.TransformFunc {
	var makesPods func(*batchv1.Job) bool
	if options == nil {
		makesPods = func(*batchv1.Job) bool { return false }
	} else {
		rules := options.withDefaults().rules()
		makesPods = func(j *batchv1.Job) bool { return job.IsOurs(j, rules) && !job.Finished(j) }
	}
	trim := func(obj any) {
		j, ok := obj.(*batchv1.Job)
		if !ok || j == nil {
			return
		}
		j.ManagedFields = nil
		if !makesPods(j) {
			j.Spec.Template = corev1.PodTemplateSpec{}
		}
	}
	return func(obj any) (any, error) {
		if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
			trim(tombstone.Obj)
		}
		trim(obj)
		return obj, nil
	}
}
