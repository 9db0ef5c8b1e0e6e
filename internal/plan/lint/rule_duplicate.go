// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var duplicate = &Rule{
	ID: "duplicate", Level: Error, Kinds: "all",
	Summary: "two objects have the same kind, namespace and name",
	Reason:  "They are one object in the API: the one that is applied last overwrites the other.",
	Cure:    "Rename one of them, or take it out.",
	checkAll: func(all *subjects) []problemOf {
		type key struct {
			kind            schema.GroupKind
			namespace, name string
		}
		first := map[key]*Subject{}
		var found []problemOf
		for _, s := range all.subjects {
			k := key{s.Content.GroupVersionKind().GroupKind(), s.namespace, s.Content.GetName()}
			if k.name == "" || s.has("metadata", "uid") { // an API server has each once
				continue
			}
			if earlier := first[k]; earlier != nil {
				found = append(found, problemOf{s, problem{path: at("metadata", "name"), message: fmt.Sprintf("%s is there already: %s", s.name(), earlier.Object)}})
				continue
			}
			first[k] = s
		}
		return found
	},
}
