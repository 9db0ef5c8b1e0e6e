// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// childMetadata are the fields of metadata that children get from a template.
var childMetadata = []string{"labels", "annotations"}

var ignoredMetadata = &Rule{
	ID: "ignored-metadata", Level: Warning, Kinds: "CronJob, Timetable, Job",
	Summary: "metadata of a template that nobody uses",
	Reason:  "What is made from a template gets its labels and annotations; name, namespace, finalizers and the like are dropped without a word.",
	Cure:    "Take it out; the namespace is that of the object itself.",
	check: func(s *Subject) []problem {
		var paths []Path
		switch {
		case s.isCronJob():
			paths = append(paths, at("spec", "jobTemplate", "metadata"))
		case s.timetable != nil:
			paths = append(paths, at("spec", "template", "metadata"))
		}
		for _, p := range s.pods {
			if kind, _ := s.runKind(); kind != (schema.GroupKind{Kind: "Pod"}) {
				paths = append(paths, p.path[:len(p.path)-1:len(p.path)-1].and("metadata"))
			}
		}
		var found []problem
		for _, path := range paths {
			value, _ := s.written(path...)
			fields, _ := value.(map[string]any)
			for _, name := range sortedKeys(fields) {
				if !slices.Contains(childMetadata, name) && fields[name] != nil {
					found = append(found, one(path.and(name), "%s has no effect: what is made from the template gets labels and annotations only", path.and(name))...)
				}
			}
		}
		return found
	},
}
