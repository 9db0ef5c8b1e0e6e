// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/job"
)

// When are the caches too old to decide on, and the server asked instead? While this process runs, its expectations
// bridge the gap between what it wrote and what the caches show. About what another process wrote (the leader before
// us, we before a restart, one that does not know yet that it leads no more) it expects nothing.

// confirmJob makes sure, when this process finds a Job with pods for the first time, that the Job is not older than its
// pods: pods that another process counted and unfinalized would look as if they had never counted. Afterwards the Job
// is as new as our own last write, unless there is a trace of another process that works on it: a conflict, or a
// finalizer that we did not remove. Then the server is asked again; or else, with a watch of Jobs that stands still,
// one surplus pod could follow the other.
func (c *controller) confirmJob(ctx context.Context, s *job.Snapshot, pods []*corev1.Pod, jobProgress string) (asked bool, err error) {
	j := s.Job
	needed := len(pods) > 0 && c.expectations.carry(j.UID).status == nil && !newerThan(jobProgress, pods)
	c.expectations.update(j.UID, func(e *jobExpectations) { needed = needed || e.otherWriter })
	if !needed {
		return false, nil
	}
	var live batchv1.Job
	err = c.live.Get(ctx, client.ObjectKeyFromObject(j), &live)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.UID != j.UID:
		c.expectations.gone.Add(j.UID, true)
		s.Job = nil
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading Job %s/%s, because the cache may be behind: %w", j.Namespace, j.Name, err)
	}
	c.expectations.update(j.UID, func(e *jobExpectations) { e.otherWriter = false })
	staleSyncSkips.WithLabelValues(batchv1.GroupName, "jobs").Inc()
	c.expectations.ownWrites.Updated(j.UID, &live)
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

// podCacheCoversStatus reports whether the pod cache is new enough for this Job. Of a Job on which another process worked, a
// pod that the cache still shows with its finalizer may have been counted already, and one that it does not show yet
// may be recorded. Both would be counted twice. So wherever we find counts that we did not write, the cache must first
// come as far as the Job that has them.
func (c *controller) podCacheCoversStatus(j *batchv1.Job, progress string) bool {
	carry := c.expectations.carry(j.UID)
	if carry.status == nil && !pristine(j) || carry.status != nil && !sameCounts(carry.status, &j.Status) {
		carry.minPodVersion = j.ResourceVersion
	}
	carry.status = &j.Status
	if carry.minPodVersion == "" {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(progress, carry.minPodVersion)
	if err == nil && order >= 0 {
		carry.minPodVersion = ""
		return true
	}
	return false
}

// sameCounts reports whether two statuses say the same about what is accounted for.
func sameCounts(a, b *batchv1.JobStatus) bool {
	return a.Succeeded == b.Succeeded && a.Failed == b.Failed && a.CompletedIndexes == b.CompletedIndexes &&
		ptr.Equal(a.FailedIndexes, b.FailedIndexes) &&
		equality.Semantic.DeepEqual(a.UncountedTerminatedPods, b.UncountedTerminatedPods)
}

// pristine reports whether no controller has ever written about the Job: then no pods of it can have been accounted
// for.
func pristine(j *batchv1.Job) bool {
	s := &j.Status
	return s.StartTime == nil && s.UncountedTerminatedPods == nil && len(s.Conditions) == 0 &&
		s.Succeeded == 0 && s.Failed == 0 && s.CompletedIndexes == ""
}

// listLive reads the pods of the Job from the API server instead of a cache that is too old. It is one list of few
// pods, and only until the cache has caught up. Pods that the Job's selector does not match are not among the answer;
// they are released without being counted, for which the cache is good enough.
func (c *controller) listLive(ctx context.Context, j *batchv1.Job, cached []*corev1.Pod) ([]*corev1.Pod, error) {
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
		// What was decided upon must not be undone by an older view: the cache is believed again when it has come as
		// far.
		c.expectations.carry(j.UID).minPodVersion = list.ResourceVersion
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
