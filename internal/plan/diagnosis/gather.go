// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Gather finds among objects what tells of a CronJob or Timetable, or of the Job of that name where job is not "". What
// cannot be read is left out.
func Gather(all *workload.Objects, scheduled *workload.Scheduled, namespace, job string) *Evidence {
	e := &Evidence{Scheduled: scheduled}
	objects := slices.Concat(all.Jobs, all.Others)
	if job != "" {
		e.Job = findJob(all.Jobs, namespace, job)
		if e.Job == nil {
			return e
		}
		e.Scheduled = ownerOf(all.Scheduled, e.Job)
	}
	if e.Scheduled != nil {
		namespace = e.Scheduled.Owner.Namespace
		e.Runs = runsOf(e.Scheduled, objects)
	}
	uids, names := e.involved()
	for _, o := range objects {
		content := o.Content
		switch in := cmp.Or(content.GetNamespace(), namespace) == namespace; content.GetKind() {
		case "Job":
			e.Read.Jobs = true
		case "Pod":
			e.Read.Pods = true
			if pod, ok := as[corev1.Pod](content); ok && in && ownedBy(pod, uids, names) {
				e.Pods = append(e.Pods, *pod)
			}
		case "Event":
			e.Read.Events = true
			if event, ok := ReadEvent(content); ok && in {
				e.Events = append(e.Events, event)
			}
		case "Namespace":
			if ns, ok := as[corev1.Namespace](content); ok && ns.Name == namespace {
				e.Namespace = ns
			}
		case "ResourceQuota":
			if quota, ok := as[corev1.ResourceQuota](content); ok && in {
				e.Quotas = append(e.Quotas, *quota)
			}
		case "Lease":
			e.Read.Leases = true
			if lease, ok := as[coordinationv1.Lease](content); ok && isControllerLease(lease) {
				e.Leases = append(e.Leases, *lease)
			}
		}
	}
	e.Events = slices.DeleteFunc(e.Events, func(event Event) bool { return !e.concerns(event) })
	slices.SortStableFunc(e.Events, func(a, b Event) int { return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Message, b.Message)) })
	slices.SortStableFunc(e.Pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return e
}

func findJob(jobs []workload.Object, namespace, name string) *batchv1.Job {
	for _, o := range jobs {
		if o.Content.GetName() != name || o.Content.GroupVersionKind() != batchv1.SchemeGroupVersion.WithKind("Job") {
			continue
		}
		if namespace != "" && cmp.Or(o.Content.GetNamespace(), namespace) != namespace {
			continue
		}
		if job, ok := as[batchv1.Job](o.Content); ok {
			return job
		}
	}
	return nil
}

func ownerOf(all []*workload.Scheduled, job *batchv1.Job) *workload.Scheduled {
	ref := metav1.GetControllerOf(job)
	if ref == nil {
		return nil
	}
	for _, s := range all {
		if refersTo(ref, s) && s.Owner.Namespace == cmp.Or(job.Namespace, s.Owner.Namespace) {
			return s
		}
	}
	return nil
}

// refersTo tells whether an owner reference is to a CronJob or Timetable; by name where a file has no UIDs.
func refersTo(ref *metav1.OwnerReference, s *workload.Scheduled) bool {
	if ref == nil || ref.Kind != s.Kind.Info().Owner.Kind {
		return false
	}
	if s.Owner.UID == "" || ref.UID == "" {
		return ref.Name == s.Owner.Name
	}
	return ref.UID == s.Owner.UID
}

// involved are the UIDs and names of the objects whose events and Pods matter.
func (e *Evidence) involved() (uids map[types.UID]bool, names map[string]bool) {
	uids, names = map[types.UID]bool{}, map[string]bool{}
	for i := range e.Runs {
		uids[e.Runs[i].UID], names[e.Runs[i].Name] = true, true
	}
	if e.Job != nil {
		uids[e.Job.UID], names[e.Job.Name] = true, true
	}
	delete(uids, "")
	return uids, names
}

func ownedBy(pod *corev1.Pod, uids map[types.UID]bool, names map[string]bool) bool {
	if ref := metav1.GetControllerOf(pod); ref != nil {
		return uids[ref.UID] || ref.UID == "" && names[ref.Name]
	}
	return names[jobNameOf(pod)]
}

func jobNameOf(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[batchv1.JobNameLabel], pod.Labels["job-name"])
}

// concerns tells whether an event is about what is asked about, its runs or their Pods.
func (e *Evidence) concerns(event Event) bool {
	if s := e.Scheduled; s != nil && event.Kind == s.Kind.Info().Owner.Kind && event.Name == s.Owner.Name {
		return event.UID == "" || s.Owner.UID == "" || event.UID == s.Owner.UID
	}
	if e.Job != nil && event.Kind == "Job" && event.Name == e.Job.Name {
		return true
	}
	for i := range e.Runs {
		if event.Kind == e.Runs[i].Kind && event.Name == e.Runs[i].Name {
			return true
		}
	}
	return event.Kind == "Pod" && slices.ContainsFunc(e.Pods, func(p corev1.Pod) bool { return p.Name == event.Name })
}

// as reads an object by its Go type.
func as[T any](content *unstructured.Unstructured) (*T, bool) {
	typed := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, typed)
	return typed, err == nil
}

// Newest is the newest instant that any of the objects tells of, for objects that somebody saved: not much later, it
// was read. Zero if they tell of none.
func Newest(all *workload.Objects) time.Time {
	var newest time.Time
	var visit func(value any)
	visit = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inside := range value {
				if key != "spec" { // which may name times to come
					visit(inside)
				}
			}
		case []any:
			for _, inside := range value {
				visit(inside)
			}
		case string:
			if t, err := time.Parse(time.RFC3339, value); err == nil && t.After(newest) {
				newest = t
			}
		}
	}
	scan := func(object *unstructured.Unstructured) {
		visit(object.Object["metadata"])
		if status, ok := object.Object["status"].(map[string]any); ok {
			for key, inside := range status {
				if key != "next" { // times to come
					visit(inside)
				}
			}
		}
		visit(object.Object["lastTimestamp"])
	}
	for _, s := range all.Scheduled {
		scan(s.Content)
	}
	for _, o := range slices.Concat(all.Jobs, all.Others) {
		scan(o.Content)
	}
	return newest
}
