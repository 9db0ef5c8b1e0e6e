// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Change is one step of a fix.
type Change struct {
	// Path is the field that is set or renamed. All above it are there already.
	Path Path
	// Value is what it is set to: a string or an int64.
	Value any
	// Rename, if not "", is the new name of the field, which keeps its value unless there is a Value, too.
	Rename string
	// After is the field beside it after which a new one is written, if it is there.
	After string
}

// String says what the change writes: "spec.timeZone: Europe/Berlin".
func (c Change) String() string {
	path := c.Path
	if c.Rename != "" {
		path = path[:len(path)-1].and(c.Rename)
	}
	if c.Value == nil {
		return fmt.Sprintf("%s in place of %s", path, c.Path[len(c.Path)-1])
	}
	return fmt.Sprintf("%s: %v", path, c.Value)
}

// Fix applies the fixes of a report to the text of one of its files, in place: comments, order and layout stay. It
// gives the new text, and the findings that it has mended. A fix that would change anything but what it announces is
// left out, as are those that get in each other's way: another Check finds them again.
func Fix(report *Report, file string) (text string, mended []Finding) {
	byDocument := map[int][]Finding{}
	for _, f := range report.Findings {
		if f.File == file && len(f.Changes) > 0 && f.subject.document != nil {
			text = f.subject.document.file.text
			byDocument[f.subject.document.first] = append(byDocument[f.subject.document.first], f)
		}
	}
	firsts := make([]int, 0, len(byDocument))
	for first := range byDocument {
		firsts = append(firsts, first)
	}
	slices.Sort(firsts)
	var parts []string
	done := 0 // how much of the text is in parts
	for _, first := range firsts {
		d := byDocument[first][0].subject.document
		begin, end := d.file.offset(first), d.file.offset(d.end())
		part := text[begin:end]
		for _, f := range byDocument[first] {
			if changed, ok := change(part, f.subject.document.prefix, f.Changes); ok {
				part = changed
				mended = append(mended, f)
			}
		}
		parts = append(parts, text[done:begin], part)
		done = end
	}
	text = strings.Join(append(parts, text[done:]), "")
	sortFindings(mended)
	return text, mended
}

// change applies changes to the text of one document; false if it then would say anything else than it should.
func change(text string, prefix Path, changes []Change) (string, bool) {
	var want any
	if yaml.Unmarshal([]byte(text), &want) != nil {
		return "", false
	}
	for _, c := range changes {
		c.Path = append(slices.Clone(prefix), c.Path...)
		if !c.apply(want) {
			return "", false
		}
		e, ok := editOf(text, c)
		if !ok {
			return "", false
		}
		text = text[:e.begin] + e.text + text[e.end:]
	}
	var got any
	if yaml.Unmarshal([]byte(text), &got) != nil || !reflect.DeepEqual(got, want) {
		return "", false
	}
	return text, true
}

// apply makes the change to a decoded document.
func (c Change) apply(document any) bool {
	parent, _ := get(document, c.Path[:len(c.Path)-1])
	fields, ok := parent.(map[string]any)
	name, text := c.Path[len(c.Path)-1].(string)
	if !ok || !text {
		return false
	}
	value, there := fields[name]
	if c.Rename != "" {
		if _, taken := fields[c.Rename]; !there || taken {
			return false
		}
		delete(fields, name)
		name = c.Rename
	}
	if c.Value != nil {
		value = c.Value
	}
	if n, ok := value.(int64); ok {
		value = int(n) // as YAML is read
	}
	fields[name] = value
	return true
}

// FixFiles says which files a report has fixes for, in order.
func (r *Report) FixFiles() []string {
	var files []string
	for _, f := range r.Findings {
		if len(f.Changes) > 0 && !slices.Contains(files, f.File) {
			files = append(files, f.File)
		}
	}
	slices.SortFunc(files, strings.Compare)
	return files
}
