// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package crontab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/carillon-dev/carillon/internal/plan/document"
	"go.yaml.in/yaml/v3"
)

// A setting is a line NAME=value.
type setting struct{ name, value string }

// environment is what the settings above an entry say, in their order, each name once.
type environment []setting

// settingLine is a name, with or without quotes, an equals sign and the rest.
var settingLine = regexp.MustCompile(`^[ \t]*(?:"([^"]*)"|'([^']*)'|([^ \t="'*@#]+))[ \t]*=[ \t]*(.*)$`)

// readSetting reads a line NAME=value; ok is false for what is none. A value in quotes is what stands in them; one
// without ends where its line ends, and keeps a "#".
func readSetting(line string) (s setting, ok bool, err error) {
	m := settingLine.FindStringSubmatch(line)
	if m == nil {
		return setting{}, false, nil
	}
	s = setting{name: m[1] + m[2] + m[3], value: strings.TrimRight(m[4], " \t")}
	if !validName.MatchString(s.name) {
		return s, true, fmt.Errorf("%q is no name of a variable; it is made of letters, digits and underscores, and begins with no digit", s.name)
	}
	if s.value != "" && strings.ContainsRune(`"'`, rune(s.value[0])) {
		inside, after, closed := strings.Cut(s.value[1:], s.value[:1])
		switch {
		case !closed:
			return s, true, fmt.Errorf("the value of %s has no closing %s", s.name, s.value[:1])
		case strings.TrimSpace(after) != "":
			return s, true, fmt.Errorf("the value of %s goes on after its closing quote, and cron does not take that; put the whole value into quotes", s.name)
		}
		s.value = inside
	}
	return s, true, nil
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// with gives the environment with a setting more.
func (e environment) with(s setting) environment {
	var next environment
	for _, other := range e {
		if other.name != s.name {
			next = append(next, other)
		}
	}
	return append(next, s)
}

// asOf gives the environment with what cron itself sets for a user, in front: what the crontab does not set, and who he
// is, which it cannot. user and home may be "".
func (e environment) asOf(user, home string) environment {
	var own environment
	for _, s := range []setting{{"SHELL", "/bin/sh"}, {"PATH", "/usr/bin:/bin"}, {"HOME", home}, {"LOGNAME", user}, {"USER", user}} {
		if s.value != "" && !slices.ContainsFunc(e, func(other setting) bool { return other.name == s.name }) {
			own = append(own, s)
		}
	}
	return append(own, e...)
}

func (e environment) get(name string) string {
	for _, s := range e {
		if s.name == name {
			return s.value
		}
	}
	return ""
}

// forCron are settings that are cron's and no program's.
var forCron = map[string]bool{
	"MAILTO": true, "MAILFROM": true, "CONTENT_TYPE": true, "CONTENT_TRANSFER_ENCODING": true,
	"CRON_TZ": true, "RANDOM_DELAY": true,
}

// ofContainer gives the environment of a container; nil if there is none.
func (e environment) ofContainer() *yaml.Node {
	var list []any
	for _, s := range e {
		if !forCron[s.name] {
			list = append(list, document.Flow(document.Map("name", s.name, "value", document.Quoted(e.literally(s.value, false)))))
		}
	}
	if list == nil {
		return nil
	}
	return document.List(list...)
}

// variable is what Kubernetes replaces in a command and in values of the environment, if it knows the name.
var variable = regexp.MustCompile(`\$+(?:\([A-Za-z_.][-A-Za-z0-9_.]*\))?`)

// literally writes a text so that Kubernetes leaves it as it is: "$$" would become "$", and "$(NAME)" the value of a
// variable of the container. What the shell makes of $(date) it makes all the same.
func (e environment) literally(text string, known bool) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		dollars, name, inParens := strings.Cut(match, "(")
		name = strings.TrimSuffix(name, ")")
		if inParens && len(dollars) == 1 && known && !e.mayBeVariable(name) {
			return match
		}
		if !inParens && len(dollars) == 1 {
			return match
		}
		if inParens {
			return strings.Repeat("$", 2*len(dollars)) + "(" + name + ")"
		}
		return strings.Repeat("$", 2*len(dollars))
	})
}

// mayBeVariable tells whether a container may have a variable of this name: one of the crontab, or one of a Service or
// of Carillon, which are in capitals or have a dot.
func (e environment) mayBeVariable(name string) bool {
	for _, s := range e {
		if s.name == name {
			return true
		}
	}
	return strings.ToUpper(name) == name || strings.Contains(name, ".")
}
