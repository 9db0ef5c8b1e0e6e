// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/job"
)

// gather reads what a decision about the Job may look at. The Job is the newer one of the cache and our own last write;
// the pods come from the cache, whose lag behind our own writes the expectations make up for.
func (c *controller) gather(ctx context.Context, key types.NamespacedName) (job.Snapshot, error) {
	s := job.Snapshot{Now: c.clock.Now(), Options: c.options.rules(), PodsCurrent: true}
	jobProgress := c.jobProgress()
	s.Job = c.cache.job(key)
	if !job.IsOurs(s.Job, s.Options) {
		// Neither may it be touched, nor is anything kept about it. Asked here again and not only when the event came:
		// a name is not an object.
		return s, nil
	}
	uid := s.Job.UID
	if _, gone := c.expectations.gone.Get(uid); gone {
		s.Job = nil // its deletion is about to be seen
		return s, nil
	}
	c.expectations.update(uid, func(e *jobExpectations) { e.lastSync = s.Now })
	s.Job, _ = c.expectations.ownWrites.Latest(s.Job)
	s.Expectations = c.expectations.recall(uid)
	if s.Expectations.Finished || job.Finished(s.Job) {
		s.Pods = c.cache.heldOf(uid)
		return s, nil
	}
	owned, progress := c.list(&s)
	if asked, err := c.confirmJob(ctx, &s, owned, jobProgress); err != nil || s.Job == nil {
		return s, err
	} else if asked {
		owned, progress = c.list(&s) // the cache has moved on meanwhile
	}
	c.expectations.observeCache(uid, s.Expectations, owned)
	c.expectations.update(uid, func(e *jobExpectations) { e.pods = len(owned) })
	if s.Job.DeletionTimestamp == nil {
		s.Pods = append(owned, c.cache.orphanPods(s.Job)...)
	} else {
		s.Pods = owned
	}
	caughtUp := c.podCacheCoversStatus(s.Job, progress)
	creating, deleting := s.Expectations.ListExpired(s.Now, s.Options)
	if caughtUp && len(creating)+len(deleting) == 0 {
		return s, nil
	}
	var err error
	if s.Pods, err = c.listLive(ctx, s.Job, s.Pods); err == nil {
		c.expectations.observeServer(uid, creating, deleting, s.Pods, owned)
	}
	return s, err
}

// list reads the pods of the Job from the cache, and before them what must not be newer than they are: how far the
// cache has come, and what it may not show yet.
func (c *controller) list(s *job.Snapshot) (owned []*corev1.Pod, progress string) {
	progress = c.progress()
	s.Expectations = c.expectations.recall(s.Job.UID)
	return c.cache.podsOf(s.Job.UID), progress
}
