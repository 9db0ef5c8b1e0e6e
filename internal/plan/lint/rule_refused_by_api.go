// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A Refusal is why an API server would not take an object.
type Refusal struct {
	// Field is the path of the field, such as "spec.schedules[0]"; "" or "<nil>" for the object as a whole.
	Field string
	// Message says what is wrong with it.
	Message string
}

// Refusals tell why an API server would not take an object.
type Refusals func(*unstructured.Unstructured) []Refusal

var refusedByAPI = &Rule{
	ID: "refused-by-api", Level: Error, Kinds: "Timetable, Calendar",
	Summary: "the API server refuses the object",
	Reason:  "Its definition has rules about which fields go together and what they may hold. This is told of objects that have no other error.",
	Cure:    "Mend what the message names; kubectl explain timetable.spec lists the fields.",
	check: func(s *Subject) []problem {
		if s.refusals == nil || s.has("metadata", "uid") {
			return nil
		}
		var found []problem
		for _, r := range s.refusals(s.Content) {
			var path Path
			if r.Field != "<nil>" {
				path = parsePath(r.Field)
			}
			found = append(found, problem{path: path, message: fmt.Sprintf("the API server refuses it: %s", r.Message)})
		}
		return found
	},
}

// alone leaves out refusals of objects that have another error: that has better words for the same mistake.
func alone(found []Finding) []Finding {
	wrong := map[*Subject]bool{}
	for _, f := range found {
		if f.Rule.Level == Error && f.Rule != refusedByAPI {
			wrong[f.subject] = true
		}
	}
	var kept []Finding
	for _, f := range found {
		if f.Rule != refusedByAPI || !wrong[f.subject] {
			kept = append(kept, f)
		}
	}
	return kept
}
