// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// cached is the Job as the cache has it, nil if it has none or the Job is not one of those to be cleaned up. It is
// shared: read only.
func (c *controller) cached(key types.NamespacedName) *batchv1.Job {
	j := c.jobs(key)
	if j == nil || !c.mine(j) {
		return nil
	}
	return j
}

// read is the Job as the API server has it, nil if it has none. Deleting is final, so it is never decided on a cache
// that may lag behind an edit.
func (c *controller) read(ctx context.Context, key types.NamespacedName) (*batchv1.Job, error) {
	var j batchv1.Job
	err := c.live.Get(ctx, key, &j)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Job %s, whose time to live is over: %w", key, err)
	case !c.mine(&j):
		return nil, nil
	}
	return &j, nil
}

// mine reports whether the Job may be deleted by us at all.
func (c *controller) mine(j *batchv1.Job) bool {
	if c.options.ManagedBy == "" {
		return true
	}
	return j.Spec.ManagedBy != nil && *j.Spec.ManagedBy == c.options.ManagedBy
}
