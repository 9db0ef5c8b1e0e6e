// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// StatusPatch gives the merge patch of the status subresource that makes before after; nil if they are the same. It
// names only what changes, so that fields which this program does not know survive, and carries the UID and resource
// version of the object that the decision was made on: the server refuses it for any other one.
func StatusPatch(obj metav1.Object, before, after *v1alpha1.TimetableStatus) ([]byte, error) {
	changes, err := changedFields(before, after)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return nil, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": obj.GetUID(), "resourceVersion": obj.GetResourceVersion()},
		"status":   changes,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of a status: %w", err)
	}
	return patch, nil
}

// changedFields gives the merge patch from one status to another. Only what differs is written as JSON, which costs
// most.
func changedFields(before, after *v1alpha1.TimetableStatus) (map[string]any, error) {
	changes := map[string]any{}
	from, to := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i := range statusFields {
		was, is := from.Field(i), to.Field(i)
		if reflect.DeepEqual(was.Interface(), is.Interface()) {
			continue
		}
		change, err := changedField(was, is)
		if err != nil {
			return nil, fmt.Errorf("encoding status.%s: %w", statusFields[i], err)
		}
		if change != nil {
			changes[statusFields[i]] = change
		}
	}
	return changes, nil
}

// statusFields are the names of the fields of a status, all of which are absent when they are empty.
var statusFields = func() (names []string) {
	for field := range reflect.TypeFor[v1alpha1.TimetableStatus]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// none is the change of a field that goes.
var none = json.RawMessage("null")

// changedField gives the change of one field as JSON, or, for an object that stays, as the merge patch of it; nil if
// JSON has no difference.
func changedField(was, is reflect.Value) (any, error) {
	if absent(is) {
		if absent(was) {
			return nil, nil
		}
		return none, nil
	}
	to, err := json.Marshal(is.Interface())
	if err != nil || absent(was) {
		return json.RawMessage(to), err
	}
	from, err := json.Marshal(was.Interface())
	if err != nil || bytes.Equal(from, to) {
		return nil, err
	}
	if to[0] != '{' {
		return json.RawMessage(to), nil
	}
	var old, changed map[string]any
	if err := errors.Join(json.Unmarshal(from, &old), json.Unmarshal(to, &changed)); err != nil {
		return nil, err
	}
	return difference(old, changed), nil
}

func absent(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }

// difference gives the merge patch from one object to another: null for what goes, lists whole.
func difference(from, to map[string]any) map[string]any {
	changes := map[string]any{}
	for name := range from {
		if _, stays := to[name]; !stays {
			changes[name] = nil
		}
	}
	for name, value := range to {
		old, was := from[name]
		inner, isObject := value.(map[string]any)
		oldInner, wasObject := old.(map[string]any)
		switch {
		case isObject && wasObject:
			if within := difference(oldInner, inner); len(within) > 0 {
				changes[name] = within
			}
		case !was || !reflect.DeepEqual(old, value):
			changes[name] = value
		}
	}
	return changes
}
