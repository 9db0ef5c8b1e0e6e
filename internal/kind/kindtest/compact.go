// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// compact: whatever is asked of the form for caches, and of a copy of it, the answer is that of the CronJob, and what
// comes out of it is nobody else's.
func (s Suite) compact(t *testing.T) {
	kind, ok := s.Kind.(adapter.Compacter)
	if !ok {
		t.Skip("its CronJobs are cached as they are")
	}
	if child := s.child(t, anyOf(s.Children).Status); kind.Compact(child) != child {
		t.Error("a child has another form")
	}
	bare := s.ownerJSON(t)
	delete(bare, "spec")
	delete(bare, "status")
	for name, whole := range map[string]adapter.Object{"a CronJob": s.owner(t), "an empty one": s.decode(t, bare)} {
		before := encode(t, whole)
		compact := kind.Compact(whole)
		if diff := cmp.Diff(before, encode(t, whole)); diff != "" {
			t.Fatalf("%s was changed (-want +got):\n%s", name, diff)
		}
		if again := kind.Compact(compact); again != compact {
			t.Errorf("%s: its form has another form", name)
		}
		twin := compact.DeepCopyObject().(adapter.Object)
		twin.SetResourceVersion("99")
		twin.SetDeletionTimestamp(&metav1.Time{})
		s.alike(t, name, whole, compact)
		twin = compact.DeepCopyObject().(adapter.Object)
		s.alike(t, name+", copied", whole, twin)
	}
}

func (s Suite) alike(t *testing.T, name string, whole, compact adapter.Object) {
	t.Helper()
	type asked struct {
		Owner    cron.Owner
		Policy   cron.Policy
		Status   cron.Memory
		Child    map[string]any
		Patches  []adapter.CronJobPatch
		Metadata []any
	}
	ask := func(obj adapter.Object) (a asked) {
		var err error
		if a.Owner, a.Policy, a.Status, err = s.Kind.Read(obj, adapter.ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		child, err := s.Kind.Build(obj, start)
		if err != nil {
			t.Fatal(err)
		}
		a.Child = encode(t, child)
		record := cron.StatusWrite{Changed: cron.PartLastSchedule | cron.PartTiming, Memory: cron.Memory{LastSchedule: new(time.Unix(0, 0)),
			Timing: cron.ServedTiming{Fingerprint: "0 3 * * *"}}}
		if a.Patches, err = s.Kind.Patches(obj, record); err != nil {
			t.Fatal(err)
		}
		a.Metadata = []any{obj.GetNamespace(), obj.GetName(), obj.GetUID(), obj.GetResourceVersion(), obj.GetGeneration(),
			obj.GetCreationTimestamp(), obj.GetDeletionTimestamp()}
		s.scramble(t, child, true)
		return a
	}
	want := ask(whole)
	for range 2 { // the first child was scrambled
		if diff := cmp.Diff(want, ask(compact), byContent); diff != "" {
			t.Errorf("%s (-whole +form for caches):\n%s", name, diff)
		}
	}
}
