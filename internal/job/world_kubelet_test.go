// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// What the kubelet and users do.

func (w *world) start(uid types.UID) {
	if pod := w.pods[uid]; pod != nil && pod.Status.Phase == corev1.PodPending {
		pod.Spec.NodeName = "node"
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now)}}
		w.changed(uid)
	}
}

// restartContainer starts the container of a running pod anew.
func (w *world) restartContainer(uid types.UID) {
	pod := w.pods[uid]
	if len(pod.Status.ContainerStatuses) == 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
	}
	c := &pod.Status.ContainerStatuses[0]
	c.RestartCount++
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(w.now)}
	w.changed(uid)
}

func (w *world) end(uid types.UID, code int32) {
	pod := w.pods[uid]
	if pod == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	pod.Spec.NodeName = "node"
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.Conditions = nil
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.now.Add(w.clockAhead))}}}}
	if HasFinalizer(pod) {
		w.ended[uid] = pod.Status.Phase
	}
	w.changedOrGone(uid)
}

// finishDeletions lets every pod that is being deleted end.
func (w *world) finishDeletions() {
	for _, uid := range w.order {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp != nil {
			w.end(uid, 143)
			if w.pods[uid] != nil {
				w.changedOrGone(uid)
			}
		}
	}
}

// alive are the pods that exist and have not ended, oldest first.
func (w *world) alive() (uids []types.UID) {
	for _, uid := range w.order {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			uids = append(uids, uid)
		}
	}
	return uids
}

func (w *world) edit(spec func(*batchv1.Job)) {
	before := w.job
	w.job = w.job.DeepCopy()
	spec(w.job)
	w.job.Generation++
	w.shrunk = w.shrunk || ptr.Deref(w.job.Spec.Completions, 0) < ptr.Deref(before.Spec.Completions, 0)
}

// settle syncs until nothing changes any more, moving time to the wake-ups that come within the given span.
func (w *world) settle(within time.Duration) {
	until := w.now.Add(within)
	for range 1000 {
		before := w.effects
		plan, err, crashed := w.sync()
		w.catchUpAll()
		if crashed {
			w.crashAfter, w.crashOn = -1, nil
			w.restart()
			continue
		}
		if w.effects != before {
			continue
		}
		wake := plan.Wake
		if record := plan.PlanStatus(Results{}); plan.sync != nil {
			wake = Earlier(wake, record.Wake)
		}
		if err != nil {
			wake = Earlier(wake, w.now.Add(time.Second))
		}
		if wake.IsZero() || wake.After(until) {
			return
		}
		w.now = wake
	}
	w.breaks("the controller does not come to rest: %s", strings.Join(w.log[max(0, len(w.log)-20):], "; "))
}

// holders are the pods that hold the finalizer.
func (w *world) holders() (n int) {
	for _, pod := range w.pods {
		if HasFinalizer(pod) {
			n++
		}
	}
	return n
}
