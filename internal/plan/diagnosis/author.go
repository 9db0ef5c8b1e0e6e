// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// author is who wrote a field of the spec last.
type author struct {
	manager string
	// at is when that manager last changed any field that it owns: the field was written no later.
	at time.Time
}

// authorOf finds who owns one of some fields of the spec; ok is false if nothing tells.
func (e *Evidence) authorOf(fields ...string) (a author, ok bool) {
	for _, entry := range e.Scheduled.Content.GetManagedFields() {
		if entry.Subresource != "" || adapter.OwnedFields(entry.FieldsV1, "spec", fields) == nil {
			continue
		}
		if at := timeOf(entry.Time); !ok || at.After(a.at) {
			a, ok = author{manager: entry.Manager, at: at}, true
		}
	}
	return a, ok
}

// writtenBy shows who wrote a field of the spec, or says that nothing tells.
func (b *builder) writtenBy(fields ...string) (a author, ok bool) {
	spec, _ := b.Scheduled.Content.Object["spec"].(map[string]any)
	fields = slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return spec[field] == nil })
	path := "spec." + strings.Join(fields, " or spec.")
	a, ok = b.authorOf(fields...)
	switch {
	case len(fields) == 0:
		return a, false
	case ok && !a.at.IsZero():
		b.show("managedFields", a.at, "%s was written by %s, no later than %s", path, a.manager, b.when(a.at))
	case ok:
		b.show("managedFields", time.Time{}, "%s was written by %s", path, a.manager)
	case len(b.Scheduled.Content.GetManagedFields()) == 0:
		b.lack("who wrote %s and when: the object comes without managed fields (kubectl get --show-managed-fields keeps them)", path)
	default:
		b.lack("who wrote %s and when: no field manager owns it", path)
	}
	return a, ok
}

// editedAfter is when the schedule was changed last, if that may have been after t: before it, another schedule may
// have been served.
func (e *Evidence) editedAfter(t time.Time) (edit time.Time, ok bool) {
	served := e.Scheduled.Memory.Timing
	if served.Fingerprint != "" && served.Fingerprint == e.Scheduled.Policy.Timing.Fingerprint {
		if served.Since == nil || !served.Since.After(t) {
			return time.Time{}, false
		}
		return *served.Since, true
	}
	if a, found := e.authorOf("schedule", "schedules", "timeZone"); found && a.at.After(t) {
		return a.at, true
	}
	return time.Time{}, false
}
