// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// PodFinished reports whether the pod has ended: its phase is Succeeded or Failed.
func PodFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// PodReady reports whether the pod's condition Ready is True.
func PodReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// HasFinalizer reports whether the pod holds the tracking [Finalizer].
func HasFinalizer(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, Finalizer) }

// podView is one pod of the Job as the rules see it.
type podView struct {
	pod   *corev1.Pod
	state podState
	// ready only when active.
	ready bool
	// finalizer: the pod has (or gets with its adoption) the tracking finalizer.
	finalizer bool
	// tracked: it has the finalizer and this process did not take it off already, so it is still to be accounted for.
	tracked bool
	// deleting: this process deleted it, and the cache may not show that yet.
	deleting bool
	// index is the completion index, unknownIndex if there is no usable one.
	index int
}

// podState is what a pod is, by its phase and deletion (job.md 1.1). Whether a terminating pod counts as failed too is
// for [syncState.hasFailed] to say.
type podState int

const (
	podActive podState = iota
	podTerminating
	podSucceeded
	podFailed
)

func (v *podView) active() bool      { return v.state == podActive }
func (v *podView) terminating() bool { return v.state == podTerminating }
func (v *podView) succeeded() bool   { return v.state == podSucceeded }
func (v *podView) uid() types.UID    { return v.pod.UID }

// deleted: its deletion was asked for, whether it has ended since or not.
func (v *podView) deletionRequested() bool { return v.deleting || v.pod.DeletionTimestamp != nil }

// jobPods is the pods of the Job and their numbers.
type jobPods struct {
	// relevant pods in a stable order, oldest first, then by name: all but those that ended and are accounted for. The
	// latter are most of a large Job, no rule looks at them, and so a sync costs what is still to be done.
	relevant []*podView
	// active pods, in the same order.
	active []*podView
	// ready counts active pods that are ready, terminating those that are being deleted and have not ended yet.
	ready, terminating int
	// byUID finds them, and has nil for a pod that ended, lost its finalizer and was recorded: it is there, but nothing
	// is left to do with it.
	byUID map[types.UID]*podView
}

func classifyPods(owned []claimedPod, recorded recordedPods, e Expectations, now time.Time, timeout time.Duration) *jobPods {
	p := &jobPods{byUID: map[types.UID]*podView{}}
	for _, c := range owned {
		pod := c.pod
		finalizer := c.adopted || HasFinalizer(pod)
		tracked := finalizer && !e.Unfinalizing.Has(pod.UID)
		if !tracked && PodFinished(pod) {
			// What it did before it lost the finalizer is what counts. It may have ended, and ended differently, only
			// afterwards.
			if recorded.has(pod.UID) {
				p.byUID[pod.UID] = nil
			}
			continue
		}
		if _, twice := p.byUID[pod.UID]; twice {
			continue
		}
		sent, deleting := e.Deleting[pod.UID]
		deleting = deleting && now.Sub(sent) < timeout
		v := &podView{pod: pod, finalizer: finalizer, tracked: tracked, deleting: deleting, index: indexOf(pod)}
		switch {
		case pod.Status.Phase == corev1.PodSucceeded && recorded.failed.Has(pod.UID):
			// It was recorded while it was terminating, and then ended well. It stays a failure, or it would be in two
			// counters (JOB-069).
			v.state = podFailed
		case pod.Status.Phase == corev1.PodSucceeded:
			v.state = podSucceeded
		case pod.Status.Phase == corev1.PodFailed:
			v.state = podFailed
		case v.deletionRequested():
			v.state = podTerminating
			p.terminating++
		default:
			v.ready = PodReady(pod)
		}
		p.relevant = append(p.relevant, v)
		p.byUID[pod.UID] = v
	}
	slices.SortFunc(p.relevant, byAge)
	for _, v := range p.relevant {
		if v.active() {
			p.active = append(p.active, v)
			if v.ready {
				p.ready++
			}
		}
	}
	return p
}

// hasFailed reports whether a pod counts as failed (job.md 1.1): its phase says so, or it is terminating and the Job
// does not wait for such pods.
func (s *syncState) hasFailed(v *podView) bool {
	return v.state == podFailed || v.terminating() && !s.replacesOnlyFailed
}

// replacesOnlyFailed reports whether a terminating pod is neither failed nor replaced until its phase is terminal:
// podReplacementPolicy Failed, or any podFailurePolicy, which needs the final state of the pod.
func replacesOnlyFailed(job *batchv1.Job) bool {
	return job.Spec.PodFailurePolicy != nil ||
		ptr.Deref(job.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed
}

func byAge(a, b *podView) int {
	return cmp.Or(
		a.pod.CreationTimestamp.Time.Compare(b.pod.CreationTimestamp.Time),
		cmp.Compare(a.pod.Name, b.pod.Name),
		cmp.Compare(a.pod.UID, b.pod.UID),
	)
}

// pendingCreations says whether the pods do not show all own creations yet, and when the first of those stops being
// waited for. Creations that never show up are given up after the timeout: the names are deterministic, so nothing is
// made twice. Any pod of the name will do: should an old cache show an earlier one, the name is taken and that one is
// counted in its place.
func pendingCreations(snapshot Snapshot, timeout time.Duration) (pending bool, until time.Time) {
	if len(snapshot.Expectations.Creating) == 0 {
		return false, time.Time{}
	}
	names := namesOf(snapshot.Pods, snapshot.Job.Namespace)
	for name, sent := range snapshot.Expectations.Creating {
		end := sent.Add(timeout)
		if names[name] || !snapshot.Now.Before(end) {
			continue
		}
		until, pending = Earlier(until, end), true
	}
	return pending, until
}

// namesOf are the names that are taken, also by pods that are not the Job's: one that was released keeps the name that
// the Job gave it.
func namesOf(pods []*corev1.Pod, namespace string) map[string]bool {
	names := make(map[string]bool, len(pods))
	for _, pod := range pods {
		if pod != nil && pod.Namespace == namespace {
			names[pod.Name] = true
		}
	}
	return names
}
