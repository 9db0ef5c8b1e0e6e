// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"fmt"
	"strings"
)

// opening is how a variable begins; it ends with the next closing parenthesis of the same string.
const opening = "$(carillon."

// parameterPrefix is what the names of parameters have before them.
const parameterPrefix = "parameters."

// source says which fact of a run a variable stands for.
type source uint8

const (
	literalDollar source = iota // no variable: the first dollar of $$(carillon.NAME), which goes
	scheduledTime
	previousTime
	nextTime
	lastSuccessScheduledTime
	schedule
	schedules
	run
	attempt
	trigger
	timetable
	namespace
	parameter
)

// form says how a time is written.
type form uint8

const (
	inZone form = iota
	utc
	unix
	date
	compact
)

// variable is what a NAME stands for.
type variable struct {
	source source
	form   form   // of times
	name   string // of parameters
}

// named are the variables that are no parameters, in the order in which users are told of them.
var named = []struct {
	name   string
	source source
}{
	{"scheduledTime", scheduledTime},
	{"previousTime", previousTime},
	{"nextTime", nextTime},
	{"lastSuccessScheduledTime", lastSuccessScheduledTime},
	{"schedule", schedule},
	{"schedules", schedules},
	{"run", run},
	{"attempt", attempt},
	{"trigger", trigger},
	{"timetable", timetable},
	{"namespace", namespace},
}

// forms are the forms of times that have a name.
var forms = []struct {
	suffix string
	form   form
}{{"utc", utc}, {"unix", unix}, {"date", date}, {"compact", compact}}

func (s source) isTime() bool { return s >= scheduledTime && s <= lastSuccessScheduledTime }

// lookUp finds what name stands for, given the names of the parameters.
func lookUp(name string, parameters []string) (variable, bool) {
	if p, ok := strings.CutPrefix(name, parameterPrefix); ok {
		for _, declared := range parameters {
			if p == declared {
				return variable{source: parameter, name: declared}, true
			}
		}
		return variable{}, false
	}
	base, suffix, formed := strings.Cut(name, ".")
	for _, n := range named {
		if n.name != base {
			continue
		}
		if !formed {
			return variable{source: n.source}, true
		}
		for _, f := range forms {
			if n.source.isTime() && f.suffix == suffix {
				return variable{source: n.source, form: f.form}, true
			}
		}
	}
	return variable{}, false
}

// An UnknownVariable is the error for a variable that there is not.
type UnknownVariable struct {
	// Field is the path of the string that names it, Name what stands between "$(carillon." and ")".
	Field, Name string
	// Hint says what there is instead.
	Hint string
}

// Error implements error.
func (u *UnknownVariable) Error() string {
	return fmt.Sprintf("%s: unknown variable %s; %s", u.Field, shorten(u.Name), u.Hint)
}

// hint says what there is instead of name: of its own sort, if that can be told.
func hint(name string, parameters []string) string {
	base, _, formed := strings.Cut(name, ".")
	if base == strings.TrimSuffix(parameterPrefix, ".") {
		if len(parameters) == 0 {
			return "spec.parameters declares none"
		}
		return "spec.parameters declares " + strings.Join(parameters, ", ")
	}
	for _, n := range named {
		switch {
		case n.name != base || !formed:
		case !n.source.isTime():
			return base + " has no forms"
		default:
			return fmt.Sprintf("there is %s alone and with %s", base, suffixes())
		}
	}
	var names []string
	for _, n := range named {
		names = append(names, n.name)
	}
	return fmt.Sprintf("there are %s, parameters.NAME, and times with %s; $$(carillon.…) keeps the text as it is",
		strings.Join(names, ", "), suffixes())
}

func suffixes() string {
	var all []string
	for _, f := range forms {
		all = append(all, "."+f.suffix)
	}
	return strings.Join(all, ", ")
}

// shorten cuts a text of a user to what a message can hold.
func shorten(text string) string {
	const longest = 64
	if len(text) > longest {
		return fmt.Sprintf("%q…", text[:longest])
	}
	for _, r := range text {
		if r <= ' ' || r > '~' || r == '"' {
			return fmt.Sprintf("%q", text)
		}
	}
	return text
}
