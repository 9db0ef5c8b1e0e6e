// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// podView is what is remembered of a Pod.
type podView struct {
	job        types.UID
	containers map[string]*containerView
}

// containerView is what is remembered of a container. A status shows the instance that is and the one before
// it; older ones never come back, so two are enough.
type containerView struct {
	ids  [2]string // of the newest instances that have, or had, a reader
	last *reading  // of the newest
}

func (f *Follower) pod(ctx context.Context, pod *corev1.Pod) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "Job" && owner.Kind != timetableName {
		return
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || !f.isFollowed(version.Group, pod.Namespace, owner.Name) {
		return
	}
	if owner.Kind == timetableName {
		f.addPod(pod, pod.UID) // each is a run of its own
	} else {
		f.addPod(pod, owner.UID)
	}
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, s := range statuses {
		f.container(ctx, pod, s, len(statuses) > 1)
	}
	if f.opts.Job.Name != "" && f.opts.OnObstacle != nil {
		if why, stuck := podObstacle(pod); stuck {
			f.opts.OnObstacle(why)
		}
	}
}

// addPod begins to remember a Pod, for its Job, or for itself if it has none.
func (f *Follower) addPod(pod *corev1.Pod, job types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pods[pod.UID] == nil {
		f.pods[pod.UID] = &podView{job: job, containers: map[string]*containerView{}}
		f.runOf(job).pods++
	}
}

func (f *Follower) forgetPod(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.pods[uid]
	if view == nil {
		return
	}
	delete(f.pods, uid)
	if r := f.jobs[view.job]; r != nil {
		r.pods--
		f.release(view.job)
	}
}

// container starts a reader for each instance of a container that its status shows: the current one,
// and the one before it, which may have come and gone between two looks.
func (f *Follower) container(ctx context.Context, pod *corev1.Pod, s corev1.ContainerStatus, several bool) {
	if t := s.LastTerminationState.Terminated; t != nil && s.RestartCount > 0 && !f.ended(t) {
		f.instance(ctx, pod, s.Name, t.ContainerID, s.RestartCount-1, several, t.StartedAt.Time)
	}
	switch {
	case s.State.Running != nil:
		f.instance(ctx, pod, s.Name, s.ContainerID, s.RestartCount, several, s.State.Running.StartedAt.Time)
	case s.State.Terminated != nil && !f.ended(s.State.Terminated):
		f.instance(ctx, pod, s.Name, s.ContainerID, s.RestartCount, several, s.State.Terminated.StartedAt.Time)
	}
}

// ended tells whether an instance is history, or never ran.
func (f *Follower) ended(t *corev1.ContainerStateTerminated) bool {
	return t.ContainerID == "" || t.FinishedAt.Time.Before(f.opts.Since.Add(-clockSkew))
}

func (f *Follower) instance(ctx context.Context, pod *corev1.Pod, name, id string, restarts int32, several bool, began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	view := f.pods[pod.UID]
	if view == nil {
		return
	}
	c := view.containers[name]
	if c == nil {
		c = &containerView{}
		view.containers[name] = c
	}
	if slices.Contains(c.ids[:], id) {
		return
	}
	c.ids[0], c.ids[1] = c.ids[1], id
	r := f.runOf(view.job)
	if r.told {
		return
	}
	source := pod.Name
	if several {
		source += "/" + name
	}
	this := &reading{done: make(chan struct{})}
	l := log{
		client: f.opts.Client, console: f.opts.Console, namespace: pod.Namespace, pod: pod.Name, container: name, instance: restarts,
		source: source, before: c.last, this: this, passed: &r.passed,
	}
	c.last = this
	if began.Before(f.opts.Since.Add(-clockSkew)) {
		since := metav1.NewTime(f.opts.Since)
		l.since = &since
	}
	r.readers.Add(1)
	f.reading.Go(func() {
		defer r.readers.Done()
		defer close(this.done)
		l.read(ctx)
	})
}
