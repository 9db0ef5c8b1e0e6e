// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// edit is what a user does to a Job or to a pod of it, unless the server would
// refuse it.
func (s *simulation) edit(e simEdit) {
	planned := s.plan.jobs[e.job]
	name := planned.obj.Name
	if planned.quiet || s.calm {
		return
	}
	if e.what == "recreate" {
		s.make(e.job)
		return
	}
	j, _ := s.server.Get("Job", ns, name).(*batchv1.Job)
	if j == nil {
		return
	}
	n := int32(e.arg)
	indexed := job.CompletionMode(j) == batchv1.IndexedCompletion
	change := func(edit func(*batchv1.Job)) { sim.Edit(s.server, "user", e.what, ns, name, edit) }
	switch e.what {
	case "parallelism":
		change(func(j *batchv1.Job) { j.Spec.Parallelism = &n })
	case "resize":
		if limit := j.Spec.MaxFailedIndexes; indexed && ptr.Deref(limit, 0) <= n && j.Spec.SuccessPolicy == nil {
			change(func(j *batchv1.Job) { j.Spec.Parallelism, j.Spec.Completions = &n, new(n) })
		}
	case "suspend", "resume":
		change(func(j *batchv1.Job) { j.Spec.Suspend = new(e.what == "suspend") })
	case "deadline":
		change(func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = new(int64(20 * n)) })
	case "backoffLimit":
		change(func(j *batchv1.Job) { j.Spec.BackoffLimit = &n })
	case "annotate":
		change(func(j *batchv1.Job) {
			j.Annotations = map[string]string{"example.com/note": s.world.Now().String()}
		})
	case "delete":
		how := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
		_ = s.server.Delete("user", "Job", ns, name, sim.Deletion{Propagation: how[e.arg%len(how)]})
	default:
		s.editPod(e, j.UID)
	}
}

// editPod is what a user does to one of a Job's pods.
func (s *simulation) editPod(e simEdit, uid types.UID) {
	var pods []*corev1.Pod
	for _, obj := range s.server.List("Pod") {
		pod := obj.(*corev1.Pod)
		if t := s.truth.pods[pod.UID]; t.job == uid {
			pods = append(pods, pod)
		}
	}
	if len(pods) == 0 {
		return
	}
	pod := pods[e.arg%len(pods)]
	change := func(edit func(*corev1.Pod)) { sim.Edit(s.server, "user", e.what, ns, pod.Name, edit) }
	touched := s.truth.pods[pod.UID]
	switch e.what {
	case "delete a pod":
		_ = s.server.Delete("user", "Pod", ns, pod.Name, sim.Deletion{})
	case "kill a pod":
		_ = s.server.Delete("user", "Pod", ns, pod.Name, sim.Deletion{Grace: new(int64)})
	case "unlabel a pod":
		touched.claimed = true
		change(func(p *corev1.Pod) { delete(p.Labels, batchv1.ControllerUidLabel) })
	case "relabel a pod":
		touched.claimed = true
		change(func(p *corev1.Pod) { p.Labels[batchv1.ControllerUidLabel] = string(uid) })
	case "orphan a pod":
		touched.claimed = true
		change(func(p *corev1.Pod) { p.OwnerReferences = nil })
	case "free a pod":
		touched.freed = true
		change(func(p *corev1.Pod) {
			p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == job.Finalizer })
		})
	case "annotate a pod":
		change(func(p *corev1.Pod) {
			p.Labels["example.com/note"] = s.world.Now().Truncate(time.Second).String()
		})
	}
}
