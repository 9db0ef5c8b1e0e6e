// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// StatusPatch gives the merge patch of the status subresource that makes before after; nil if they are the same. It
// names only what changes, so that fields which this program does not know survive, and carries the UID and resource
// version of the object that the decision was made on: the server refuses it for any other one.
func StatusPatch(obj metav1.Object, before, after *v1alpha1.TimetableStatus) ([]byte, error) {
	from, err := fields(before)
	if err != nil {
		return nil, err
	}
	to, err := fields(after)
	if err != nil {
		return nil, err
	}
	changes := difference(from, to)
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

// fields gives a status as JSON has it.
func fields(status *v1alpha1.TimetableStatus) (map[string]any, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return nil, fmt.Errorf("encoding a status: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading an encoded status: %w", err)
	}
	return all, nil
}

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
