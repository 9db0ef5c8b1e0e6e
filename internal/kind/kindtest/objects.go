// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package kindtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

func (s Suite) scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := s.Kind.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// owner is a CronJob with every field that a kind may have.
func (s Suite) owner(t *testing.T) adapter.Object { return s.decode(t, s.ownerJSON(t)) }

func (s Suite) ownerJSON(t *testing.T) map[string]any {
	t.Helper()
	apiVersion, kind := s.Kind.Info().Owner.ToAPIVersionAndKind()
	obj := map[string]any{}
	text := `{
		"metadata": {"name": "tick", "namespace": "batch", "uid": "cj-1", "resourceVersion": "41", "generation": 2,
			"creationTimestamp": "2026-05-04T12:03:20Z", "labels": {"shared": "original"},
			"annotations": {"shared": "original", "carillon.dev/timetable": "{\"schedules\":[\"*/10 * * * *\"]}",
				"carillon.dev/conditions": "true"},
			"managedFields": [
				{"manager": "kubectl", "operation": "Update", "time": "2026-05-04T12:04:00Z", "fieldsType": "FieldsV1",
				 "fieldsV1": {"f:spec": {"f:` + s.Kind.Info().ScheduleFields[0] + `": {}}}},
				{"manager": "other", "operation": "Update", "time": "2026-05-04T12:09:00Z", "fieldsType": "FieldsV1",
				 "fieldsV1": {"f:metadata": {"f:labels": {"f:` + s.Kind.Info().ScheduleFields[0] + `": {}}}}}]},
		"spec": {"schedule": "*/10 * * * *", "startingDeadlineSeconds": 300, "concurrencyPolicy": "Forbid", "suspend": false,
			"successfulJobsHistoryLimit": 2, "failedJobsHistoryLimit": 4,
			"jobTemplate": {"metadata": {"name": "dropped", "finalizers": ["dropped/too"], "labels": {"a": "b"},
				"annotations": {"x": "y", "` + s.Stamp + `": "bogus"}}, "spec": ` + s.Template + `}},
		"status": {"active": [{"apiVersion": "batch/v1", "kind": "Job", "namespace": "batch", "name": "tick-1", "uid": "u1"}],
			"lastScheduleTime": "2026-05-04T12:00:00Z"}
	}`
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	obj["apiVersion"], obj["kind"] = apiVersion, kind
	if !s.Cannot.TimeZone {
		obj["spec"].(map[string]any)["timeZone"] = "Europe/Rome"
	}
	if !s.Cannot.LastSuccessful {
		obj["status"].(map[string]any)["lastSuccessfulTime"] = "2026-05-04T12:01:00Z"
	}
	if !s.Cannot.Conditions {
		obj["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Available", "status": "True",
			"reason": "JobsActive", "message": "m", "lastTransitionTime": "2026-05-04T12:01:00Z", "observedGeneration": 2}}
	}
	s.rename(obj)
	return obj
}

// name is what the API calls a field of spec or status of batch/v1.
func (s Suite) name(field string) string {
	if name, ok := s.Names[field]; ok {
		return name
	}
	return field
}

// rename gives the fields of a CronJob of batch/v1 the names that the API has for them.
func (s Suite) rename(obj map[string]any) {
	for _, part := range []string{"spec", "status"} {
		fields := obj[part].(map[string]any)
		for field, name := range s.Names {
			if value, ok := fields[field]; ok {
				delete(fields, field)
				fields[name] = value
			}
		}
	}
}

// child is a child with that status as JSON.
func (s Suite) child(t *testing.T, status string) adapter.Object {
	t.Helper()
	apiVersion, kind := s.Kind.Info().Child.ToAPIVersionAndKind()
	obj := map[string]any{}
	text := `{"apiVersion": "` + apiVersion + `", "kind": "` + kind + `",
		"metadata": {"name": "tick-29631610", "namespace": "batch", "uid": "u1", "resourceVersion": "7",
			"creationTimestamp": "2026-05-04T12:10:01Z", "deletionTimestamp": "2026-05-04T12:30:00Z",
			"labels": {"shared": "original"}, "annotations": {"shared": "original", "` + s.Stamp + `": "2026-05-04T12:10:00Z"}},
		"spec": ` + s.Template + `, "status": ` + status + `}`
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return s.decode(t, obj)
}

func (s Suite) decode(t *testing.T, obj map[string]any) adapter.Object {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	info, gvk := s.Kind.Info(), s.Kind.Info().Owner
	if obj["apiVersion"] != info.Owner.GroupVersion().String() || obj["kind"] != info.Owner.Kind {
		gvk = info.Child
	}
	typed, err := s.scheme(t).New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, typed); err != nil {
		t.Fatal(err)
	}
	return typed.(adapter.Object)
}

func encode(t *testing.T, obj any) map[string]any {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func anyOf(m map[string]Meaning) Meaning { return m[slices.Sorted(maps.Keys(m))[0]] }

func instant(t *testing.T, text string) *time.Time {
	t.Helper()
	if text == "" {
		return nil
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return &parsed
}

// stored is the status of the suite's CronJob, changed.
func (s Suite) stored(t *testing.T, change func(*cron.Memory)) cron.Memory {
	t.Helper()
	_, _, status, err := s.Kind.Read(s.owner(t), adapter.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change(&status)
	return status
}

// timing is what the annotation tells of the timing that was served.
func (s Suite) timing(annotation string) cron.ServedTiming {
	return adapter.ServedTiming(annotation, cron.Timing{}, s.Kind.Info(), adapter.ReadOptions{})
}

// byContent compares times, zones and errors by what they hold.
var byContent = cmp.Options{
	cmpopts.IgnoreUnexported(cron.Memory{}),
	cmp.Comparer(func(a, b cron.Times) bool { return reflect.DeepEqual(a, b) }),
	cmp.Comparer(func(a, b *time.Location) bool { return reflect.DeepEqual(a, b) }),
	cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
}
