// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// answers are all that a kind tells of a Timetable, as text.
func answers(k timetable.Kind, obj adapter.Object, calendar *v1alpha1.Calendar) string {
	var said strings.Builder
	say := func(what string, values ...any) {
		text, err := json.Marshal(values)
		fmt.Fprintf(&said, "%s %s %v\n", what, text, err)
	}
	options := adapter.ReadOptions{Dependency: func(string, adapter.Dependency) (adapter.Object, bool) { return calendar, calendar != nil }}
	owner, policy, memory, err := k.Read(obj, options)
	times := policy.Timing.Times
	policy.Timing.Times, policy.Timing.Excluded, memory.Timing.Times = nil, nil, nil
	say("read", owner, policy, memory, fmt.Sprint(err))
	if policy.Timing.Zone != nil {
		say("zone", policy.Timing.Zone.String())
	}
	policy.Timing.Times = times
	at := policyNow
	for i := 0; times != nil && i < 3; i++ {
		at = times.Next(at)
		say("next", at)
	}
	start := adapter.Start{Start: cron.Start{Time: policyNow, Attempt: 1}, Timing: policy.Timing, Memory: memory}
	child, err := k.Build(obj, start)
	say("child", child, fmt.Sprint(err))
	memory.Cursor = new(policyNow)
	patches, err := k.Patches(obj, cron.StatusWrite{Memory: memory, Now: policyNow, Times: times})
	for _, p := range patches {
		say("patch", string(p.Data))
	}
	say("patched", fmt.Sprint(err))
	for _, kind := range k.ChildKinds(obj) {
		other := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": "Done"}}}
		read, err := k.ReadChild(other, kind, obj)
		say("kind", kind.String(), read.Phase, read.Succeeded, fmt.Sprint(err))
	}
	counts := k.NewStatusCounts()
	k.AddStatus(obj, counts)
	say("counts", counts.Active, counts.Waiting, fmt.Sprint(counts.Conditions))
	say("dependencies", k.Dependencies(obj))
	say("metadata", obj.GetNamespace(), obj.GetName(), obj.GetUID(), obj.GetResourceVersion(), obj.GetGeneration(), obj.GetCreationTimestamp(), obj.GetDeletionTimestamp())
	return said.String()
}

// specs are those of the vectors that the API server takes, and others that are stored without its consent.
func specs(t *testing.T) []v1alpha1.TimetableSpec {
	var all []v1alpha1.TimetableSpec
	for _, v := range vectors.ReadValidation(t, "../../../docs/contract/timetable-vectors.json") {
		if !v.Accepted || v.Kind == "Calendar" {
			continue
		}
		text, err := json.Marshal(v.Object(t)["spec"])
		if err != nil {
			t.Fatal(err)
		}
		var spec v1alpha1.TimetableSpec
		if err := json.Unmarshal(text, &spec); err != nil {
			continue // it says so itself, and is cached as it is
		}
		all = append(all, spec)
	}
	half := metav1.NewTime(policyNow.Add(time.Hour + time.Second/2))
	return append(all, v1alpha1.TimetableSpec{SuspendUntil: &half}, v1alpha1.TimetableSpec{Window: &v1alpha1.Window{NotAfter: &half}}, v1alpha1.TimetableSpec{})
}

// Whatever is asked of the form for caches, and of a copy of it, the answer is that of the Timetable, which is not
// changed.
func TestCompact(t *testing.T) {
	all, k := specs(t), timetable.Kind{MinInterval: 10 * time.Second, Compilations: timetable.NewCompilations()}
	rapid.Check(t, func(t *rapid.T) {
		tt := &timetable.Object{Timetable: *tick()}
		tt.ResourceVersion, tt.Generation, tt.CreationTimestamp = "7", rapid.Int64Range(0, 3).Draw(t, "generation"), clock("12:00")
		tt.Labels, tt.Annotations = map[string]string{"a": "b"}, map[string]string{v1alpha1.AnnotationResume: rapid.SampledFrom([]string{"", "x"}).Draw(t, "resume"), "c": "d"}
		spec := rapid.SampledFrom(all).Draw(t, "spec")
		tt.Spec, tt.Status = *spec.DeepCopy(), *drawStatus().Draw(t, "status")
		if rapid.Bool().Draw(t, "deleting") {
			tt.DeletionTimestamp = new(clock("12:05"))
		}
		var calendar *v1alpha1.Calendar
		if rapid.Bool().Draw(t, "calendar") {
			calendar = &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "holidays"}}
		}
		before := tt.DeepCopy()
		compact := k.Compact(tt)
		if _, whole := compact.(*timetable.Object); whole && !hasFraction(tt.Spec.SuspendUntil) && tt.Spec.Window == nil {
			t.Error("it keeps its form")
		}
		if diff := cmp.Diff(before.Timetable, tt.Timetable); diff != "" {
			t.Fatalf("it was changed: %s", diff)
		}
		if again := k.Compact(compact); again != compact {
			t.Error("the form has another form")
		}
		want := answers(timetable.Kind{MinInterval: k.MinInterval}, tt, calendar)
		for range 2 {
			if diff := cmp.Diff(want, answers(k, compact, calendar)); diff != "" {
				t.Fatalf("the form for caches (-whole +form):\n%s", diff)
			}
			twin := compact.DeepCopyObject().(adapter.Object)
			twin.SetResourceVersion("99")
			compact = compact.DeepCopyObject().(adapter.Object)
		}
	})
}

func hasFraction(at *metav1.Time) bool { return at != nil && at.Nanosecond() != 0 }

// What is no Timetable, and what cannot be read, keeps its form; of a missing one nothing panics.
func TestCompactOfOthers(t *testing.T) {
	broken := &timetable.Object{}
	if err := json.Unmarshal([]byte(strings.Replace(stored, "STATUS", `{"cursor":"soon"}`, 1)), broken); err != nil {
		t.Fatal(err)
	}
	for name, obj := range map[string]adapter.Object{"a Pod": &corev1.Pod{}, "a broken status": broken, "a child": &unstructured.Unstructured{}} {
		if got := worldKind.Compact(obj); got != obj {
			t.Errorf("%s becomes a %T", name, got)
		}
	}
	child := &unstructured.Unstructured{}
	if _, err := worldKind.ReadChild(child, schema.GroupVersionKind{Group: "x", Version: "v1", Kind: "X"}, nil); err != nil {
		t.Error(err)
	}
}

// An edit of a Timetable or of a Calendar is never served by what was compiled before, even if the generation tells
// nothing, and whoever else asks at the same time.
func TestEditsAreCompiledAnew(t *testing.T) {
	all := specs(t)
	for i := range all { // a Calendar that all of them name
		all[i].Exclude = append(all[i].Exclude, v1alpha1.Exclusion{Calendar: new("holidays")})
	}
	rapid.Check(t, func(t *rapid.T) {
		kept := timetable.NewCompilations()
		type version struct {
			obj      adapter.Object
			kind     timetable.Kind
			calendar *v1alpha1.Calendar
			want     string
		}
		var versions []version
		var calendar *v1alpha1.Calendar
		spec := rapid.SampledFrom(all).Draw(t, "spec")
		kind := timetable.Kind{MinInterval: 10 * time.Second, Compilations: kept}
		for range rapid.IntRange(2, 5).Draw(t, "versions") {
			switch rapid.IntRange(0, 3).Draw(t, "edit") {
			case 0:
				spec = rapid.SampledFrom(all).Draw(t, "spec")
			case 1:
				calendar = &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Namespace: "ops", Name: "holidays"}}
				calendar.Spec.Periods = []v1alpha1.CalendarPeriod{{Period: rapid.SampledFrom([]v1alpha1.Period{"2026-05-04", "2026-05-05", "05-06"}).Draw(t, "period")}}
			case 2:
				calendar = nil
			case 3:
				kind.MinInterval = rapid.SampledFrom([]time.Duration{time.Second, time.Hour}).Draw(t, "interval")
			}
			tt := &timetable.Object{Timetable: *tick()}
			tt.Generation, tt.CreationTimestamp, tt.Spec = 1, clock("12:00"), *spec.DeepCopy()
			tt.Status.Active = []v1alpha1.ActiveRun{{Name: "a", ScheduledTime: clock("12:10")}} // so that it is kept
			v := version{obj: kind.Compact(tt), kind: kind, calendar: calendar}
			v.want = answers(timetable.Kind{MinInterval: kind.MinInterval}, tt, calendar)
			versions = append(versions, v)
			if diff := cmp.Diff(v.want, answers(v.kind, v.obj, v.calendar)); diff != "" {
				t.Fatalf("after an edit (-want +got):\n%s", diff)
			}
		}
		var asking sync.WaitGroup
		got := make([]string, 4*len(versions))
		for i := range got {
			asking.Go(func() {
				v := versions[i%len(versions)]
				got[i] = answers(v.kind, v.obj, v.calendar)
			})
		}
		asking.Wait()
		for i := range got {
			if diff := cmp.Diff(versions[i%len(versions)].want, got[i]); diff != "" {
				t.Fatalf("asked together (-want +got):\n%s", diff)
			}
		}
	})
}
