// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/expand"
)

// field is one input of a form.
type field struct {
	Name, Label, Hint string
	// Type is that of an input, or "area", "select", "code".
	Type    string
	Options []option
	Value   string
	// Fault says what is wrong with what was typed.
	Fault string
}

// Lines is how high an area has to be for its text.
func (f *field) Lines() int { return min(24, max(2, strings.Count(f.Value, "\n")+2)) }

// group is fields that belong together.
type group struct {
	ID, Legend string
	// Folded: it is there for those who look for it.
	Folded bool
	Fields []*field
	// Fixed are values that come from elsewhere, a line each.
	Fixed []string
}

// values are what a run can be given.
type values struct{ Groups []group }

// Faulty tells whether something that was typed is at fault.
func (v *values) Faulty() bool {
	for _, g := range v.Groups {
		for _, f := range g.Fields {
			if f.Fault != "" {
				return true
			}
		}
	}
	return false
}

// parameterValues are the parameters of a Timetable, with what was typed; given are the values that differ from the
// defaults.
func parameterValues(spec *v1alpha1.TimetableSpec, form url.Values) (v *values, given map[string]string) {
	v, given = &values{}, map[string]string{}
	g := group{ID: "parameters", Legend: "Parameters"}
	for _, p := range spec.Parameters {
		f := &field{Name: "parameter." + p.Name, Label: p.Name, Value: p.Default, Type: "text", Hint: "Scheduled runs have " + quoted(p.Default) + "."}
		if p.Pattern != "" && p.Pattern != expand.DefaultPattern {
			f.Hint += " It must match " + p.Pattern + "."
		}
		if sent, ok := form[f.Name]; ok {
			f.Value = sent[0]
		}
		if f.Value != p.Default {
			given[p.Name] = f.Value
			declared, err := expand.CompileParameters([]expand.Parameter{expand.Parameter(p)})
			if err == nil {
				_, err = declared.Values(map[string]string{p.Name: f.Value})
			}
			if err != nil {
				f.Fault = upper(err.Error()) + "."
			}
		}
		g.Fields = append(g.Fields, f)
	}
	if len(g.Fields) > 0 {
		v.Groups = append(v.Groups, g)
	}
	return v, given
}

func quoted(text string) string {
	if text == "" {
		return "nothing"
	}
	return fmt.Sprintf("%q", text)
}

// container is a main container of what a run starts.
type container struct {
	object map[string]any
	// name is that of the container, with its task if there are several.
	name string
}

// containersOf are the main containers of a Job; they are parts of the object. An object of another kind has none.
func containersOf(o *unstructured.Unstructured) []container {
	var found []container
	add := func(spec map[string]any, in string, path ...string) {
		list, _, _ := unstructured.NestedFieldNoCopy(spec, path...)
		containers, _ := list.([]any)
		for _, c := range containers {
			if object, ok := c.(map[string]any); ok {
				name, _ := object["name"].(string)
				found = append(found, container{object, in + name})
			}
		}
	}
	add(o.Object, "", "spec", "template", "spec", "containers")
	tasks, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "tasks")
	list, _ := tasks.([]any)
	for _, t := range list { // of Volcano
		if task, ok := t.(map[string]any); ok {
			name, _ := task["name"].(string)
			add(task, name+"/", "template", "spec", "containers")
		}
	}
	return found
}

// containerValues are the environment and the command line of the containers of a Job, with what was typed, which is
// written into the Job. changed are the words for what differs.
func containerValues(job *unstructured.Unstructured, form url.Values) (v *values, changed []string) {
	v = &values{}
	for n, c := range containersOf(job) {
		environment := group{ID: fmt.Sprintf("env-%d", n), Legend: "Environment of container " + c.name}
		list, _ := c.object["env"].([]any)
		for i, e := range list {
			entry, _ := e.(map[string]any)
			name, _ := entry["name"].(string)
			if from, ok := entry["valueFrom"].(map[string]any); ok {
				environment.Fixed = append(environment.Fixed, name+" comes from "+sourceOf(from))
				continue
			}
			value, _ := entry["value"].(string)
			f := textField(fmt.Sprintf("env.%d.%d", n, i), name, value, form)
			if !sameText(f.Value, value) {
				entry["value"] = f.Value
				changed = append(changed, name+"="+f.Value)
			}
			environment.Fields = append(environment.Fields, f)
		}
		more := &field{Name: fmt.Sprintf("more-env.%d", n), Label: "More variables", Type: "area", Value: typed(form, fmt.Sprintf("more-env.%d", n)), Hint: "One a line, as NAME=value."}
		for line := range strings.Lines(more.Value) {
			name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "=")
			switch {
			case strings.TrimSpace(line) == "":
			case !ok || name == "" || strings.ContainsAny(name, " \t"):
				more.Fault = fmt.Sprintf("%q is not of the form NAME=value.", strings.TrimSpace(line))
			default:
				list = append(list, map[string]any{"name": name, "value": value})
				changed = append(changed, name+"="+value)
			}
		}
		if len(list) > 0 {
			c.object["env"] = list
		}
		environment.Fields = append(environment.Fields, more)
		v.Groups = append(v.Groups, environment)

		line := group{ID: fmt.Sprintf("line-%d", n), Legend: "Command line of container " + c.name, Folded: true}
		for _, part := range []string{"command", "args"} {
			words, _ := c.object[part].([]any)
			for i, w := range words {
				word, _ := w.(string)
				f := textField(fmt.Sprintf("%s.%d.%d", part, n, i), fmt.Sprintf("%s[%d]", part, i), word, form)
				if !sameText(f.Value, word) {
					words[i] = f.Value
					changed = append(changed, fmt.Sprintf("another %s[%d]", part, i))
				}
				line.Fields = append(line.Fields, f)
			}
		}
		further := &field{Name: fmt.Sprintf("more-args.%d", n), Label: "More arguments", Type: "area", Value: typed(form, fmt.Sprintf("more-args.%d", n)), Hint: "One a line, after those above."}
		words, _ := c.object["args"].([]any)
		for line := range strings.Lines(further.Value) {
			if word := strings.TrimRight(line, "\n"); word != "" {
				words = append(words, word)
				changed = append(changed, "the argument "+word)
			}
		}
		if len(words) > 0 {
			c.object["args"] = words
		}
		line.Fields = append(line.Fields, further)
		v.Groups = append(v.Groups, line)
	}
	return v, changed
}

// textField is a field with what was typed, or else with the value that is there.
func textField(name, label, value string, form url.Values) *field {
	f := &field{Name: name, Label: label, Value: value, Type: "text"}
	if _, sent := form[name]; sent {
		f.Value = typed(form, name)
	}
	const long = 100
	if strings.Contains(value, "\n") || len(value) > long || strings.Contains(f.Value, "\n") {
		f.Type = "area"
	}
	return f
}

// typed is what was sent, with the line ends that it had before a browser changed them.
func typed(form url.Values, name string) string {
	return strings.ReplaceAll(form.Get(name), "\r\n", "\n")
}

func sameText(a, b string) bool { return strings.ReplaceAll(b, "\r\n", "\n") == a }

// sourceOf says where the value of a variable comes from.
func sourceOf(from map[string]any) string {
	for _, source := range []struct{ field, words, of string }{
		{"secretKeyRef", "Secret ", "key"}, {"configMapKeyRef", "ConfigMap ", "key"}, {"fieldRef", "the Pod's ", "fieldPath"}, {"resourceFieldRef", "the Pod's ", "resource"},
	} {
		if reference, ok := from[source.field].(map[string]any); ok {
			name, _ := reference["name"].(string)
			key, _ := reference[source.of].(string)
			if name == "" {
				return source.words + key
			}
			return source.words + name + ", " + key
		}
	}
	return "elsewhere"
}
