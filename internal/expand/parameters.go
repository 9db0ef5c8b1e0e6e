// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// DefaultPattern is what values must match whose parameter has no pattern of its own: no blank, quote, dollar,
// semicolon or backquote, so that a value cannot leave the shell word that it is put in.
const DefaultPattern = `^[A-Za-z0-9._:/@=,+-]*$`

var defaultPattern = regexp.MustCompile(DefaultPattern)

// Parameter is a value that a template asks for.
type Parameter struct {
	// Name is unique among the parameters of a template.
	Name string
	// Default is the value of runs that give none.
	Default string
	// Pattern is a regular expression (RE2) that values must match as a whole; "" is [DefaultPattern].
	Pattern string
}

// Parameters are the parameters of a template, with their defaults checked. They are immutable. What patterns are
// compiled to is not kept: a hundred characters can ask for megabytes.
type Parameters struct {
	declared []Parameter
	names    []string
	defaults map[string]string
}

// CompileParameters reads the patterns and checks the defaults. An error is a user's and names the parameter.
func CompileParameters(parameters []Parameter) (*Parameters, error) {
	p := &Parameters{defaults: make(map[string]string, len(parameters))}
	for _, each := range parameters {
		if each.Pattern == "" {
			each.Pattern = DefaultPattern
		}
		if _, twice := p.defaults[each.Name]; twice {
			return nil, fmt.Errorf("parameter %s is declared twice", each.Name)
		}
		pattern, err := wholePattern(each.Pattern)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: the pattern %s cannot be read: %w", each.Name, shorten(each.Pattern), err)
		}
		if !pattern.MatchString(each.Default) {
			return nil, fmt.Errorf("parameter %s: the default %q does not match the pattern %s as a whole", each.Name, each.Default, each.Pattern)
		}
		p.declared = append(p.declared, each)
		p.names = append(p.names, each.Name)
		p.defaults[each.Name] = each.Default
	}
	return p, nil
}

// wholePattern reads a pattern that a text must match from its beginning to its end.
func wholePattern(pattern string) (*regexp.Regexp, error) {
	if pattern == DefaultPattern {
		return defaultPattern, nil
	}
	if _, err := regexp.Compile(pattern); err != nil { // "a)(b" would be valid once it stands between parentheses
		return nil, err
	}
	return regexp.Compile(`^(?:` + pattern + `)$`)
}

// Names are the names of the parameters in their order. Do not modify them.
func (p *Parameters) Names() []string { return p.names }

// Values are the values of a run that gives some itself; the others are the defaults. An error says which value is
// given for a parameter that there is not, or does not match its pattern. Do not modify the result.
func (p *Parameters) Values(given map[string]string) (map[string]string, error) {
	if len(given) == 0 {
		return p.defaults, nil
	}
	values := maps.Clone(p.defaults)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.Index(p.names, name)
		switch {
		case i < 0 && len(p.names) == 0:
			return nil, fmt.Errorf("there is no parameter %s; spec.parameters declares none", shorten(name))
		case i < 0:
			return nil, fmt.Errorf("there is no parameter %s; spec.parameters declares %s", shorten(name), strings.Join(p.names, ", "))
		}
		pattern, err := wholePattern(p.declared[i].Pattern)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		if !pattern.MatchString(given[name]) {
			return nil, fmt.Errorf("parameter %s: the value %q does not match the pattern %s as a whole", name, given[name], p.declared[i].Pattern)
		}
		values[name] = given[name]
	}
	return values, nil
}
