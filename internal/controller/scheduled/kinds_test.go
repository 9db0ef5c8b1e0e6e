// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Fields that our slim types do not know outlive everything that we write: status, annotation, conditions.
func TestUnknownFieldsSurvive(t *testing.T) {
	for _, letter := range []string{"V", "T"} {
		t.Run(letter, func(t *testing.T) {
			a := serve(t, letter)
			a.crd = nil // a later version of the API knows more fields than the one that we ship
			known := a.cronJob("tick", func(spec map[string]any) {
				spec["later"] = map[string]any{"added": []any{int64(1), "x", 2.5}}
				template := spec["jobTemplate"].(map[string]any)
				template["later"] = "kept"
				template["spec"].(map[string]any)["later"] = map[string]any{"deep": true}
			})
			metadata := known["metadata"].(map[string]any)
			metadata["annotations"] = map[string]any{"theirs": "kept", "carillon.dev/conditions": "true"}
			metadata["labels"] = map[string]any{"l": "kept"}
			metadata["finalizers"] = []any{"theirs/too"}
			known["status"] = map[string]any{"later": map[string]any{"added": int64(7)}, "active": []any{}}
			known["later"] = "kept"
			a.put(runtime.DeepCopyJSON(known))
			a.until("12:11:00")
			a.finish(a.jobsOf("tick")[0], true, "12:11:00")
			a.until("12:25:00")
			a.edit("tick", func(_, spec map[string]any) { spec["schedule"] = "*/20 * * * *" })
			a.until("12:45:00")
			if a.calls["status tick"] < 3 || a.calls["patch tick"] != 2 { // with the first record, and after the edit
				t.Fatalf("the test is to see status and annotation written, the calls were %v", a.calls)
			}

			got := a.cronJobs["tick"]
			for _, path := range [][]string{
				{"later"}, {"spec", "later"}, {"spec", "jobTemplate"}, {"status", "later"}, {"metadata", "annotations", "theirs"},
				{"metadata", "labels"}, {"metadata", "finalizers"},
			} {
				want, _, _ := unstructured.NestedFieldNoCopy(known, path...)
				kept, _, _ := unstructured.NestedFieldNoCopy(got, path...)
				if diff := cmp.Diff(want, kept); diff != "" {
					t.Errorf("%v (-want +got):\n%s", path, diff)
				}
			}
			deep, _, _ := unstructured.NestedBool(a.jobs[a.jobsOf("tick")[0]], "spec", "later", "deep")
			if letter == "V" && !deep {
				t.Error("a field of the template did not reach the Job")
			}
		})
	}
}

// The conditions of kind T, through the shell and the schema that we ship: each sync writes them with its record, in
// one write, and a sync in which nothing changes writes nothing (cronjob.md 2.3b, CJ-117).
func TestTutorialConditions(t *testing.T) {
	a := serve(t, "T")
	a.put(a.cronJob("plain", nil))
	obj := a.cronJob("tick", nil)
	obj["metadata"].(map[string]any)["annotations"] = map[string]any{"carillon.dev/conditions": "true"}
	a.put(obj)
	conditions := func(name string) map[string]string {
		list, _, err := unstructured.NestedSlice(a.cronJobs[name], "status", "conditions")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, c := range list {
			c := c.(map[string]any)
			got[c["type"].(string)] = fmt.Sprintf("%s/%s since %s", c["status"], c["reason"], c["lastTransitionTime"].(string)[11:19])
		}
		return got
	}
	poke := func() { a.put(a.cronJobs["tick"]) }
	for _, moment := range []struct {
		at     string
		act    func()
		want   map[string]string
		writes int
	}{
		{at: "12:04:00", writes: 1, want: map[string]string{
			"Progressing": "False/NoJobsActive since 12:03:20", "Available": "True/AllJobsCompleted since 12:03:20"}},
		{at: "12:09:00", act: poke, writes: 0, want: map[string]string{
			"Progressing": "False/NoJobsActive since 12:03:20", "Available": "True/AllJobsCompleted since 12:03:20"}},
		{at: "12:10:00", writes: 1, want: map[string]string{
			"Progressing": "True/JobCreated since 12:10:00", "Available": "True/AllJobsCompleted since 12:03:20"}},
		{at: "12:11:00", act: poke, writes: 1, want: map[string]string{
			"Progressing": "True/JobsActive since 12:10:00", "Available": "True/JobsActive since 12:03:20"}},
		{at: "12:12:00", act: poke, writes: 0, want: map[string]string{
			"Progressing": "True/JobsActive since 12:10:00", "Available": "True/JobsActive since 12:03:20"}},
		{at: "12:13:00", act: func() { a.finish(a.jobsOf("tick")[0], false, "12:12:30") }, writes: 1, want: map[string]string{
			"Progressing": "True/JobsActive since 12:10:00", "Degraded": "True/JobsFailed since 12:12:00", "Available": "False/JobsFailed since 12:12:00"}},
		{at: "12:14:00", act: func() { a.edit("tick", func(_, spec map[string]any) { spec["suspend"] = true }) }, writes: 1, want: map[string]string{
			"Progressing": "True/JobsActive since 12:10:00", "Degraded": "True/JobsFailed since 12:12:00", "Available": "False/Suspended since 12:12:00"}},
		{at: "13:00:00", act: poke, writes: 0, want: map[string]string{
			"Progressing": "True/JobsActive since 12:10:00", "Degraded": "True/JobsFailed since 12:12:00", "Available": "False/Suspended since 12:12:00"}},
	} {
		before := a.calls["status tick"]
		if moment.act != nil {
			moment.act()
		}
		a.until(moment.at)
		if diff := cmp.Diff(moment.want, conditions("tick")); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", moment.at, diff)
		}
		if n := a.calls["status tick"] - before; n != moment.writes {
			t.Errorf("at %s: %d status writes, want %d", moment.at, n, moment.writes)
		}
	}
	if got := conditions("plain"); len(got) > 0 {
		t.Errorf("conditions that nobody asked for: %v", got)
	}
}
