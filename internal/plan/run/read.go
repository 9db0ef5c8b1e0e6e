// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/outcome"
)

// FromJob reads a Job of batch/v1. What its attempts tell is not in it (Sum). The Job is not modified.
func FromJob(j *batchv1.Job) Run {
	r := fromMetadata(j, batchv1.SchemeGroupVersion.String(), "Job")
	r.Started = instant(j.Status.StartTime)
	r.PodsSucceeded, r.PodsFailed, r.PodsRunning = j.Status.Succeeded, j.Status.Failed, j.Status.Active
	if j.Spec.Completions != nil {
		r.Completions = *j.Spec.Completions
	}
	switch finished := job.FinishedCondition(j.Status.Conditions); {
	case finished == nil:
		r.Suspended = j.Spec.Suspend != nil && *j.Spec.Suspend && j.Status.Active == 0 // Pods may not have been stopped yet
	case finished.Type == batchv1.JobComplete:
		r.Outcome, r.Reason, r.Message = Succeeded, finished.Reason, finished.Message
		if r.Ended = instant(j.Status.CompletionTime); r.Ended.IsZero() {
			r.Ended = instant(&finished.LastTransitionTime)
		}
	default:
		r.Outcome, r.Reason, r.Message = Failed, finished.Reason, finished.Message
		r.Ended = instant(&finished.LastTransitionTime)
	}
	r.stop(j)
	return r
}

// stop takes in that somebody has asked for the deletion of the run's object.
func (r *Run) stop(object metav1.Object) {
	switch stopped := outcome.Stopped(object); {
	case stopped.IsZero():
	case !r.Outcome.Ended():
		r.Stopping = true
	case outcome.FailedByStop(stopped, r.Ended):
		r.FailedByStop()
	}
}

// FromObject reads any object that a schedule may start. owner is the CronJob or Timetable that controls it, in the Go
// type of its kind; nil if that is not known: then the end of a kind that only spec.outcome of a Timetable tells stays
// unknown, and the run Active. Nothing is modified.
func FromObject(object *unstructured.Unstructured, owner adapter.Object) Run {
	gvk := object.GroupVersionKind()
	apiVersion, kindName := gvk.ToAPIVersionAndKind()
	if gvk == batchv1.SchemeGroupVersion.WithKind("Job") {
		typed := &batchv1.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err == nil {
			return FromJob(typed)
		}
	}
	r := fromMetadata(object, apiVersion, kindName)
	r.Started = textTime(object, "status", "startTime")
	if rule := outcome.Known(apiVersion, kindName); rule != nil {
		if is, err := rule.Of(object.Object); err == nil {
			r.end(is)
		}
	} else if owner != nil {
		if child, err := (kind.Timetable{}).ReadChild(object, gvk, owner); err == nil {
			r.end(outcomeOf(child))
		}
	}
	state, _, _ := unstructured.NestedString(object.Object, "status", "state", "phase") // of Volcano's Jobs
	if state != "" && state != "Pending" && state != "Inqueue" && r.Started.IsZero() {  // no field says since when
		r.Started = r.Created
	}
	switch {
	case !r.Outcome.Ended():
		suspend, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
		r.Suspended = suspend || state == "Aborted"
	case r.Outcome == Succeeded:
		r.Reason, r.Message = "", ""
	default:
		r.Reason = cmp.Or(reasonOf(object), state)
	}
	r.stop(object)
	return r
}

// FromPod reads a Pod that is itself what a schedule started. The Pod is not modified.
func FromPod(pod *corev1.Pod) Run {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return fromMetadata(pod, "v1", "Pod")
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	r := FromObject(object, nil)
	r.Completions = 1
	switch r.Outcome {
	case Succeeded:
		r.PodsSucceeded = 1
	case Failed:
		r.PodsFailed = 1
	default:
		r.PodsRunning = 1
	}
	if r.Outcome == Failed && r.Reason == "" {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if t := status.State.Terminated; t != nil && t.ExitCode != 0 && r.Reason == "" {
				r.Reason = t.Reason
			}
		}
	}
	return r
}

// fromMetadata reads what all objects have. The outcome is Active.
func fromMetadata(object metav1.Object, apiVersion, kindName string) Run {
	r := Run{
		UID: object.GetUID(), APIVersion: apiVersion, Kind: kindName, Namespace: object.GetNamespace(), Name: object.GetName(),
		Outcome: Active,
	}
	created := object.GetCreationTimestamp()
	r.Created = instant(&created)
	ref := metav1.GetControllerOfNoCopy(object)
	if k := kindOf(ref); k != nil {
		r.Owner = Owner{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
		origin := OriginOf(k, ref.Name, object)
		r.Trigger, r.ScheduledTime, r.Retry = origin.Trigger, origin.ScheduledTime, origin.Retry
	}
	return r
}

// end takes over how an object has ended.
func (r *Run) end(is outcome.Outcome) {
	switch is.Phase {
	case outcome.Succeeded:
		r.Outcome = Succeeded
	case outcome.Failed:
		r.Outcome = Failed
	default:
		return
	}
	r.Message = is.Message
	if !is.Ended.IsZero() {
		r.Ended = is.Ended.UTC()
	}
}

func outcomeOf(child cron.Child) outcome.Outcome {
	is := outcome.Outcome{}
	switch child.Phase {
	case cron.Complete:
		is.Phase = outcome.Succeeded
	case cron.Failed:
		is.Phase = outcome.Failed
	}
	if child.Finished != nil {
		is.Ended = *child.Finished
	}
	return is
}

// reasonOf is the word for how an object has ended: that of its state, or of the condition that says so; "" if it has
// none.
func reasonOf(object *unstructured.Unstructured) string {
	for _, path := range [][]string{{"status", "reason"}, {"status", "state", "reason"}} {
		if reason, _, _ := unstructured.NestedString(object.Object, path...); reason != "" {
			return reason
		}
	}
	conditions, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "conditions")
	list, _ := conditions.([]any)
	for _, item := range list {
		condition, _ := item.(map[string]any)
		reason, _ := condition["reason"].(string)
		if condition["type"] == "Failed" && condition["status"] == "True" && reason != "" {
			return reason
		}
	}
	return ""
}

func instant(t *metav1.Time) time.Time {
	if t == nil || t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

func textTime(object *unstructured.Unstructured, path ...string) time.Time {
	text, _, _ := unstructured.NestedString(object.Object, path...)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}
