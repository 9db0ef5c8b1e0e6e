// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/plan/paragraph"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/entry"
)

// setting is a field of an object that the form of an edit has an input for.
type setting struct {
	field
	// path is where it stands; below lists, get and set know the way.
	path []string
	// number: it is a whole number there, from least to most. Otherwise it is a text, or true and false.
	number      bool
	least, most int64
	// check says what is wrong with a text; nil if whatever is written there can be right.
	check func(text string) error
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
		n, err := entry.Number(text, s.least, s.most)
		if err != nil {
			return err
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
				s.Fault = paragraph.Sentence(err.Error())
			}
		}
	}
}

// wrong is what is wrong with the setting of an object, if it is another one than before: what was stored once is
// changed by nobody who changes something else.
func (s *setting) wrong(before, object map[string]any) error {
	text := s.text(object)
	switch {
	case text == "" || text == s.text(before):
		return nil
	case s.number:
		_, err := entry.Number(text, s.least, s.most)
		return err
	case s.check != nil:
		return s.check(text)
	}
	return nil
}

// checked gives the setting with what checks it.
func (s *setting) checked(check func(text string) error) *setting {
	s.check = check
	return s
}

func input(name, label, hint string, path ...string) *setting {
	return &setting{field: field{Name: name, Label: label, Hint: hint, Type: "text"}, path: path}
}

func number(name, label, hint string, least, most int64, path ...string) *setting {
	return &setting{field: field{Name: name, Label: label, Hint: hint, Type: "number"}, path: path, number: true, least: least, most: most}
}

// length is an input for a duration of a Timetable, from least to most; a most of 0 is no bound.
func length(name, label, hint string, least, most time.Duration, path ...string) *setting {
	return input(name, label, durationHint+hint, path...).checked(func(text string) error { return entry.Duration(text, least, most) })
}

// zone is an input for a time zone.
func zone(without string) *setting {
	return input("timeZone", "Time zone", "A name such as Europe/Berlin. Empty: "+without, "spec", "timeZone").checked(func(text string) error {
		_, err := entry.Zone(text)
		return err
	})
}

// choose is an input with choices, each a word and what it means; without is what applies if nothing is said.
func choose(name, label, hint, without string, choices []string, path ...string) *setting {
	s := &setting{field: field{Name: name, Label: label, Hint: hint, Type: "select"}, path: path}
	s.Options = []option{{Text: without}}
	var words []string
	s.check = func(text string) error { return entry.Word(text, words) }
	for _, each := range choices {
		word, text, _ := strings.Cut(each, " ")
		words = append(words, word)
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
