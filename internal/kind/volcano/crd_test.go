// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package volcano_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json" // numbers are int64

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

// crds are those of CronJob and Job.
func crds(t *testing.T) (cronJob, job *kindtest.CRD) {
	t.Helper()
	text, err := os.ReadFile("testdata/batch.volcano.sh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parsed := kindtest.ParseCRDs(t, text)
	if len(parsed) != 2 {
		t.Fatalf("%d CRDs, want those of CronJob and Job", len(parsed))
	}
	return parsed[0], parsed[1]
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(text, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

const stored = `{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob",
	"metadata": {"name": "tick", "namespace": "batch", "uid": "cj-1", "resourceVersion": "7", "creationTimestamp": "2026-05-04T12:03:20Z"},
	"spec": {"schedule": "*/10 * * * *", "timeZone": "Asia/Shanghai", "startingDeadlineSeconds": 60,
		"jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"minAvailable": 1, "plugins": {"ssh": []}, "tasks": [{"name": "main", "replicas": 1}]}}}}`

// The CRDs serve what the adapter expects.
func TestCRDs(t *testing.T) {
	info := volcano.Kind{}.Info()
	cronJob, job := crds(t)
	cronJob.Serves(t, info.OwnerResource, info.Owner)
	job.Serves(t, info.ChildResource, info.Child)
}

// A pass over a CronJob as the API server stores it, with its defaults: the child is taken as it was built, and the
// record as it was written, to the last field.
func TestCRDsTakeWhatIsWritten(t *testing.T) {
	cronJob, job := crds(t)
	obj := decode(t, []byte(stored))
	if errs := cronJob.Admit(t, obj); len(errs) > 0 {
		t.Fatal(errs)
	}
	owner := &volcano.CronJob{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, owner); err != nil {
		t.Fatal(err)
	}
	k := volcano.Kind{}
	in := cron.Input{Now: time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC), Traits: k.Info().Traits}
	var err error
	if in.Owner, in.Policy, in.Stored, err = k.Read(owner, adapter.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := in.Policy; s.Room != adapter.Room("Allow") || s.Suspend || *s.Succeeded.Limit != 3 || *s.Failed.Limit != 1 || *s.Deadline != 60 || s.Timing.ZoneName != "Asia/Shanghai" {
		t.Errorf("read with the defaults: %+v", s)
	}
	done := metav1.NewTime(in.Now.Add(-time.Minute))
	former := &volcano.Job{ObjectMeta: metav1.ObjectMeta{Name: "tick-1", Namespace: "batch", UID: "j-1",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, k.Info().Owner)}},
		Status: volcano.JobStatus{State: volcano.JobState{Phase: "Completed", LastTransitionTime: &done}}}
	finished, err := k.ReadChild(former, k.Info().Child, owner)
	if err != nil {
		t.Fatal(err)
	}
	in.Children = []cron.Child{finished}

	plan := cron.Decide(in)
	if len(plan.Starts) == 0 {
		t.Fatalf("nothing starts:\n%s", plan)
	}
	built, err := k.Build(owner, adapter.Start{Start: plan.Starts[0]})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(built)
	if err != nil {
		t.Fatal(err)
	}
	sent, admitted := decode(t, text), decode(t, text)
	if errs := job.Admit(t, admitted); len(errs) > 0 {
		t.Errorf("the Job is refused: %v", errs)
	}
	sent["spec"].(map[string]any)["queue"], sent["spec"].(map[string]any)["maxRetry"] = "default", int64(3)
	if diff := cmp.Diff(sent, admitted); diff != "" {
		t.Errorf("Job (-sent and defaulted +stored):\n%s", diff)
	}

	child, err := k.ReadChild(built, k.Info().Child, owner)
	if err != nil {
		t.Fatal(err)
	}
	child.UID, child.ResourceVersion = "j-2", "9"
	in.AddStartResult(plan.Starts[0], cron.CreateResultOf(&child, nil))
	plan = cron.Decide(in)
	patches, err := k.Patches(owner, *plan.StatusWrite)
	if err != nil {
		t.Fatal(err)
	}
	status := decode(t, patches[0].Data)["status"].(map[string]any)
	obj["status"] = runtime.DeepCopyJSON(status)
	if errs := cronJob.Admit(t, obj); len(errs) > 0 {
		t.Errorf("the status is refused: %v", errs)
	}
	if diff := cmp.Diff(status, obj["status"]); diff != "" {
		t.Errorf("status (-sent +stored):\n%s", diff)
	}
	for _, field := range []string{"active", "lastScheduleTime", "lastSuccessfulTime"} {
		if status[field] == nil {
			t.Errorf("the pass does not write %s, so this test does not see it", field)
		}
	}
}

// A Job has one of the phases that Volcano's schema lists, and the adapter has a meaning for each.
func TestEveryPhase(t *testing.T) {
	_, job := crds(t)
	for phase, want := range map[string]cron.ChildPhase{
		"Pending": cron.Unfinished, "Aborting": cron.Unfinished, "Aborted": cron.Unfinished, "Running": cron.Unfinished, "Restarting": cron.Unfinished,
		"Completing": cron.Unfinished, "Completed": cron.Complete, "Terminating": cron.Unfinished, "Terminated": cron.Failed, "Failed": cron.Failed,
	} {
		obj := decode(t, []byte(`{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
			"status": {"state": {"phase": "`+phase+`", "lastTransitionTime": "2026-05-04T12:12:30Z"}}}`))
		if errs := job.Admit(t, obj); len(errs) > 0 {
			t.Errorf("%s is no phase of Volcano's: %v", phase, errs)
		}
		typed := &volcano.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj, typed); err != nil {
			t.Fatal(err)
		}
		child, err := volcano.Kind{}.ReadChild(typed, volcano.Kind{}.Info().Child, nil)
		if err != nil {
			t.Fatal(err)
		}
		if child.Phase != want || (child.Finished != nil) != (want != cron.Unfinished) {
			t.Errorf("%s means %v, finished %v; want %v", phase, child.Phase, child.Finished, want)
		}
	}
	// The list above is whole: the schema names every phase that it takes.
	errs := job.Admit(t, decode(t, []byte(`{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "status": {"state": {"phase": "?"}}}`)))
	if len(errs) != 1 || strings.Count(errs[0].Detail, `"`) != 20 {
		t.Errorf("the schema does not list ten phases: %v", errs)
	}
}

// An answer of the server replaces what was sent: an owner reference that a webhook took away does not seem to be there
// (CJ-091).
func TestAnswerReplacesWhatWasSent(t *testing.T) {
	sent := &volcano.Job{ObjectMeta: metav1.ObjectMeta{Name: "tick-1", Labels: map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "CronJob", UID: "cj-1", Controller: new(true)}}}}
	if err := json.Unmarshal([]byte(`{"metadata": {"name": "tick-1", "uid": "j-1"}}`), sent); err != nil {
		t.Fatal(err)
	}
	if sent.UID != "j-1" || len(sent.OwnerReferences) > 0 || len(sent.Labels) > 0 {
		t.Errorf("after the answer: %+v", sent.ObjectMeta)
	}
}
