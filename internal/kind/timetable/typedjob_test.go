// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// A Job has its Go type unless that would lose something of the template, or change what the server says of it.
func TestTypedJobs(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		typed    bool
	}{
		"all that a Job has": {`{"spec":{"backoffLimit":0,"suspend":false,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never",
			"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"0.5"}},"ports":[{"containerPort":80}],"livenessProbe":{"httpGet":{"port":"http"}}}]}}}}`, true},
		"nothing":                   {`{"spec":{}}`, true},
		"a null":                    {`{"spec":{"parallelism":null}}`, true},
		"a field that is newer":     {`{"spec":{"template":{"spec":{"containers":[{"name":"c","levitates":true}]}}}}`, false},
		"a field in other letters":  {`{"spec":{"BackoffLimit":1}}`, false},
		"a text instead of a count": {`{"spec":{"parallelism":"2"}}`, false},
		"a number with a fraction":  {`{"spec":{"parallelism":1.5}}`, false},
		"another kind":              {`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[]}}`, false},
		"another version":           {`{"apiVersion":"batch/v2","spec":{}}`, false},
	} {
		tt := &timetable.Object{Timetable: *tick()}
		if err := json.Unmarshal([]byte(c.template), &tt.Spec.Template); err != nil {
			t.Fatal(err)
		}
		child, err := worldKind.Build(tt, adapter.Start{Start: cron.Start{Time: policyNow, Attempt: 1}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		job, isJob := child.(*batchv1.Job)
		if isJob != c.typed {
			t.Errorf("%s: it is a %T", name, child)
		}
		want := built(t, &tt.Timetable, timetable.Start{Run: timetable.Run{ScheduledTime: policyNow, Attempt: 1}})
		if !isJob {
			if diff := cmp.Diff(want.Object, child.(*unstructured.Unstructured).Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			continue
		}
		var read batchv1.Job
		text, err := json.Marshal(want)
		if err == nil {
			err = json.Unmarshal(text, &read)
		}
		if diff := cmp.Diff(&read, job); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if trimmed := worldKind.TrimChild(job, batchv1.SchemeGroupVersion.WithKind("Job")).(*batchv1.Job); !reflect.DeepEqual(trimmed.Spec, batchv1.JobSpec{}) {
			t.Errorf("%s: trimmed it has the spec %+v", name, trimmed.Spec)
		}
	}
	if worldKind.NewChild(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}) != nil {
		t.Error("a Pod has its Go type")
	}
}
