// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

func (s Suite) write(t *testing.T) {
	moved := instant(t, "2026-05-04T12:10:00Z")
	success := instant(t, "2026-05-04T12:08:00Z")
	if s.Cannot.LastSuccessful {
		success = nil
	}
	var conditions []metav1.Condition
	if !s.Cannot.Conditions {
		conditions = []metav1.Condition{{Type: "Degraded", Status: "True", Reason: "JobsFailed", Message: "m", LastTransitionTime: metav1.NewTime(*moved)}}
	}
	ref := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: "tick-2", UID: "u2", ResourceVersion: "9"}
	for sentence, c := range map[string]struct {
		record  cron.StatusWrite
		patches int
	}{
		"a status": {cron.StatusWrite{Changed: cron.PartActive | cron.PartLastSchedule, Memory: cron.Memory{Active: adapter.Runs([]corev1.ObjectReference{ref}), LastSchedule: moved, LastSuccessful: success,
			Conditions: conditions, Timing: s.timing(`{"schedules":["*/10 * * * *"]}`)}}, 1},
		"an empty status": {cron.StatusWrite{Changed: cron.PartActive | cron.PartLastSchedule, Memory: cron.Memory{Conditions: conditions, Timing: s.timing(`{"schedules":["*/10 * * * *"]}`)}}, 1},
		"a timetable": {cron.StatusWrite{Changed: cron.PartTiming, Memory: s.stored(t, func(st *cron.Memory) {
			st.Timing = s.timing(`{"schedules":["0 3 * * *"],"since":"2026-05-04T12:03:04.5Z"}`)
		})}, 1},
		"both": {cron.StatusWrite{Changed: cron.PartLastSchedule | cron.PartTiming, Memory: s.stored(t, func(st *cron.Memory) {
			st.LastSchedule, st.Timing = moved, s.timing(`{"schedules":["0 3 * * *"]}`)
		})}, map[bool]int{false: 1, true: 2}[s.Cannot.RideAlong]},
		"nothing": {cron.StatusWrite{Memory: s.stored(t, func(*cron.Memory) {})}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			v := Server{Object: s.ownerJSON(t), RideAlong: !s.Cannot.RideAlong}
			v.Object["status"].(map[string]any)["unknown"] = "kept"
			v.Object["spec"].(map[string]any)["unknown"] = "kept"
			patches, err := s.Kind.Patches(s.decode(t, v.Object), c.record)
			if err != nil {
				t.Fatal(err)
			}
			if len(patches) != c.patches {
				t.Fatalf("%d patches, want %d", len(patches), c.patches)
			}
			spec := v.Object["spec"]
			for _, p := range patches {
				if err := v.Patch(p); err != nil {
					t.Fatal(err)
				}
			}
			_, _, status, err := s.Kind.Read(s.decode(t, v.Object), adapter.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.record.Memory, status, byContent); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(spec, v.Object["spec"]); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if v.Object["status"].(map[string]any)["unknown"] != "kept" {
				t.Error("an unknown field of the status is lost")
			}
		})
	}
}

// pass leads one CronJob through two passes, with the kind as the only translator.
func (s Suite) pass(t *testing.T) {
	v := Server{Object: s.ownerJSON(t), RideAlong: !s.Cannot.RideAlong}
	v.Object["status"] = map[string]any{}
	delete(v.Object["metadata"].(map[string]any)["annotations"].(map[string]any), "carillon.dev/conditions") // they follow a pass later
	now := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)

	read := func(children ...cron.Child) cron.Input {
		owner, policy, status, err := s.Kind.Read(s.decode(t, v.Object), adapter.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cron.Input{Now: now, Traits: s.Kind.Info().Traits, Owner: owner, Policy: policy, Stored: status, Children: children}
	}
	in := read()
	plan := cron.Decide(in)
	if plan.NextStep() != cron.StepStart {
		t.Fatalf("nothing starts:\n%s", plan)
	}
	built, err := s.Kind.Build(s.decode(t, v.Object), adapter.Start{Start: plan.Starts[0]})
	if err != nil {
		t.Fatal(err)
	}
	built.SetUID("u1")
	built.SetResourceVersion("50")
	child, err := s.Kind.ReadChild(built, s.Kind.Info().Child, nil)
	if err != nil {
		t.Fatal(err)
	}
	in.AddStartResult(plan.Starts[0], cron.CreateResultOf(&child, nil))
	plan = cron.Decide(in)
	if plan.Err != nil || plan.StatusWrite == nil {
		t.Fatalf("the start is not recorded:\n%s", plan)
	}
	patches, err := s.Kind.Patches(s.decode(t, v.Object), *plan.StatusWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range patches {
		if err := v.Patch(p); err != nil {
			t.Fatal(err)
		}
	}

	again := read(child)
	if len(again.Stored.Active) != 1 || again.Stored.Active[0].UID != "u1" || again.Stored.Active[0].Kind != s.Kind.Info().Child.Kind {
		t.Errorf("active: %+v", again.Stored.Active)
	}
	if again.Stored.LastSchedule == nil || !again.Stored.LastSchedule.Equal(now) {
		t.Errorf("last scheduled: %v, want %v", again.Stored.LastSchedule, now)
	}
	plan = cron.Decide(again)
	if len(plan.Read) > 0 || len(plan.Starts) > 0 || plan.Err != nil || plan.StatusWrite != nil {
		t.Errorf("the second pass finds something to do:\n%s", plan)
	}

	// Without the record, as after a crash, the child is known by its controller reference and its stamp.
	v.Object["status"] = map[string]any{}
	lost := read(child)
	plan = cron.Decide(lost)
	if len(plan.Read) > 0 {
		lost.AddReadOwnerResult(lost.Owner, lost.Policy, lost.Stored, nil)
		plan = cron.Decide(lost)
	}
	if len(plan.Starts) > 0 || plan.StatusWrite == nil || plan.StatusWrite.Memory.LastSchedule == nil || !plan.StatusWrite.Memory.LastSchedule.Equal(now) {
		t.Errorf("the child is not adopted:\n%s", plan)
	}
}
