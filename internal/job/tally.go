// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// view is one pod of the Job as the rules see it.
type view struct {
	pod *corev1.Pod
	// standing is what the pod is, by its phase and deletion. Whether a
	// terminating pod counts as failed too is for [syncing.hasFailed] to say.
	standing standing
	// ready only when active.
	ready bool
	// finalizer: the pod has (or gets with its adoption) the tracking finalizer.
	finalizer bool
	// held: it has the finalizer and this process did not take it off
	// already, so it is still to be accounted for.
	held bool
	// index is the completion index, unknownIndex if there is no usable one.
	index int
}

type standing int

const (
	standsActive standing = iota
	standsTerminating
	standsSucceeded
	standsFailed
)

func (v *view) active() bool      { return v.standing == standsActive }
func (v *view) terminating() bool { return v.standing == standsTerminating }
func (v *view) succeeded() bool   { return v.standing == standsSucceeded }
func (v *view) uid() types.UID    { return v.pod.UID }

// tally is the pods of the Job, counted in one pass.
type tally struct {
	// pods in a stable order, oldest first, then by name: all but those that
	// ended and are accounted for. The latter are most of a large Job, no rule
	// looks at them, and so a sync costs what is still to be done.
	pods []*view
	// active pods, in the same order.
	active []*view
	// ready counts active pods that are ready.
	ready int
	// terminating counts pods on their way out that are not yet in a terminal
	// phase.
	terminating int
	// byUID finds them, and has nil for a pod that ended, lost its finalizer
	// and was recorded: it is there, but nothing is left to do with it.
	byUID map[types.UID]*view
}

func count(have []candidate, recorded recordedPods, m Memory, now time.Time, timeout time.Duration) *tally {
	t := &tally{byUID: map[types.UID]*view{}}
	for _, c := range have {
		pod := c.pod
		finalizer := c.adopted || hasFinalizer(pod)
		if !finalizer && ended(pod) {
			t.leaveOut(pod, recorded)
			continue
		}
		if _, twice := t.byUID[pod.UID]; twice {
			continue
		}
		v := &view{pod: pod, finalizer: finalizer, index: indexOf(pod)}
		v.held = v.finalizer && !m.Unfinalizing.Has(pod.UID)
		if !v.held && ended(pod) {
			// What it did before it lost the finalizer is what counts. It may
			// have ended, and ended differently, only afterwards.
			t.leaveOut(pod, recorded)
			continue
		}
		sent, deleting := m.Deleting[pod.UID]
		switch {
		case pod.Status.Phase == corev1.PodSucceeded && recorded.failed.Has(pod.UID):
			// It was recorded while it was on its way out, and then ended well.
			// It stays a failure, or it would be in two counters (JOB-069).
			v.standing = standsFailed
		case pod.Status.Phase == corev1.PodSucceeded:
			v.standing = standsSucceeded
		case pod.Status.Phase == corev1.PodFailed:
			v.standing = standsFailed
		case pod.DeletionTimestamp != nil, deleting && now.Sub(sent) < timeout:
			v.standing = standsTerminating
			t.terminating++
		default:
			v.ready = isReady(pod)
		}
		t.pods = append(t.pods, v)
		t.byUID[pod.UID] = v
	}
	slices.SortFunc(t.pods, byAge)
	for _, v := range t.pods {
		if v.active() {
			t.active = append(t.active, v)
			if v.ready {
				t.ready++
			}
		}
	}
	return t
}

// leaveOut passes over a pod that ended and is accounted for.
func (t *tally) leaveOut(pod *corev1.Pod, recorded recordedPods) {
	if recorded.has(pod.UID) {
		t.byUID[pod.UID] = nil
	}
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func byAge(a, b *view) int {
	return cmp.Or(
		a.pod.CreationTimestamp.Time.Compare(b.pod.CreationTimestamp.Time),
		cmp.Compare(a.pod.Name, b.pod.Name),
		cmp.Compare(a.pod.UID, b.pod.UID),
	)
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// awaited says which own creations the pods do not show yet, and when the first
// of them stops being waited for. Creations that never show up are given up
// after the timeout: the names are deterministic, so nothing is made twice.
func awaited(snapshot Snapshot, timeout time.Duration) (waiting bool, until time.Time) {
	if len(snapshot.Memory.Creating) == 0 {
		return false, time.Time{}
	}
	names := namesOf(snapshot.Pods, snapshot.Job.Namespace)
	for name, sent := range snapshot.Memory.Creating {
		end := sent.Add(timeout)
		if names[name] || !snapshot.Now.Before(end) {
			continue
		}
		if !waiting || end.Before(until) {
			until = end
		}
		waiting = true
	}
	return waiting, until
}

// namesOf are the names that are taken, also by pods that are not the Job's:
// one that was released keeps the name that the Job gave it.
func namesOf(pods []*corev1.Pod, namespace string) map[string]bool {
	names := make(map[string]bool, len(pods))
	for _, pod := range pods {
		if pod != nil && pod.Namespace == namespace {
			names[pod.Name] = true
		}
	}
	return names
}
