// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// Slim makes an object as small as those need it who look at all of a fleet: without Content, the template of Pods,
// what was last applied, and managed fields, but for an object that is suspended, where these tell who did that. Policy
// and Memory stay as they were read. Typed is modified.
func (s *Scheduled) Slim() {
	s.Content = nil
	if annotations := s.Typed.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		if delete(annotations, corev1.LastAppliedConfigAnnotation); len(annotations) == 0 {
			annotations = nil // an empty map is as large as one of eight
		}
		s.Typed.SetAnnotations(annotations)
	}
	if !s.Policy.Suspend && s.Policy.SuspendUntil == nil {
		s.Typed.SetManagedFields(nil)
	} else {
		s.Typed.SetManagedFields(slices.DeleteFunc(slices.Clone(s.Typed.GetManagedFields()), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != "" }))
	}
	switch typed := s.Typed.(type) {
	case *batchv1.CronJob:
		typed.Spec.JobTemplate.ObjectMeta = metav1.ObjectMeta{}
		typed.Spec.JobTemplate.Spec.Template = corev1.PodTemplateSpec{}
	case *volcano.CronJob:
		typed.Spec.JobTemplate.Spec = runtime.RawExtension{}
	case *tutorial.CronJob:
		typed.Spec.JobTemplate.Spec = runtime.RawExtension{}
	case *timetable.Object:
		typed.Spec.Template.Spec = runtime.RawExtension{}
	}
}

// Written is the object as it was written, or, where that is not kept (Slim, Reader), as it can be told from Typed. It
// must not be modified.
func (s *Scheduled) Written() *unstructured.Unstructured {
	if s.Content != nil {
		return s.Content
	}
	var typed any = s.Typed
	if t := s.Timetable(); t != nil {
		typed = t
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil { // the types of all kinds can be told
		content = map[string]any{}
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(s.Kind.Info().Owner)
	return object
}

// String names the object for messages, as that of Object does.
func (s *Scheduled) String() string {
	if s.Content != nil {
		return s.Object.String()
	}
	return s.Kind.Info().Owner.Kind + " " + s.Owner.Namespace + "/" + s.Owner.Name
}

// ScheduleText is the schedule of a CronJob as it is written, of whatever kind; "" for a Timetable.
func (s *Scheduled) ScheduleText() string {
	switch typed := s.Typed.(type) {
	case *batchv1.CronJob:
		return typed.Spec.Schedule
	case *volcano.CronJob:
		return typed.Spec.Schedule
	case *tutorial.CronJob:
		return typed.Spec.Schedule
	}
	return ""
}

// RunDeadline is the activeDeadlineSeconds of the Jobs of a CronJob; false if there is none, or if it is not known.
func (s *Scheduled) RunDeadline() (seconds int64, ok bool) {
	if typed, is := s.Typed.(*batchv1.CronJob); is {
		if d := typed.Spec.JobTemplate.Spec.ActiveDeadlineSeconds; d != nil {
			return *d, true
		}
		return 0, false
	}
	if s.Content == nil {
		return 0, false
	}
	seconds, ok, _ = unstructured.NestedInt64(s.Content.Object, "spec", s.Kind.Info().TemplateField, "spec", "activeDeadlineSeconds")
	return seconds, ok
}
