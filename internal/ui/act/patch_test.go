// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
)

func object(depth int) *rapid.Generator[map[string]any] {
	value := rapid.OneOf(rapid.Just[any]("a"), rapid.Just[any]("b"), rapid.Just[any](int64(3)), rapid.Just[any](true), rapid.Just[any]([]any{"a"}), rapid.Just[any]([]any{"a", "b"}))
	if depth > 0 {
		value = rapid.OneOf(value, rapid.Map(object(depth-1), func(m map[string]any) any { return m }))
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"p", "q", "r"}), value, 0, 3)
}

// What an edit sends makes of one object exactly the other, and of the same nothing.
func TestDifferenceMakesOneOfTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := object(3).Draw(t, "from"), object(3).Draw(t, "to")
		if change := difference(from, from); len(change) != 0 {
			t.Fatalf("of the same: %v", change)
		}
		got := runtime.DeepCopyJSON(from)
		merge(got, difference(from, to))
		if !reflect.DeepEqual(got, to) {
			t.Fatalf("got %v", got)
		}
	})
}

// Who applies an object again is known by what he leaves on it, and only he who writes the field in question is told.
func TestAppliers(t *testing.T) {
	managed := func(manager, operation, fields string) map[string]any {
		return map[string]any{"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{fields: map[string]any{}}}}
	}
	tests := map[string]struct {
		metadata map[string]any
		want     []applier
	}{
		"nobody":                   {map[string]any{}, nil},
		"kubectl create":           {map[string]any{"managedFields": []any{managed("kubectl-create", "Update", "f:suspend")}}, nil},
		"kubectl apply":            {map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"spec":{"suspend":true}}`}}, []applier{{"kubectl apply", false}}},
		"another field":            {map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{"spec":{"schedule":""}}`}}, nil},
		"what cannot be read":      {map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": `{`}}, []applier{{"kubectl apply", false}}},
		"server-side":              {map[string]any{"managedFields": []any{managed("kubectl", "Apply", "f:suspend")}}, []applier{{"kubectl apply --server-side", false}}},
		"server-side, other field": {map[string]any{"managedFields": []any{managed("kubectl", "Apply", "f:schedule")}}, nil},
		"carillon up":              {map[string]any{"managedFields": []any{managed("carillon", "Apply", "f:suspend")}}, []applier{{"carillon up -f", false}}},
		"this page":                {map[string]any{"managedFields": []any{managed(manager, "Apply", "f:suspend")}}, nil},
		"Helm":                     {map[string]any{"labels": map[string]any{"app.kubernetes.io/managed-by": "Helm"}}, []applier{{"Helm", true}}},
		"a label of others":        {map[string]any{"labels": map[string]any{"app.kubernetes.io/managed-by": "somebody"}}, nil},
		"Flux":                     {map[string]any{"managedFields": []any{managed("kustomize-controller", "Apply", "f:schedule")}}, []applier{{"Flux", true}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := appliers(&unstructured.Unstructured{Object: map[string]any{"metadata": test.metadata}}, "suspend"); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
