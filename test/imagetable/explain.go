// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// explanation is what the documentation says of some rows: their names, which may end in "*", and, if it names one, the
// value under Carillon.
type explanation struct {
	names []string
	value string
}

var quoted = regexp.MustCompile("`([^`]*)`")

// explanations reads the table under a heading: its first column has the rows' names, the second the value.
func explanations(text, heading string) ([]explanation, error) {
	_, section, ok := strings.Cut(text, "\n"+heading+"\n")
	if !ok {
		return nil, fmt.Errorf("there is no heading %q", heading)
	}
	if end := strings.Index(section, "\n#"); end >= 0 {
		section = section[:end]
	}
	var all []explanation
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 3 || !strings.Contains(cells[0], "`") {
			continue
		}
		e := explanation{}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			e.names = append(e.names, m[1])
		}
		if value := strings.TrimSpace(cells[1]); len(value) > 2 && value[0] == '`' && strings.Count(value, "`") == 2 && value[len(value)-1] == '`' {
			e.value = value[1 : len(value)-1]
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no table under %q", heading)
	}
	return all, nil
}

func (e explanation) covers(name string) bool {
	return slices.ContainsFunc(e.names, func(pattern string) bool {
		prefix, star := strings.CutSuffix(pattern, "*")
		return pattern == name || star && strings.HasPrefix(name, prefix)
	})
}

// unexplained says what is wrong with a row in which Carillon is like no other, or nothing.
func unexplained(all []explanation, name, value string) string {
	wrong := "is not explained"
	for _, e := range all {
		if !e.covers(name) {
			continue
		}
		if e.value == "" || e.value == value {
			return ""
		}
		wrong = fmt.Sprintf("is explained as %q", e.value)
	}
	return wrong
}
