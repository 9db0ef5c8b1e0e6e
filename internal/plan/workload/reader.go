// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// A Reader reads objects one by one in the Go types of their kinds, for those who watch them. Its methods may be called
// at once.
type Reader struct {
	options Options
	known   atomic.Pointer[readCalendars]
}

// readCalendars are the Calendars that are known.
type readCalendars struct {
	calendars calendars
	unread    string
}

// NewReader makes one that knows no Calendars yet.
func NewReader(options Options) *Reader {
	r := &Reader{options: options}
	r.SetCalendars(nil, options.CalendarsUnread)
	return r
}

// SetCalendars tells which Calendars there are; nobody may modify them. unread says in words why they are not known, ""
// if they are. What was read before stays as it is.
func (r *Reader) SetCalendars(all []*v1alpha1.Calendar, unread string) {
	known := make(calendars, len(all))
	for _, c := range all {
		known[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c
	}
	r.known.Store(&readCalendars{known, unread})
}

// Read reads an object, which is kept: the caller must not modify it. Content of what it gives is nil. The error says
// that the object is none of its API.
func (r *Reader) Read(k kind.Kind, typed adapter.Object) (*Scheduled, error) {
	typed.SetNamespace(cmp.Or(typed.GetNamespace(), r.options.Namespace, "default"))
	now := r.known.Load()
	options := r.options
	options.CalendarsUnread = now.unread
	s, err := readTyped(&Scheduled{Kind: k, Typed: typed, options: now.calendars.readOptions(options), known: now.calendars})
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", typed.GetNamespace(), typed.GetName(), err)
	}
	return s, nil
}
