// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patch patches an object, or its status if status is set.
func (s *Server) patch(by, kind string, key types.NamespacedName, how types.PatchType, patch []byte, status bool) (client.Object, error) {
	old := s.store.get(kind, key)
	if old == nil {
		return nil, apierrors.NewNotFound(resource(kind), key.Name)
	}
	updated, err := patched(old, how, patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patch of %s %s: %v", kind, key.Name, err))
	}
	if uid := updated.GetUID(); uid != old.GetUID() {
		return nil, invalid(kind, key.Name, field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable"))
	}
	if updated.GetResourceVersion() != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource(kind), key.Name, errors.New("the object has been modified"))
	}
	if controllers(updated) > 1 {
		return nil, invalid(kind, key.Name, field.Invalid(field.NewPath("metadata", "ownerReferences"), nil, "only one reference can have controller set to true"))
	}
	keepMeta(old, updated)
	verb := "patch"
	if status {
		verb = "status"
		keepSpec(old, updated)
		if slices.Contains(s.Custom, kind) {
			*metaOf(updated) = *metaOf(old).DeepCopy()
		}
		if err := s.valid(old, updated); err != nil {
			return nil, err
		}
	} else {
		keepStatus(old, updated)
		if specChanged(old, updated) {
			updated.SetGeneration(old.GetGeneration() + 1)
		}
	}
	return s.commit(by, verb, old, updated), nil
}

func controllers(obj client.Object) (n int) {
	for _, ref := range obj.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			n++
		}
	}
	return n
}

// metadataOnly is an object of which only the metadata is of interest.
type metadataOnly struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
}

// patched gives the object that a patch makes of old. Most patches are of the
// metadata alone; then only this goes through JSON.
func patched(old client.Object, how types.PatchType, patch []byte) (client.Object, error) {
	updated := duplicate(old)
	if how == types.StrategicMergePatchType || how == types.MergePatchType {
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(patch, &parts); err != nil {
			return nil, err
		}
		if _, meta := parts["metadata"]; meta && len(parts) == 1 {
			var of metadataOnly
			if err := through(metadataOnly{*metaOf(old)}, &of, how, patch); err != nil {
				return nil, err
			}
			*metaOf(updated) = of.Metadata
			return updated, nil
		}
	}
	fresh := reflect.New(reflect.TypeOf(old).Elem()).Interface().(client.Object)
	return fresh, through(old, fresh, how, patch)
}

func through(old, into any, how types.PatchType, patch []byte) error {
	doc, err := json.Marshal(old)
	if err != nil {
		return err
	}
	switch how {
	case types.StrategicMergePatchType:
		doc, err = strategicpatch.StrategicMergePatch(doc, patch, into)
	case types.MergePatchType:
		doc, err = mergePatch(doc, patch)
	case types.JSONPatchType:
		doc, err = jsonPatch(doc, patch)
	default:
		err = fmt.Errorf("patches of type %s are not simulated", how)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(doc, into)
}

// mergePatch is RFC 7386.
func mergePatch(doc, patch []byte) ([]byte, error) {
	var target, change any
	if err := errors.Join(json.Unmarshal(doc, &target), json.Unmarshal(patch, &change)); err != nil {
		return nil, err
	}
	return json.Marshal(merge(target, change))
}

func merge(target, change any) any {
	changes, ok := change.(map[string]any)
	if !ok {
		return change
	}
	fields, ok := target.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	for k, v := range changes {
		if v == nil {
			delete(fields, k)
		} else {
			fields[k] = merge(fields[k], v)
		}
	}
	return fields
}

// jsonPatch is RFC 6902, without move and copy.
func jsonPatch(doc, patch []byte) ([]byte, error) {
	var target any
	var steps []struct {
		Op, Path string
		Value    any
	}
	if err := errors.Join(json.Unmarshal(doc, &target), json.Unmarshal(patch, &steps)); err != nil {
		return nil, err
	}
	for _, step := range steps {
		path := strings.Split(step.Path, "/")[1:]
		for i := range path {
			path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
		}
		var err error
		if target, err = jsonStep(target, step.Op, path, step.Value); err != nil {
			return nil, fmt.Errorf("%s %s: %w", step.Op, step.Path, err)
		}
	}
	return json.Marshal(target)
}

func jsonStep(in any, op string, path []string, value any) (any, error) {
	if len(path) == 0 {
		if op == "test" && !reflect.DeepEqual(in, value) {
			return nil, fmt.Errorf("it is %v", in)
		}
		if op == "test" {
			return in, nil
		}
		return value, nil
	}
	last := len(path) == 1
	switch at := in.(type) {
	case map[string]any:
		if last && op == "remove" {
			if _, ok := at[path[0]]; !ok {
				return nil, errors.New("no such field")
			}
			delete(at, path[0])
			return at, nil
		}
		next, err := jsonStep(at[path[0]], op, path[1:], value)
		if err == nil && op != "test" {
			at[path[0]] = next
		}
		return at, err
	case []any:
		i := len(at)
		if path[0] != "-" {
			var err error
			if i, err = strconv.Atoi(path[0]); err != nil || i < 0 || i > len(at) {
				return nil, errors.New("no such element")
			}
		}
		switch {
		case last && op == "add":
			return slices.Insert(at, i, value), nil
		case i == len(at):
			return nil, errors.New("no such element")
		case last && op == "remove":
			return slices.Delete(at, i, i+1), nil
		}
		next, err := jsonStep(at[i], op, path[1:], value)
		if err == nil {
			at[i] = next
		}
		return at, err
	}
	return nil, errors.New("no such field")
}
