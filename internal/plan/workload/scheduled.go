// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// A Scheduled is a CronJob or a Timetable.
type Scheduled struct {
	Object
	// Kind is its kind, and Typed the object in the Go type of that kind, with the defaults of the API and a namespace.
	Kind  kind.Kind
	Typed adapter.Object
	// Owner, Policy and Memory are what decisions know of it. Policy.Timing tells its times, or the obstacle that keeps it
	// from having any. The memory is empty for one that no controller has served.
	Owner  cron.Owner
	Policy cron.Policy
	Memory cron.Memory
	// Calendars are those that a Timetable names and that are known, by name.
	Calendars map[string]*v1alpha1.Calendar
	// Unreadable says why its spec could not be read, so that Policy is empty; nil if it could.
	Unreadable *adapter.Unreadable

	// options and known are what it was read with.
	options adapter.ReadOptions
	known   calendars
}

// Timetable is the object as a Timetable; nil if it is none.
func (s *Scheduled) Timetable() *v1alpha1.Timetable {
	if t, ok := s.Typed.(*timetable.Object); ok {
		return &t.Timetable
	}
	return nil
}

// Reference names it as commands take it: "cronjob/backup", "timetable/sync".
func (s *Scheduled) Reference() string {
	if s.Timetable() != nil {
		return "timetable/" + s.Owner.Name
	}
	return "cronjob/" + s.Owner.Name
}

// Obstacle says in one line why no run of it can ever start as it is written; "" if nothing keeps them.
func (s *Scheduled) Obstacle() string {
	return cmp.Or(s.Hindrance(), s.neverInTime())
}

// Hindrance says in one line why no controller can serve it as it is written, "" if one can. What can be served may
// still have an obstacle: a deadline that no run meets.
func (s *Scheduled) Hindrance() string {
	switch {
	case s.Unreadable != nil:
		return s.Unreadable.Error()
	case s.Policy.Timing.Obstacle != nil:
		return s.Policy.Timing.Obstacle.Message
	case s.Policy.ChildObstacle != nil:
		return s.Policy.ChildObstacle.Message
	}
	return ""
}

// read reads one object. Its error says that the object is none of its API.
func read(k kind.Kind, object Object, known calendars, options Options) (*Scheduled, error) {
	typed, err := typedOf(k, object)
	if err != nil {
		return nil, err
	}
	typed.SetNamespace(cmp.Or(typed.GetNamespace(), options.Namespace))
	return readTyped(&Scheduled{Object: object, Kind: k, Typed: typed, options: known.readOptions(options), known: known})
}

// readTyped fills in what decisions know of the typed object.
func readTyped(s *Scheduled) (*Scheduled, error) {
	var err error
	s.Owner, s.Policy, s.Memory, err = s.Kind.Read(s.Typed, s.options)
	if unreadable, ok := errors.AsType[*adapter.Unreadable](err); ok {
		s.Unreadable, err = unreadable, nil
	}
	if t := s.Timetable(); t != nil {
		s.Calendars = s.known.namedBy(t)
	}
	return s, err
}

// Edited gives what the object would be after an edit of a copy of its typed object. What was written (Object) stays as
// it is. The error says that the typed object is none of its API.
func (s *Scheduled) Edited(edit func(typed adapter.Object)) (*Scheduled, error) {
	typed, ok := s.Typed.DeepCopyObject().(adapter.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", s.Typed)
	}
	edit(typed)
	return readTyped(&Scheduled{Object: s.Object, Kind: s.Kind, Typed: typed, options: s.options, known: s.known})
}

// scheme has the Go types of all kinds.
var scheme = sync.OnceValues(func() (*runtime.Scheme, error) {
	all := runtime.NewScheme()
	for _, k := range kind.Owners {
		if err := k.AddToScheme(all); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func typedOf(k kind.Kind, object Object) (adapter.Object, error) {
	scheme, err := scheme()
	if err != nil {
		return nil, err
	}
	created, err := scheme.New(k.Info().Owner)
	if err != nil {
		return nil, err
	}
	typed, ok := created.(adapter.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", created)
	}
	text, err := json.Marshal(withDefaults(k, object.Content).Object)
	if err != nil {
		return nil, err
	}
	return typed, json.Unmarshal(text, typed)
}

// Child gives an object in the Go type in which its kind's adapter reads children (adapter.Kind.ReadChild). The error
// says that it cannot be read.
func (s *Scheduled) Child(content *unstructured.Unstructured) (adapter.Object, error) {
	if content.GroupVersionKind() != s.Kind.Info().Child {
		return content, nil // of a kind that was chosen, by a Timetable
	}
	scheme, err := scheme()
	if err != nil {
		return nil, err
	}
	created, err := scheme.New(s.Kind.Info().Child)
	if err != nil {
		return nil, err
	}
	typed, ok := created.(adapter.Object)
	if !ok {
		return nil, fmt.Errorf("%T has no metadata", created)
	}
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, typed)
}
