// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Stopped is when somebody asked for the deletion of a run's object, in whole seconds: its deletionTimestamp is when
// its grace period ends. Zero if nobody did, or the cluster did to disrupt a Pod and not to end what it does, as the
// drain of its node does.
func Stopped(object metav1.Object) time.Time {
	end := object.GetDeletionTimestamp()
	if end == nil {
		return time.Time{}
	}
	if pod, ok := object.(*unstructured.Unstructured); ok && pod.GetKind() == "Pod" && pod.GetAPIVersion() == "v1" && disrupted(pod.Object) {
		return time.Time{}
	}
	var grace time.Duration
	if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	return end.Add(-grace)
}

// disrupted tells whether the cluster ends a Pod for reasons of its own. Its condition is set before it is deleted
// (KEP-3329).
func disrupted(pod map[string]any) bool {
	return slices.ContainsFunc(conditionsOf(pod), func(c condition) bool {
		return c.kind == string(corev1.DisruptionTarget) && c.status == string(corev1.ConditionTrue)
	})
}

// FailedByStop tells of what has failed whether that was because somebody had asked for its deletion (Stopped): to be
// ended by a signal is a failure for most. Of what fell in one second nobody can say which was first, and it has failed
// by itself.
func FailedByStop(stopped, ended time.Time) bool {
	return !stopped.IsZero() && ended.Truncate(time.Second).After(stopped)
}
