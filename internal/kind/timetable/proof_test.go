// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// clock is a time of the day of the scenarios.
func clock(text string) metav1.Time { return metav1.NewTime(at("2026-05-04T" + text + ":00Z")) }

// tick is the Timetable of the scenarios.
func tick() *v1alpha1.Timetable {
	tt := &v1alpha1.Timetable{}
	tt.Namespace, tt.Name, tt.UID = "ops", "tick", "u1"
	tt.Spec.Template.Spec.Raw = []byte(`{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"busybox"}]}}}`)
	return tt
}

// built is the child of an attempt.
func built(t testing.TB, tt *v1alpha1.Timetable, start timetable.Start) *unstructured.Unstructured {
	t.Helper()
	template, obstacle := timetable.ReadTemplate(&tt.Spec)
	if obstacle != nil {
		t.Fatal(obstacle)
	}
	child, obstacle := template.Build(tt, start)
	if obstacle != nil {
		t.Fatal(obstacle)
	}
	return child
}

var noon = timetable.Start{
	Run:       timetable.Run{ScheduledTime: at("2026-05-04T12:10:00Z"), Attempt: 2, Trigger: v1alpha1.TriggerCatchUp},
	Schedules: []string{"daily", "weekly"},
}

// A child proves the run that it was made for, if everything about it says so (timetable.md section 7).
func TestProof(t *testing.T) {
	want := timetable.Run{ScheduledTime: at("2026-05-04T12:10:00Z"), Attempt: 2, Trigger: v1alpha1.TriggerCatchUp, Schedule: "daily"}
	label := func(key, value string) func(*unstructured.Unstructured) {
		return func(child *unstructured.Unstructured) {
			labels := child.GetLabels()
			labels[key] = value
			child.SetLabels(labels)
		}
	}
	annotate := func(key, value string) func(*unstructured.Unstructured) {
		return func(child *unstructured.Unstructured) {
			annotations := child.GetAnnotations()
			annotations[key] = value
			child.SetAnnotations(annotations)
		}
	}
	reference := func(change func(*metav1.OwnerReference)) func(*unstructured.Unstructured) {
		return func(child *unstructured.Unstructured) {
			refs := child.GetOwnerReferences()
			change(&refs[0])
			child.SetOwnerReferences(refs)
		}
	}
	scheduledOnly := want
	scheduledOnly.Trigger = v1alpha1.TriggerSchedule
	anonymous := want
	anonymous.Schedule = ""
	for sentence, c := range map[string]struct {
		change func(*unstructured.Unstructured)
		owns   bool
		proves *timetable.Run
	}{
		"as it was made":              {func(*unstructured.Unstructured) {}, true, &want},
		"of a newer API":              {reference(func(r *metav1.OwnerReference) { r.APIVersion = "batch.carillon.dev/v1" }), true, &want},
		"of another group":            {reference(func(r *metav1.OwnerReference) { r.APIVersion = "example.com/v1alpha1" }), false, nil},
		"of another kind":             {reference(func(r *metav1.OwnerReference) { r.Kind = "CronJob" }), false, nil},
		"of a Timetable of that name": {reference(func(r *metav1.OwnerReference) { r.UID = "u2" }), false, nil},
		"controlled by nobody":        {reference(func(r *metav1.OwnerReference) { r.Controller = new(bool) }), false, nil},
		"without reference":           {func(c *unstructured.Unstructured) { c.SetOwnerReferences(nil) }, false, nil},
		"of another namespace":        {func(c *unstructured.Unstructured) { c.SetNamespace("other") }, false, nil},
		"without labels":              {func(c *unstructured.Unstructured) { c.SetLabels(nil) }, false, nil},
		"with another UID label":      {label(v1alpha1.LabelTimetableUID, "u2"), false, nil},
		"with another name label":     {label(v1alpha1.LabelTimetableName, "x"), true, &want},
		"of a name of its own":        {func(c *unstructured.Unstructured) { c.SetName("mine") }, true, nil},
		"of the first attempt's name": {func(c *unstructured.Unstructured) { c.SetName("tick-20260504-121000") }, true, nil},
		"of another Timetable's name": {func(c *unstructured.Unstructured) { c.SetName("tock-20260504-121000-r2") }, true, nil},
		"without annotations":         {func(c *unstructured.Unstructured) { c.SetAnnotations(nil) }, true, nil},
		"of another time":             {annotate(v1alpha1.AnnotationScheduledTime, "2026-05-04T12:20:00Z"), true, nil},
		"of that time, elsewhere":     {annotate(v1alpha1.AnnotationScheduledTime, "2026-05-04T14:10:00+02:00"), true, &want},
		"of a part of a second":       {annotate(v1alpha1.AnnotationScheduledTime, "2026-05-04T12:10:00.5Z"), true, nil},
		"of no time":                  {annotate(v1alpha1.AnnotationScheduledTime, "noon"), true, nil},
		"of another attempt":          {annotate(v1alpha1.AnnotationAttempt, "3"), true, nil},
		"of attempt 02":               {annotate(v1alpha1.AnnotationAttempt, "02"), true, nil},
		"of attempt +2":               {annotate(v1alpha1.AnnotationAttempt, "+2"), true, nil},
		"of attempt 0":                {annotate(v1alpha1.AnnotationAttempt, "0"), true, nil},
		"of no attempt":               {annotate(v1alpha1.AnnotationAttempt, "two"), true, nil},
		"of attempt 2^32 + 2":         {annotate(v1alpha1.AnnotationAttempt, "4294967298"), true, nil},
		"that was scheduled":          {label(v1alpha1.LabelTrigger, "schedule"), true, &scheduledOnly},
		"of an unknown trigger":       {label(v1alpha1.LabelTrigger, "x"), true, &scheduledOnly},
		"of an unknown schedule":      {label(v1alpha1.LabelSchedule, ""), true, &anonymous},
	} {
		tt := tick()
		child := built(t, tt, noon)
		c.change(child)
		if owns := timetable.Owns(tt, child); owns != c.owns {
			t.Errorf("%s: owned %t", sentence, owns)
		}
		run, proves := timetable.Proves(tt, child)
		if proves != (c.proves != nil) || proves && run != *c.proves {
			t.Errorf("%s: %+v, %t", sentence, run, proves)
		}
	}
}

// Each child that is built proves the run that it was built for, in whatever zone.
func TestChildrenProveTheirRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tt := tick()
		tt.Name = rapid.StringMatching("[a-z]([-a-z0-9]{0,61}[a-z0-9])?").Draw(t, "name")
		start := timetable.Start{Run: timetable.Run{
			ScheduledTime: time.Unix(rapid.Int64Range(0, 7258118399).Draw(t, "time"), 0).UTC(),
			Attempt:       int32(rapid.IntRange(1, 11).Draw(t, "attempt")),
			Trigger:       rapid.SampledFrom([]v1alpha1.Trigger{v1alpha1.TriggerSchedule, v1alpha1.TriggerCatchUp}).Draw(t, "trigger"),
			Schedule:      rapid.SampledFrom([]string{"main", "night"}).Draw(t, "schedule"),
		}}
		start.Schedules = []string{start.Schedule, "x"}
		start.Zone = rapid.SampledFrom([]*time.Location{nil, time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -9*3600)}).Draw(t, "zone")
		template, obstacle := timetable.ReadTemplate(&tt.Spec)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		child, obstacle := template.Build(tt, start)
		if obstacle != nil {
			t.Fatal(obstacle)
		}
		if got, ok := timetable.Proves(tt, child); !ok || got != start.Run {
			t.Fatalf("%t %s", ok, cmp.Diff(start.Run, got))
		}
	})
}

// FuzzProves: whatever annotations hold, a child that proves a run has the name of that run.
func FuzzProves(f *testing.F) {
	f.Add("tick-20260504-121000-r2", "2026-05-04T12:10:00Z", "2")
	f.Add("tick-20260504-121000", "2026-05-04T14:10:00+02:00", "1")
	f.Fuzz(func(t *testing.T, name, scheduled, attempt string) {
		tt := tick()
		child := built(t, tt, noon)
		child.SetName(name)
		child.SetAnnotations(map[string]string{v1alpha1.AnnotationScheduledTime: scheduled, v1alpha1.AnnotationAttempt: attempt})
		if run, ok := timetable.Proves(tt, child); ok && name != timetable.ChildName(timetable.RunName("tick", run.ScheduledTime), run.Attempt) {
			t.Errorf("%q %q %q: %+v", name, scheduled, attempt, run)
		}
	})
}
