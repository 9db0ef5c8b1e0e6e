// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/plan/diagnosis"
)

// What belongs to others of the same name, or lies in other namespaces, is no evidence.
func TestGatherLeavesOutOthers(t *testing.T) {
	elsewhere := run("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", func(j *batchv1.Job) { j.Namespace = "other" })
	former := run("2026-11-22T01:00:00Z", "2026-11-22T01:00:01Z", func(j *batchv1.Job) { j.OwnerReferences[0].UID = "former-uid" })
	notControlled := run("2026-11-21T01:00:00Z", "2026-11-21T01:00:01Z", func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil })
	ofFormer := said("CronJob", "backup", "2026-11-22T01:00:00Z", "Normal", "SuccessfulCreate", "Created job backup-1")
	ofFormer.InvolvedObject.UID = "former-uid"
	e := evidence(t, "", cronJob(nil), night, elsewhere, former, notControlled, podOf(elsewhere, running), podOf(night, running), podOf(former, running),
		ofFormer, said("CronJob", "other", "2026-11-22T01:00:00Z", "Normal", "SuccessfulCreate", "Created job other-1"),
		said("Job", night.Name, "2026-11-23T01:00:01Z", "Normal", "SuccessfulCreate", "Created pod"), said("Job", "else", "2026-11-23T01:00:01Z", "Normal", "SuccessfulCreate", "Created pod"))
	if len(e.Runs) != 1 || e.Runs[0].Name != night.Name {
		t.Errorf("runs %+v", e.Runs)
	}
	if len(e.Pods) != 1 || e.Pods[0].Labels[batchv1.JobNameLabel] != night.Name {
		t.Errorf("%d Pods", len(e.Pods))
	}
	if len(e.Events) != 1 || e.Events[0].Name != night.Name {
		t.Errorf("events %+v", e.Events)
	}
}

// Where files have no UIDs, names tell what belongs together.
func TestGatherWithoutUIDs(t *testing.T) {
	job := run("2026-11-23T01:00:00Z", "2026-11-23T01:00:01Z", func(j *batchv1.Job) { j.UID, j.OwnerReferences[0].UID = "", "" })
	pod := podOf(job, running)
	e := evidence(t, "", cronJob(func(c *batchv1.CronJob) { c.UID = "" }), job, pod)
	if len(e.Runs) != 1 || len(e.Pods) != 1 {
		t.Errorf("%d runs, %d Pods", len(e.Runs), len(e.Pods))
	}
}

// An event of the newer API is read like one of the older.
func TestGatherReadsBothKindsOfEvents(t *testing.T) {
	newer := map[string]any{"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": map[string]any{"name": "e", "namespace": "data"},
		"regarding": map[string]any{"kind": "CronJob", "name": "backup", "uid": "backup-uid"}, "note": "Created job backup-29923260",
		"reason": "SuccessfulCreate", "type": "Normal", "eventTime": "2026-11-23T01:00:00.250000Z", "series": map[string]any{"count": 3, "lastObservedTime": "2026-11-23T01:10:00.000000Z"}}
	e := evidence(t, "", cronJob(nil), newer)
	if len(e.Events) != 1 {
		t.Fatalf("%d events", len(e.Events))
	}
	if got := e.Events[0]; got.Message != "Created job backup-29923260" || got.Count != 3 || !got.Last.Equal(instant("2026-11-23T01:10:00Z")) || !got.First.Equal(instant("2026-11-23T01:00:00.25Z")) {
		t.Errorf("%+v", got)
	}
}

func TestNewest(t *testing.T) {
	c := cronJob(func(c *batchv1.CronJob) { c.Annotations = map[string]string{"note": "not a time"} })
	if got := diagnosis.Newest(read(t, c, night, podOf(night, func(p *corev1.Pod) { p.Status.StartTime = atp("2026-11-23T01:07:00Z") }))); !got.Equal(instant("2026-11-23T01:07:00Z")) {
		t.Errorf("%s", got)
	}
	if got := diagnosis.Newest(read(t, said("Job", "x", "2026-11-23T05:00:00Z", "Normal", "Y", "z"))); !got.Equal(instant("2026-11-23T05:00:00Z")) {
		t.Errorf("%s", got)
	}
}
