// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package tutorial_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json" // numbers are int64

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/kindtest"
	"github.com/carillon-dev/carillon/internal/kind/tutorial"
	"github.com/carillon-dev/carillon/schedule"
)

const crdFile = "../../../deploy/crds/batch.tutorial.kubebuilder.io_cronjobs.yaml"

func crd(t *testing.T) *kindtest.CRD {
	t.Helper()
	text, err := os.ReadFile(crdFile)
	if err != nil {
		t.Fatal(err)
	}
	crds := kindtest.ParseCRDs(t, text)
	if len(crds) != 1 {
		t.Fatalf("%d CRDs, want one", len(crds))
	}
	return crds[0]
}

func cronJob(name, schedule string) map[string]any {
	return map[string]any{
		"apiVersion": "batch.tutorial.kubebuilder.io/v1", "kind": "CronJob",
		"metadata": map[string]any{"name": name, "namespace": "batch"},
		"spec": map[string]any{
			"schedule": schedule,
			"jobTemplate": map[string]any{"spec": map[string]any{"template": map[string]any{
				"spec": map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "c"}}}}}},
		},
	}
}

// The CRD that we ship is one that an API server takes, and is the one that the adapter expects.
func TestCRD(t *testing.T) {
	crd(t).Serves(t, tutorial.Kind{}.Info().OwnerResource, tutorial.Kind{}.Info().Owner)
}

// The schema does what the tutorial leaves to a mutating webhook.
func TestCRDDefaults(t *testing.T) {
	obj := cronJob("tick", "*/10 * * * *")
	crd(t).Admit(t, obj)
	spec := obj["spec"].(map[string]any)
	for field, want := range map[string]any{"concurrencyPolicy": "Allow", "suspend": false,
		"successfulJobsHistoryLimit": int64(3), "failedJobsHistoryLimit": int64(1)} {
		if spec[field] != want {
			t.Errorf("%s is %v, want %v", field, spec[field], want)
		}
	}
	if spec["jobTemplate"].(map[string]any)["spec"].(map[string]any)["template"] == nil {
		t.Error("the template is gone")
	}
}

// The schema refuses what the tutorial's validating webhook refuses, as far as a schema can. A schema is asked at each
// update, too, so what was stored before it is refused as well (CJ-152).
func TestCRDValidation(t *testing.T) {
	with := func(change func(spec map[string]any)) map[string]any {
		obj := cronJob("tick", "*/10 * * * *")
		change(obj["spec"].(map[string]any))
		return obj
	}
	for sentence, c := range map[string]struct {
		obj map[string]any
		bad string // a part of the field's path, "" if the object is fine
	}{
		"CJ-150 T a name of 52":        {cronJob(strings.Repeat("a", 52), "@daily"), ""},
		"CJ-150 T a name of 53":        {cronJob(strings.Repeat("a", 53), "@daily"), "metadata.name"},
		"CJ-152 T a stored name of 60": {cronJob(strings.Repeat("a", 60), "@daily"), "metadata.name"},
		"an empty schedule":            {cronJob("tick", ""), "spec.schedule"},
		"no schedule":                  {with(func(s map[string]any) { delete(s, "schedule") }), "spec.schedule"},
		"prose for a schedule":         {cronJob("tick", "every day at noon, please"), "spec.schedule"},
		"six fields":                   {cronJob("tick", "0 0 0 * * *"), "spec.schedule"},
		"four fields":                  {cronJob("tick", "0 0 * *"), "spec.schedule"},
		"an unknown descriptor":        {cronJob("tick", "@reboot"), "spec.schedule"},
		"a negative deadline":          {with(func(s map[string]any) { s["startingDeadlineSeconds"] = int64(-1) }), "startingDeadlineSeconds"},
		"a negative limit":             {with(func(s map[string]any) { s["failedJobsHistoryLimit"] = int64(-1) }), "failedJobsHistoryLimit"},
		"an unknown policy":            {with(func(s map[string]any) { s["concurrencyPolicy"] = "Sometimes" }), "concurrencyPolicy"},
		"no template":                  {with(func(s map[string]any) { delete(s, "jobTemplate") }), "jobTemplate"},
		"labels that are no strings": {with(func(s map[string]any) {
			s["jobTemplate"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"tier": int64(5)}}
		}), "jobTemplate.metadata.labels.tier"},
		"annotations as a list": {with(func(s map[string]any) {
			s["jobTemplate"].(map[string]any)["metadata"] = map[string]any{"annotations": []any{"a"}}
		}), "jobTemplate.metadata.annotations"},
		"labels, annotations and what else a template has": {with(func(s map[string]any) {
			s["jobTemplate"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"tier": "5"},
				"annotations": map[string]any{"a": "b"}, "creationTimestamp": nil, "name": "x"}
		}), ""},
		"CJ-161 T a date that is none":    {cronJob("tick", "0 0 30 2 *"), ""},
		"a zone in the schedule":          {cronJob("tick", "TZ=Europe/Rome 0 6 * * *"), ""},
		"a zone and a descriptor":         {cronJob("tick", "CRON_TZ=Asia/Tokyo @daily"), ""},
		"an interval":                     {cronJob("tick", "@every 1h30m"), ""},
		"names, ranges, steps and blanks": {cronJob("tick", "  */5,7 9-17/2\t? JAN-mar  Mon "), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			errs := crd(t).Admit(t, c.obj)
			switch {
			case c.bad == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs)
			case c.bad != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), c.bad)):
				t.Errorf("got %v, want an error at %s", errs, c.bad)
			}
		})
	}
}

// What a pass records is what the schema takes, to the last field: with more active children than the book's schema has
// room for, and with conditions.
func TestCRDTakesWhatIsRecorded(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)
	k, info := tutorial.Kind{}, tutorial.Kind{}.Info()
	owner := &tutorial.CronJob{}
	owner.Name, owner.Namespace, owner.UID, owner.ResourceVersion, owner.Generation = "tick", "batch", "cj-1", "7", 1
	owner.CreationTimestamp = metav1.NewTime(now.Add(-time.Minute))
	owner.Annotations = map[string]string{tutorial.ConditionsAnnotation: "true"}
	owner.Spec.Schedule = "*/10 * * * *"
	cronOwner, policy, state, err := k.Read(owner, adapter.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := cron.Input{Now: now, Traits: info.Traits, Owner: cronOwner, Policy: policy, Stored: state}
	for i := range 12 {
		in.Children = append(in.Children, cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "batch", Name: fmt.Sprintf("tick-%02d", i),
			UID: types.UID(fmt.Sprint(i)), ResourceVersion: "3", Controller: metav1.NewControllerRef(owner, info.Owner)})
	}
	plan := cron.Decide(in)
	if plan.StatusWrite == nil {
		t.Fatalf("nothing is recorded:\n%s", plan)
	}
	patches, err := k.Patches(owner, *plan.StatusWrite)
	if err != nil {
		t.Fatal(err)
	}
	var patch map[string]any
	if err := json.Unmarshal(patches[0].Data, &patch); err != nil {
		t.Fatal(err)
	}
	obj := cronJob("tick", "*/10 * * * *")
	obj["status"] = patch["status"]
	sent := runtime.DeepCopyJSON(obj)
	if errs := crd(t).Admit(t, obj); len(errs) > 0 {
		t.Errorf("refused: %v", errs)
	}
	if diff := cmp.Diff(sent["status"], obj["status"]); diff != "" {
		t.Errorf("status (-sent +stored):\n%s", diff)
	}
	status := obj["status"].(map[string]any)
	if n := len(status["active"].([]any)); n != 10 {
		t.Errorf("%d active, the book's schema takes 10", n)
	}
	if n := len(status["conditions"].([]any)); n != 2 {
		t.Errorf("%d conditions, want Available and Progressing", n)
	}
}

// The schema refuses no schedule that the controller can read.
func FuzzCRDSchedule(f *testing.F) {
	for _, text := range []string{"* * * * *", "@every 90m", "TZ=UTC @daily", "0 0 29 2 *", "5-10/5,7 , ? jan sun", "+1-+5/+2 *-x/3 1,,2, jan-12 *", "\u00a00 0 * * *"} {
		f.Add(text)
	}
	var c *kindtest.CRD
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := schedule.Parse(text, nil); err != nil || len(text) > 1024 {
			t.Skip()
		}
		if c == nil {
			c = crd(t)
		}
		if errs := c.Admit(t, cronJob("tick", text)); len(errs) > 0 {
			t.Errorf("%q can be read and is refused: %v", text, errs)
		}
	})
}
