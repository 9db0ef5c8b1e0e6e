// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"
)

// A Path leads to a field of an object: names of fields, and numbers of list items.
type Path []any

func at(steps ...any) Path { return steps }

// and is the path of a field below.
func (p Path) and(steps ...any) Path { return append(slices.Clip(slices.Clone(p)), steps...) }

// String reads as "spec.template.spec.containers[0].image".
func (p Path) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if strings.ContainsAny(step, "./[]") {
				fmt.Fprintf(&b, "[%q]", step)
				continue
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

// get gives what stands at a path of a decoded object.
func get(in any, path Path) (any, bool) {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			fields, ok := in.(map[string]any)
			if !ok {
				return nil, false
			}
			if in, ok = fields[step]; !ok {
				return nil, false
			}
		case int:
			items, ok := in.([]any)
			if !ok || step < 0 || step >= len(items) {
				return nil, false
			}
			in = items[step]
		}
	}
	return in, true
}

func getString(in any, path Path) string {
	value, _ := get(in, path)
	text, _ := value.(string)
	return text
}
