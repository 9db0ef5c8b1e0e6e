// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// calendars are the Calendars among the objects, by namespace and name. The first of a name counts, so that a file goes
// before what an API server has.
type calendars map[types.NamespacedName]*v1alpha1.Calendar

// calendarsOf also gives the errors of those that cannot be read, by their place among the objects.
func calendarsOf(objects []Object, options Options) (found calendars, unread map[int]error) {
	found, unread = calendars{}, map[int]error{}
	for n, object := range objects {
		if object.Content.GroupVersionKind() != calendarKind {
			continue
		}
		name := types.NamespacedName{Namespace: cmp.Or(object.Content.GetNamespace(), options.Namespace), Name: object.Content.GetName()}
		calendar := &v1alpha1.Calendar{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Content.Object, calendar); err != nil {
			unread[n] = err
			if text, failed := object.Content.MarshalJSON(); failed == nil {
				if named := json.Unmarshal(text, &v1alpha1.Calendar{}); named != nil {
					unread[n] = named // which names the field
				}
			}
			continue
		}
		if found[name] != nil {
			continue
		}
		calendar.Namespace = name.Namespace
		found[name] = calendar
	}
	return found, unread
}

// namedBy gives the Calendars that a Timetable names, by name.
func (c calendars) namedBy(t *v1alpha1.Timetable) map[string]*v1alpha1.Calendar {
	named := map[string]*v1alpha1.Calendar{}
	for _, name := range timetable.Calendars(&t.Spec) {
		if calendar := c[types.NamespacedName{Namespace: t.Namespace, Name: name}]; calendar != nil {
			named[name] = calendar
		}
	}
	return named
}

// readOptions are how an adapter reads objects that name Calendars.
func (c calendars) readOptions(options Options) adapter.ReadOptions {
	read := adapter.ReadOptions{
		Zone: options.Zone,
		Dependency: func(namespace string, d adapter.Dependency) (adapter.Object, bool) {
			calendar, ok := c[types.NamespacedName{Namespace: namespace, Name: d.Name}]
			return calendar, ok && d.Kind == calendarKind
		},
	}
	if options.CalendarsUnread != "" {
		read.DependencyTrouble = func(schema.GroupVersionKind) string { return options.CalendarsUnread }
	}
	return read
}
