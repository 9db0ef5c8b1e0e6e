// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vectors reads the vectors of the Timetable's contract for the tests that try them.
package vectors

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json" // numbers are int64
	"sigs.k8s.io/yaml"
)

// Validation is a validation vector: what of a spec is tried, and what the answer is.
type Validation struct {
	ID       string
	Fragment string   // what is tried: YAML, or prose
	YAML     string   // the YAML, where Fragment is prose
	Kind     string   // "" is Timetable
	Accepted bool     // whether it is stored
	By       string   // schema, admission; condition: it is stored, and the condition Ready is False
	Says     []string // what the refusal says
	Message  string   // the same in short; of a condition Ready/ and its reason, then a part of its message
	Part     int      // 2: it belongs to what is not built yet
}

// ReadValidation gives the validation vectors of what is built, from docs/contract/timetable-vectors.json.
func ReadValidation(t *testing.T, file string) []Validation {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Validation []Validation }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Validation, func(v Validation) bool { return v.Part == 2 })
}

// Object is what the vector tries, completed by the shortest rest that is valid.
func (v Validation) Object(t *testing.T) map[string]any {
	t.Helper()
	fragment := v.YAML
	if fragment == "" {
		fragment = v.Fragment
	}
	obj := Timetable(t)
	if v.Kind == "Calendar" {
		obj = Decode(t, "{apiVersion: batch.carillon.dev/v1alpha1, kind: Calendar, metadata: {name: tick, namespace: ops}, spec: {}}")
	}
	for field, value := range Decode(t, "{"+fragment+"}") {
		switch {
		case field == "metadata":
			obj["metadata"] = runtime.DeepCopyJSONValue(value)
			obj["metadata"].(map[string]any)["namespace"] = "ops"
		case value == nil:
			delete(obj["spec"].(map[string]any), field)
		default:
			obj["spec"].(map[string]any)[field] = value
		}
	}
	return obj
}

// Timetable is the shortest Timetable: ops/tick, which starts a Job every ten minutes.
func Timetable(t *testing.T) map[string]any {
	t.Helper()
	return Decode(t, `{apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, metadata: {name: tick, namespace: ops}, spec: {
		schedules: [{cron: "*/10 * * * *"}],
		template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}}}`)
}

// Decode reads YAML as an API server would: whole numbers are int64.
func Decode(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
