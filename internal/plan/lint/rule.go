// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/carillon-dev/carillon/internal/plan/spelling"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// A Level says how bad a finding is.
type Level int

// The levels, from the least.
const (
	// Info is worth knowing.
	Info Level = iota + 1
	// Warning will hurt one day.
	Warning
	// Error cannot work as it is written.
	Error
)

// Levels are the words for the levels, from the least.
var Levels = []string{"info", "warning", "error"}

// String is "info", "warning" or "error".
func (l Level) String() string {
	if l < Info || l > Error {
		return "none"
	}
	return Levels[l-Info]
}

// ParseLevel reads what String writes.
func ParseLevel(text string) (Level, bool) {
	i := slices.Index(Levels, text)
	return Info + Level(i), i >= 0
}

// A Rule is one thing that is looked for.
type Rule struct {
	// ID names the rule for ever: suppressions, --select and CI systems hold it.
	ID string
	// Level is how bad what it finds is.
	Level Level
	// Kinds says which objects it looks at, for people.
	Kinds string
	// Summary says in one line what it finds.
	Summary string
	// Reason says what happens to those who leave it so, and Cure what to do.
	Reason, Cure string
	// Fix says what --fix does about it, "" if that takes a person.
	Fix string

	// A rule has one of these: check looks at one object, checkAll at all. One without either is found by what reads
	// suppressions.
	check    func(*Subject) []problem
	checkAll func(*subjects) []problemOf
}

// problem is what a rule has found in one object.
type problem struct {
	path    Path
	message string
	cure    string   // "" is that of the rule
	changes []Change // what --fix would do; nil if nothing
}

type problemOf struct {
	subject *Subject
	problem problem
}

// one is the result of a rule that has found one thing.
func one(path Path, format string, args ...any) []problem {
	return []problem{{path: path, message: fmt.Sprintf(format, args...)}}
}

// A Finding is something that a rule has found.
type Finding struct {
	Rule *Rule
	// Object is where it was found, and Path the field at fault; a path that does not exist names a field that is missing.
	Object workload.Object
	Path   Path
	// File and Line say where that stands, Line and Column from 1; "" and 0 for an object that an API server gave.
	File         string
	Line, Column int
	// Message says what is wrong with the object's own values; Cure what to do.
	Message, Cure string
	// Changes are what a fix would do; nil if that takes a person.
	Changes []Change
	// Suppressed is the reason for which somebody lives with it, "" if nobody said so.
	Suppressed string

	subject *Subject
}

// Name is the kind and name of the object, "CronJob backup", with the namespace if it is written.
func (f Finding) Name() string { return f.subject.name() }

func (s *Subject) finding(rule *Rule, p problem) Finding {
	f := Finding{Rule: rule, Object: s.Object, Path: p.path, File: s.File, Line: s.Line, Message: p.message, Cure: cmp.Or(p.cure, rule.Cure), Changes: p.changes, subject: s}
	if at, ok := s.document.position(p.path); ok {
		f.Line, f.Column = at.line, at.column
	}
	if s.document == nil || s.shared(p) {
		f.Changes = nil
	}
	return f
}

// shared tells whether a change would be one of other objects or fields, too, because of anchors and aliases of YAML.
func (s *Subject) shared(p problem) bool {
	return slices.ContainsFunc(p.changes, func(c Change) bool { return s.document.aliased(c.Path) })
}

// Find gives the rule with an id; nil if there is none.
func Find(id string) *Rule {
	i := slices.IndexFunc(Rules, func(r *Rule) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return Rules[i]
}

// Nearest is the id of a rule that somebody may have meant; "" if none is near.
func Nearest(id string) string {
	ids := make([]string, len(Rules))
	for i, r := range Rules {
		ids[i] = r.ID
	}
	if near := spelling.Nearest(id, ids); len(near) > 0 {
		return near[0]
	}
	return ""
}
