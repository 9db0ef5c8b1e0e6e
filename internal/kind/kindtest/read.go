// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

func (s Suite) read(t *testing.T) {
	obj := s.owner(t)
	before := encode(t, obj)
	owner, policy, status, err := s.Kind.Read(obj, adapter.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var zone *string
	if !s.Cannot.TimeZone {
		zone = new("Europe/Rome")
	}
	wantPolicy := cron.Policy{Timing: adapter.CronTiming("*/10 * * * *", zone, s.Kind.Info(), adapter.ReadOptions{}), Deadline: new(int64(300)),
		Room: adapter.Room("Forbid"), Succeeded: cron.Retention{Limit: new(int32(2))}, Failed: cron.Retention{Limit: new(int32(4))}}
	wantStatus := cron.Memory{
		Active: adapter.Runs([]corev1.ObjectReference{{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: "tick-1",
			UID: "u1"}}),
		LastSchedule: instant(t, "2026-05-04T12:00:00Z"),
		Timing:       s.timing(`{"schedules":["*/10 * * * *"]}`),
	}
	if !s.Cannot.LastSuccessful {
		wantStatus.LastSuccessful = instant(t, "2026-05-04T12:01:00Z")
	}
	if !s.Cannot.Conditions {
		wantPolicy.Conditions = true
		wantStatus.Conditions = []metav1.Condition{{Type: "Available", Status: "True", Reason: "JobsActive", Message: "m",
			LastTransitionTime: metav1.NewTime(*instant(t, "2026-05-04T12:01:00Z")), ObservedGeneration: 2}}
	}
	wantOwner := cron.Owner{Namespace: "batch", Name: "tick", UID: "cj-1", Generation: 2,
		Created: *instant(t, "2026-05-04T12:03:20Z"), ScheduleUnchangedSince: *instant(t, "2026-05-04T12:04:00Z")}
	for what, diff := range map[string]string{
		"owner":  cmp.Diff(wantOwner, owner),
		"policy": cmp.Diff(wantPolicy, policy, byContent),
		"status": cmp.Diff(wantStatus, status, byContent),
		"object": cmp.Diff(before, encode(t, obj)),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// edited: the fields that Info names are those that say when the CronJob runs. Without one of them it runs at other
// times, without any other field it does not; and managed fields that hold one of them date an edit.
func (s Suite) edited(t *testing.T) {
	_, whole, _, err := s.Kind.Read(s.owner(t), adapter.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for field := range s.ownerJSON(t)["spec"].(map[string]any) {
		obj := s.ownerJSON(t)
		delete(obj["spec"].(map[string]any), field)
		obj["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "kubectl", "operation": "Update",
			"time": "2026-05-04T12:05:00Z", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:" + field: map[string]any{}}}}}
		owner, policy, _, err := s.Kind.Read(s.decode(t, obj), adapter.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		moves := whole.Timing.Fingerprint != policy.Timing.Fingerprint
		if named := slices.Contains(s.Kind.Info().ScheduleFields, field); named != moves {
			t.Errorf("spec.%s says when it runs: %v; ScheduleFields name it: %v", field, moves, named)
		}
		if moves != owner.ScheduleUnchangedSince.Equal(*instant(t, "2026-05-04T12:05:00Z")) {
			t.Errorf("an edit of spec.%s is dated %v", field, owner.ScheduleUnchangedSince)
		}
	}
}

func (s Suite) readEmpty(t *testing.T) {
	apiVersion, kind := s.Kind.Info().Owner.ToAPIVersionAndKind()
	obj := s.decode(t, map[string]any{"apiVersion": apiVersion, "kind": kind})
	_, policy, status, err := s.Kind.Read(obj, adapter.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := cron.Policy{Timing: adapter.CronTiming("", nil, s.Kind.Info(), adapter.ReadOptions{})}
	if diff := cmp.Diff(want, policy, byContent); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cron.Memory{}, status, byContent); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func (s Suite) wrong(t *testing.T) {
	other := &metav1.PartialObjectMetadata{}
	if _, _, _, err := s.Kind.Read(other, adapter.ReadOptions{}); err == nil {
		t.Error("Read took it")
	}
	if _, err := s.Kind.ReadChild(other, s.Kind.Info().Child, nil); err == nil {
		t.Error("ReadChild took it")
	}
	if _, err := s.Kind.Build(other, adapter.Start{}); err == nil {
		t.Error("Build took it")
	}
}

func (s Suite) children(t *testing.T) {
	apiVersion, kind := s.Kind.Info().Child.ToAPIVersionAndKind()
	for sentence, m := range s.Children {
		t.Run(sentence, func(t *testing.T) {
			got, err := s.Kind.ReadChild(s.child(t, m.Status), s.Kind.Info().Child, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := cron.Child{APIVersion: apiVersion, Kind: kind, Namespace: "batch", Name: "tick-29631610", UID: "u1",
				ResourceVersion: "7", Created: *instant(t, "2026-05-04T12:10:01Z"), Deleting: true,
				Stamp: "2026-05-04T12:10:00Z", Phase: m.Phase, Succeeded: m.Succeeded, Suspended: m.Suspended, Finished: instant(t, m.Finished)}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(cron.Child{}, "Started", "Status")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
