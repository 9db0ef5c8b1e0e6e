// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/job"
)

// gather reads what a decision about the Job may look at. The Job is the newer
// one of the cache and our own last write; the pods come from the cache, whose
// lag behind our own writes the memory makes up for.
func (c *controller) gather(ctx context.Context, key types.NamespacedName) (job.Snapshot, error) {
	s := job.Snapshot{Now: c.clock.Now(), Options: c.options.rules(), PodsCurrent: true}
	jobProgress := c.jobProgress()
	s.Job = c.cache.job(key)
	if !job.Mine(s.Job, s.Options) {
		// Neither may it be touched, nor is anything kept about it. Asked here again and
		// not only when the event came: a name is not an object.
		return s, nil
	}
	uid := s.Job.UID
	if _, gone := c.departed.Get(uid); gone {
		s.Job = nil // its deletion is about to be seen
		return s, nil
	}
	s.Job, _ = c.ownWrites.Latest(s.Job)
	s.Expectations = c.memory.recall(uid)
	if s.Expectations.Finished || job.Finished(s.Job) {
		s.Pods = c.cache.heldOf(uid)
		return s, nil
	}
	owned, progress := c.list(&s)
	if asked, err := c.meet(ctx, &s, owned, jobProgress); err != nil || s.Job == nil {
		return s, err
	} else if asked {
		owned, progress = c.list(&s) // the cache has moved on meanwhile
	}
	c.memory.settle(uid, s.Expectations, owned)
	c.memory.resize(uid, len(owned))
	if s.Job.DeletionTimestamp == nil {
		s.Pods = append(owned, c.cache.strays(s.Job)...)
	} else {
		s.Pods = owned
	}
	believable := c.believable(s.Job, progress)
	creating, deleting := s.Expectations.Expired(s.Now, s.Options)
	if believable && len(creating)+len(deleting) == 0 {
		return s, nil
	}
	var err error
	if s.Pods, err = c.look(ctx, s.Job, s.Pods); err == nil {
		c.memory.verify(uid, creating, deleting, s.Pods, owned)
	}
	return s, err
}

// list reads the pods of the Job from the cache, and before them what must not be
// newer than they are: how far the cache has come, and what it may not show yet.
func (c *controller) list(s *job.Snapshot) (owned []*corev1.Pod, progress string) {
	progress = c.progress()
	s.Expectations = c.memory.recall(s.Job.UID)
	return c.cache.podsOf(s.Job.UID), progress
}

// verify forgets the overdue calls that a live look at the pods shows to have
// done nothing, or all that they could. Those that the cache has yet to show stay:
// without them a cache that lags so far would be believed again in the next sync.
func (m *memories) verify(uid types.UID, creating []string, deleting []types.UID, live, cached []*corev1.Pod) {
	names, untouched := sets.New[string](), map[types.UID]bool{}
	for _, pod := range cached {
		untouched[pod.UID] = false
	}
	for _, pod := range live {
		names.Insert(pod.Name)
		untouched[pod.UID] = pod.DeletionTimestamp == nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	for _, name := range creating {
		if !names.Has(name) {
			delete(mem.creating, name)
		}
	}
	for _, pod := range deleting {
		if nothing, there := untouched[pod]; nothing || !there {
			delete(mem.deleting, pod)
		}
	}
}

// meet makes sure, when this process finds a Job with pods for the first time,
// that the Job is not older than its pods: pods that were counted and released
// by another process would look as if they had never counted. Afterwards the
// Job is as new as our own last write, unless there is a trace of another process
// that works on it: a conflict, or a finalizer that we did not remove. Then the
// server is asked again; or else, with a watch of Jobs that stands still, one
// surplus pod could follow the other.
func (c *controller) meet(ctx context.Context, s *job.Snapshot, pods []*corev1.Pod, jobProgress string) (asked bool, err error) {
	j := s.Job
	unmet := len(pods) > 0 && c.memory.of(j.UID).known == nil && !newerThan(jobProgress, pods)
	if !unmet && !c.memory.isDoubted(j.UID) {
		return false, nil
	}
	var live batchv1.Job
	err = c.live.Get(ctx, client.ObjectKeyFromObject(j), &live)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.UID != j.UID:
		c.departed.Add(j.UID, true)
		s.Job = nil
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading Job %s/%s, because the cache may be behind: %w", j.Namespace, j.Name, err)
	}
	c.memory.notDoubted(j.UID)
	staleSyncSkips.WithLabelValues(batchv1.GroupName, "jobs").Inc()
	c.ownWrites.Updated(j.UID, &live)
	s.Job = &live // what was read is as new as anything; to ask the store again would make it forget our own write
	return true, nil
}

// newerThan reports whether a cache that has come so far is newer than the pods.
func newerThan(progress string, pods []*corev1.Pod) bool {
	for _, pod := range pods {
		if order, err := resourceversion.CompareResourceVersion(progress, pod.ResourceVersion); err != nil || order < 0 {
			return false
		}
	}
	return true
}

// believable reports whether the pod cache is new enough for this Job.
//
// While this process runs, the memory bridges the gap between what it wrote and
// what the cache shows. About what another process wrote before (the leader
// before us, we before a restart, one that does not know yet that it leads no
// more) there is no memory: then a pod that the cache still shows with its
// finalizer may have been counted already, and one that it does not show yet may
// be recorded. Both would be counted twice. So wherever we find counts that we
// did not write, the cache must first come as far as the Job that has them.
func (c *controller) believable(j *batchv1.Job, progress string) bool {
	mem := c.memory.of(j.UID)
	if mem.known == nil && !pristine(j) || mem.known != nil && !sameCounts(mem.known, &j.Status) {
		mem.floor = j.ResourceVersion
	}
	mem.known = &j.Status
	if mem.floor == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(progress, mem.floor)
	if err == nil && order >= 0 {
		mem.floor = ""
		return true
	}
	return false
}

// look reads the pods of the Job from the API server instead of a cache that is
// too old. It is one list of few pods, and only until the cache has caught up.
// Pods that the Job's selector does not match are not among the answer; they are
// released without being counted, for which the cache is good enough.
func (c *controller) look(ctx context.Context, j *batchv1.Job, cached []*corev1.Pod) ([]*corev1.Pod, error) {
	selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector)
	if err != nil {
		return cached, nil
	}
	staleSyncSkips.WithLabelValues("", "pods").Inc()
	var list corev1.PodList
	if err := c.live.List(ctx, &list, client.InNamespace(j.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("reading the pods of Job %s/%s, because the cache is behind: %w", j.Namespace, j.Name, err)
	}
	if list.ResourceVersion != "" {
		// What was decided upon must not be undone by an older view: the cache is believed again when it has come as far.
		c.memory.of(j.UID).floor = list.ResourceVersion
	}
	pods := make([]*corev1.Pod, 0, len(list.Items))
	listed := sets.New[types.UID]()
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
		listed.Insert(list.Items[i].UID)
	}
	for _, pod := range cached {
		if !listed.Has(pod.UID) && !selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}
