// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// A ParseError says which part of a schedule cannot be read, and what to write
// instead. Its text is one line, fit for a log or a message to a user.
type ParseError struct {
	// Name is the name of the item given to Compile, empty for an error of Parse.
	Name string
	// Schedule is the text given to Parse or Compile.
	Schedule string
	// Field is the part at fault: "second", "minute", "hour", "day of month", "month",
	// "day of week", "year", "time zone", "descriptor" or "duration". It is empty when
	// the schedule as a whole is at fault, as with a wrong number of fields.
	Field string
	// Value is the text at fault, as it stands in the schedule. It is empty for an empty list item.
	Value string
	// Problem says what is wrong with Value, and the cure where there is one. It may begin with a colon.
	Problem string
	// Err is the cause for a time zone that cannot be loaded, else nil.
	Err error
}

func (e *ParseError) Error() string {
	which := quote(e.Schedule)
	if e.Name != "" {
		which = bare(e.Name)
	}
	if e.Field == "" {
		return fmt.Sprintf("schedule %s: %s", which, e.Problem)
	}
	if e.Name != "" && e.Value == "" {
		return fmt.Sprintf("schedule %s: %s %s", which, e.Field, e.Problem)
	}
	if strings.HasPrefix(e.Problem, ":") {
		return fmt.Sprintf("schedule %s: %s %s%s", which, e.Field, bare(e.Value), e.Problem)
	}
	return fmt.Sprintf("schedule %s: %s %s %s", which, e.Field, bare(e.Value), e.Problem)
}

// Unwrap returns the cause, or nil.
func (e *ParseError) Unwrap() error { return e.Err }

// A ZoneError says that a time zone name cannot be loaded.
type ZoneError struct {
	// Name is the name asked for.
	Name string
	// Err is what the time zone database said.
	Err error
}

func (e *ZoneError) Error() string {
	return "time zone " + quote(e.Name) + " " + zoneProblem
}

// Unwrap returns what the time zone database said.
func (e *ZoneError) Unwrap() error { return e.Err }

const zoneProblem = "is not in the time zone database; use a name such as Europe/Berlin or Etc/UTC"

// longest is how much of a user's text an error repeats, in bytes. Messages end
// up in events, which the API server cuts off.
const longest = 120

func quote(s string) string {
	if len(s) > longest {
		return strconv.Quote(s[:longest] + "...")
	}
	return strconv.Quote(s)
}

// bare leaves a plain word unquoted, since "minute 61" reads better than
// "minute "61"", and quotes what would be unclear or unsafe without.
func bare(s string) string {
	if s == "" || len(s) > longest {
		return quote(s)
	}
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c == '"' || c >= 0x7f {
			return quote(s)
		}
	}
	return s
}
