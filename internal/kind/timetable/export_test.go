// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/carillon-dev/carillon/internal/outcome"
)

// ChildOutcome is childOutcome for a child of this Timetable.
func ChildOutcome(owner *Object, kind schema.GroupVersionKind, child runtime.Object) (outcome.Outcome, error) {
	return childOutcome(kind, child, func() *outcome.Rule { return Kind{}.ruleFor(owner, kind) })
}

// Kept is for how many Timetables something is kept.
func (c *Compilations) Kept() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byFor)
}

// CalendarsRead is how many Calendars are remembered.
func CalendarsRead() (n int) {
	calendarsRead.Range(func(any, any) bool { n++; return true })
	return n
}
