// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome

import "time"

// member gives a member of an object; nil if there is none, or no object.
func member(object any, path ...string) any {
	for _, name := range path {
		m, ok := object.(map[string]any)
		if !ok {
			return nil
		}
		object = m[name]
	}
	return object
}

// text gives a string; "" for anything else.
func text(object any, path ...string) string {
	s, _ := member(object, path...).(string)
	return s
}

// list gives a list; nil for anything else.
func list(object any, path ...string) []any {
	l, _ := member(object, path...).([]any)
	return l
}

// instant gives a time; zero for what is none.
func instant(object any, path ...string) time.Time {
	t, err := time.Parse(time.RFC3339, text(object, path...))
	if err != nil {
		return time.Time{}
	}
	return t
}
