// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"context"
	"encoding/json"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// annotationSuspended is on what a restore suspended, with the time of that; suspendUntil of a Timetable gives way,
	// and is kept in annotationUntil.
	annotationSuspended = "batch.carillon.dev/suspended-by-restore"
	annotationUntil     = "batch.carillon.dev/suspend-until-before-restore"
	// gateName keeps Pods that have run nowhere from being started before their Job, suspended, removes them.
	gateName = "batch.carillon.dev/restored-suspended"
)

// Suspended counts what was suspended.
type Suspended struct {
	CronJobs   int `json:"cronJobs"`
	Timetables int `json:"timetables"`
	Jobs       int `json:"jobs"`
}

// suspendAll suspends all that starts something by itself.
func (s *settlement) suspendAll(ctx context.Context) error {
	mark := func(m *metav1.ObjectMeta, suspend **bool, count *int) bool {
		if *suspend != nil && **suspend {
			return false
		}
		yes := true
		*suspend = &yes
		m.Generation++
		annotate(m, annotationSuspended, s.now.UTC().Format(time.RFC3339))
		*count++
		return true
	}
	err := eachObject(ctx, s.kv, "cronjobs", typed(batchv1.SchemeGroupVersion.WithKind("CronJob"), func(c *batchv1.CronJob) bool {
		return mark(&c.ObjectMeta, &c.Spec.Suspend, &s.suspended.CronJobs)
	}))
	if err != nil {
		return err
	}
	err = eachObject(ctx, s.kv, "jobs", typed(batchv1.SchemeGroupVersion.WithKind("Job"), func(j *batchv1.Job) bool {
		return !finished(j) && mark(&j.ObjectMeta, &j.Spec.Suspend, &s.suspended.Jobs)
	}))
	if err != nil {
		return err
	}
	return eachObject(ctx, s.kv, "batch.carillon.dev/timetables", untyped(s.suspendTimetable))
}

func finished(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func (s *settlement) suspendTimetable(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	if spec == nil || spec["suspend"] == true {
		return false
	}
	meta := sub(object, "metadata")
	annotations := sub(meta, "annotations")
	annotations[annotationSuspended] = s.now.UTC().Format(time.RFC3339)
	if until, ok := spec["suspendUntil"].(string); ok {
		annotations[annotationUntil] = until
		delete(spec, "suspendUntil")
	}
	spec["suspend"] = true
	if generation, ok := meta["generation"].(json.Number); ok {
		if n, err := generation.Int64(); err == nil {
			meta["generation"] = n + 1
		}
	}
	s.suspended.Timetables++
	return true
}

// sub gives the object of that name in another one, and makes it if need be.
func sub(object map[string]any, name string) map[string]any {
	if found, ok := object[name].(map[string]any); ok {
		return found
	}
	made := map[string]any{}
	object[name] = made
	return made
}

// gate keeps a Pod that has run nowhere from being given a node.
func gate(pod *corev1.Pod) bool {
	for _, g := range pod.Spec.SchedulingGates {
		if g.Name == gateName {
			return false
		}
	}
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gateName})
	return true
}
