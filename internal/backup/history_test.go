// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package backup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/journal/ended"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// What was on its way into the journal gets to its run, also to one of Volcano's, whose Pods tell its name alone.
func TestRecordEnded(t *testing.T) {
	dir := t.TempDir()
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	j, err := journal.Open(datadir.Journal(dir), journal.Options{KeepLogs: -1})
	if err != nil {
		t.Fatal(err)
	}
	v := run.Run{UID: "volcano-uid", APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Namespace: "ns", Name: "v", Created: noon, Outcome: run.Active}
	other := v
	other.UID, other.APIVersion = "other-uid", "batch/v1"
	if err := j.Record(t.Context(), []run.Run{v, other}, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := ended.Open(datadir.EndedContainers(dir), ended.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, labels := range map[string]map[string]string{
		"a": {volcanoJob: "v"}, "b": {volcanoJob: "nobody"}, "c": {}, "d": {"controller-uid": "job-uid"}, "e": {"carillon.dev/timetable-uid": "tt"},
	} {
		c := ended.Container{ID: id, Name: "main", Ended: noon.Add(time.Minute), Pod: ended.Pod{Namespace: "ns", Name: "p", UID: "pod-" + types.UID(id), Labels: labels}}
		if err := entries.Add(c, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := entries.Close(); err != nil {
		t.Fatal(err)
	}
	if err := recordEnded(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	reader, err := journal.OpenReader(datadir.Journal(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for uid, want := range map[types.UID]int{"volcano-uid": 1, "other-uid": 0, "pod-a": 0, "pod-b": 0, "pod-c": 0, "job-uid": 1, "pod-e": 1} {
		if got, err := reader.Attempts(t.Context(), uid); err != nil || len(got) != want {
			t.Errorf("%s has %d attempts, want %d (%v)", uid, len(got), want, err)
		}
	}
}
