// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// A process that has seen nothing but the stored status looks for each active run under its own kind, whatever the
// template's is by now: a run that is looked for elsewhere would seem to be gone, and another one would start (TG2).
func TestKindsOfActiveRuns(t *testing.T) {
	job, pod := corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Name: "a"}, corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: "b"}
	for name, test := range map[string]struct {
		template v1alpha1.RunTemplate
		active   []corev1.ObjectReference
		want     []string
	}{
		"nothing is active":                    {v1alpha1.RunTemplate{}, nil, []string{"batch/v1, Kind=Job"}},
		"Jobs":                                 {v1alpha1.RunTemplate{}, []corev1.ObjectReference{job, job}, []string{"batch/v1, Kind=Job"}},
		"a Job, and the template is a Pod":     {v1alpha1.RunTemplate{APIVersion: "v1", Kind: "Pod"}, []corev1.ObjectReference{job, pod}, []string{"/v1, Kind=Pod", "batch/v1, Kind=Job"}},
		"a Pod, and the template says no kind": {v1alpha1.RunTemplate{}, []corev1.ObjectReference{pod}, []string{"batch/v1, Kind=Job", "/v1, Kind=Pod"}},
	} {
		t.Run(name, func(t *testing.T) {
			remembered := cron.Memory{}
			for _, ref := range test.active {
				remembered.Active = append(remembered.Active, cron.ActiveRun{ObjectReference: ref})
			}
			tt := &Object{Timetable: v1alpha1.Timetable{Spec: v1alpha1.TimetableSpec{Template: test.template}}}
			setStatus(&tt.Status, &remembered)
			var got []string
			for _, kind := range (Kind{}).ChildKinds(tt) {
				got = append(got, kind.String())
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for i, r := range memory(tt, cron.Timing{}).Active {
				if ref := test.active[i]; r.APIVersion != ref.APIVersion || r.Kind != ref.Kind {
					t.Errorf("run %s is read as a %s of %s", r.Name, r.Kind, r.APIVersion)
				}
			}
		})
	}
}

// Why a kind cannot be started is told with what can be done about it, and nobody is sent to an administrator for what
// none can grant.
func TestChildObstacles(t *testing.T) {
	for name, test := range map[string]struct {
		kind    schema.GroupVersionKind
		trouble adapter.ChildTrouble
		reason  Reason
		says    string
	}{
		"not served": {schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "Backup"}, adapter.ChildTrouble{NotServed: true, Why: "x"}, KindNotFound,
			"a Backup of velero.io/v1 cannot be started: x: correct spec.template, or install what serves it"},
		"not granted": {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, adapter.ChildTrouble{Why: "x"}, KindNotAllowed,
			"a Pod of v1 cannot be started: x: ask an administrator to grant it to the controller (label rbac.carillon.dev/aggregate-to-timetable-children)"},
		"never granted": {v1alpha1.GroupVersion.WithKind("Timetable"), adapter.ChildTrouble{Why: "x"}, KindNotAllowed,
			"a Timetable of batch.carillon.dev/v1alpha1 cannot be started: x: name another kind in spec.template"},
		"never granted, whoever asks": {schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, adapter.ChildTrouble{NotNamespaced: true, Why: "x"}, KindNotAllowed,
			"a Namespace of v1 cannot be started: x: name a namespaced kind in spec.template"},
		"of a run that is active": {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, adapter.ChildTrouble{Former: true, Why: "x"}, FormerKindNotWatched,
			"a run is active that is a Pod of v1, the kind that spec.template had before, and cannot be followed: x: have that mended, or take the run out of status.active"},
	} {
		t.Run(name, func(t *testing.T) {
			got := (Kind{}).ChildObstacle(test.kind, test.trouble)
			if Reason(got.Key) != test.reason || got.Message != test.says {
				t.Errorf("%s: %s", got.Key, got.Message)
			}
		})
	}
}
