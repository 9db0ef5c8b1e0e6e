// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// setting is a field of an object that the form of an edit has an input for.
type setting struct {
	field
	// path is where it stands; below lists, get and set know the way.
	path []string
	// number: it is a whole number there. Otherwise it is a text, or true and false.
	number bool
	// get and set are for what is no plain value; nil for one that is.
	get func(object map[string]any) string
	set func(object map[string]any, text string) error
}

// text is the field of an object, as the form shows it; "" if it is not there.
func (s *setting) text(object map[string]any) string {
	if s.get != nil {
		return s.get(object)
	}
	value, found, err := unstructured.NestedFieldNoCopy(object, s.path...)
	if !found || err != nil || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// write puts a text into the object; "" takes the field out.
func (s *setting) write(object map[string]any, text string) error {
	switch {
	case s.set != nil:
		return s.set(object, text)
	case text == "":
		remove(object, s.path)
		return nil
	case s.number:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		return unstructured.SetNestedField(object, n, s.path...)
	case text == "true" || text == "false":
		return unstructured.SetNestedField(object, text == "true", s.path...)
	}
	return unstructured.SetNestedField(object, text, s.path...)
}

// remove takes a field out, and what becomes empty by that.
func remove(object map[string]any, path []string) {
	for len(path) > 0 {
		unstructured.RemoveNestedField(object, path...)
		path = path[:len(path)-1]
		if len(path) < 2 { // spec itself stays
			return
		}
		if parent, ok, _ := unstructured.NestedMap(object, path...); !ok || len(parent) > 0 {
			return
		}
	}
}

// Path is the field's path, as an API server writes it.
func (s *setting) Path() string { return strings.Join(s.path, ".") }

// section is settings that belong together.
type section struct {
	Legend   string
	Folded   bool
	Settings []*setting
}

// sectionsOf are the inputs for an object.
func sectionsOf(s *workload.Scheduled, object map[string]any) []section {
	if s.Timetable() != nil {
		return timetableSections(object)
	}
	return cronJobSections(s)
}

// fill sets the values of the inputs: those of the object, and over them what was typed, which is written into the
// object. What cannot be written stays typed, with its fault.
func fill(sections []section, object map[string]any, form url.Values) {
	for _, group := range sections {
		for _, s := range group.Settings {
			s.Value = s.text(object)
			sent, ok := form[s.Name]
			if !ok {
				continue
			}
			text := strings.TrimSpace(strings.ReplaceAll(sent[0], "\r\n", "\n"))
			if text == s.Value {
				continue
			}
			s.Value = text
			if err := s.write(object, text); err != nil {
				s.Fault = upper(err.Error()) + "."
			}
		}
	}
}

func input(name, label, hint string, path ...string) *setting {
	return &setting{field: field{Name: name, Label: label, Hint: hint, Type: "text"}, path: path}
}

func number(name, label, hint string, path ...string) *setting {
	return &setting{field: field{Name: name, Label: label, Hint: hint, Type: "number"}, path: path, number: true}
}

// choose is an input with choices, each a word and what it means; without is what applies if nothing is said.
func choose(name, label, hint, without string, choices []string, path ...string) *setting {
	s := &setting{field: field{Name: name, Label: label, Hint: hint, Type: "select"}, path: path}
	s.Options = []option{{Text: without}}
	for _, each := range choices {
		word, text, _ := strings.Cut(each, " ")
		s.Options = append(s.Options, option{Value: word, Text: strings.TrimSuffix(word+": "+text, ": ")})
	}
	return s
}

// Chosen are the options, with the one that the value names.
func (s *setting) Chosen() []option {
	options, found := make([]option, len(s.Options)), false
	for i, o := range s.Options {
		o.Chosen = o.Value == s.Value
		found = found || o.Chosen
		options[i] = o
	}
	if !found { // what somebody wrote stays to be seen
		options = append(options, option{Value: s.Value, Text: s.Value, Chosen: true})
	}
	return options
}
