// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ofServer are fields of metadata that the API server writes.
var ofServer = []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// ownPrefix is that of labels and annotations that only Carillon writes.
const ownPrefix = "carillon.dev/"

// metadata prepares the metadata of an object for one of another kind: without what the server, kubectl and Carillon
// wrote about the old one, and with a name that the new one may have.
func (r *Result) metadata(object *yaml.Node, longest int, dots bool) error {
	all := value(object, "metadata")
	if all == nil {
		return fmt.Errorf("metadata is missing")
	}
	f := fields{"metadata", all}
	for _, name := range ofServer {
		f.take(name)
	}
	for _, name := range []string{"ownerReferences", "finalizers"} {
		if key, _ := f.take(name); key != nil {
			r.Notes = append(r.Notes, "metadata."+name+" is left out: it belongs to the object that was")
		}
	}
	if annotations := value(all, "annotations"); annotations != nil {
		withoutOwn(annotations, func(key string) bool {
			return strings.HasPrefix(key, ownPrefix) || key == "kubectl.kubernetes.io/last-applied-configuration"
		})
		if len(annotations.Content) == 0 {
			f.take("annotations")
		}
	}
	if name := value(all, "name"); name != nil {
		if valid := validName(name.Value, longest, dots); valid != name.Value {
			r.Notes = append(r.Notes, fmt.Sprintf("the name was %s; a %s has at most %d small letters, digits and hyphens", name.Value, r.kind(), longest))
			name.Value = valid
		}
	}
	return nil
}

func (r *Result) kind() string {
	kind, _, _ := strings.Cut(r.Reference, "/")
	return map[string]string{"timetable": "Timetable", "cronjob": "CronJob"}[kind]
}

// withoutOwn takes the fields of a mapping out whose keys are some.
func withoutOwn(mapping *yaml.Node, own func(string) bool) (out []string) {
	for n := 0; n+1 < len(mapping.Content); {
		if key := mapping.Content[n].Value; own(key) {
			out = append(out, key)
			mapping.Content = slices.Delete(mapping.Content, n, n+2)
			continue
		}
		n += 2
	}
	return out
}

var notInNames = regexp.MustCompile(`[^a-z0-9-]`)

func validName(name string, longest int, dots bool) string {
	name = strings.ToLower(name)
	if dots {
		parts := strings.Split(name, ".")
		for n := range parts {
			parts[n] = notInNames.ReplaceAllString(parts[n], "-")
		}
		name = strings.Join(parts, ".")
	} else {
		name = notInNames.ReplaceAllString(name, "-")
	}
	name = strings.TrimLeft(name, "-.")
	return strings.TrimRight(name[:min(len(name), longest)], "-.")
}

// template prepares the metadata of a template, of which only labels and annotations count.
func (r *Result) template(metadata *yaml.Node) {
	for n := 0; n+1 < len(metadata.Content); {
		key, content := metadata.Content[n].Value, metadata.Content[n+1]
		if key != "labels" && key != "annotations" {
			if content.Tag != "!!null" {
				r.Notes = append(r.Notes, "jobTemplate.metadata."+key+" is left out: no Job ever got it")
			}
			metadata.Content = slices.Delete(metadata.Content, n, n+2)
			continue
		}
		if content.Kind == yaml.MappingNode {
			for _, own := range withoutOwn(content, func(key string) bool { return strings.HasPrefix(key, ownPrefix) }) {
				r.Notes = append(r.Notes, "jobTemplate.metadata."+key+": "+own+" is left out, because what begins with "+ownPrefix+" is Carillon's own")
			}
		}
		n += 2
	}
}
