// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// calendarStore takes in Calendars. It is a toolscache.TransformingStore.
type calendarStore struct {
	reader *workload.Reader
	// changed is told which Calendar is another one, or gone.
	changed func(types.NamespacedName)

	mu    sync.Mutex
	known map[types.NamespacedName]*v1alpha1.Calendar
}

func (s *calendarStore) name(c *v1alpha1.Calendar) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

// publish tells the reader. s.mu is held.
func (s *calendarStore) publish() {
	all := make([]*v1alpha1.Calendar, 0, len(s.known))
	for _, c := range s.known {
		all = append(all, c)
	}
	s.reader.SetCalendars(all, "")
}

// Transformer implements toolscache.TransformingStore.
func (s *calendarStore) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if c, ok := obj.(*v1alpha1.Calendar); ok {
			c.SetManagedFields(nil)
		}
		return obj, nil
	}
}

// Add implements toolscache.ReflectorStore.
func (s *calendarStore) Add(obj any) error {
	if c, ok := obj.(*v1alpha1.Calendar); ok {
		c.SetManagedFields(nil)
		s.mu.Lock()
		s.known[s.name(c)] = c
		s.publish()
		s.mu.Unlock()
		s.changed(s.name(c))
	}
	return nil
}

// Update implements toolscache.ReflectorStore.
func (s *calendarStore) Update(obj any) error { return s.Add(obj) }

// Delete implements toolscache.ReflectorStore.
func (s *calendarStore) Delete(obj any) error {
	if c, ok := obj.(*v1alpha1.Calendar); ok {
		s.mu.Lock()
		delete(s.known, s.name(c))
		s.publish()
		s.mu.Unlock()
		s.changed(s.name(c))
	}
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (s *calendarStore) Replace(all []any, _ string) error {
	now := map[types.NamespacedName]*v1alpha1.Calendar{}
	for _, obj := range all {
		if c, ok := obj.(*v1alpha1.Calendar); ok {
			c.SetManagedFields(nil)
			now[s.name(c)] = c
		}
	}
	s.mu.Lock()
	before := s.known
	s.known = now
	s.publish()
	s.mu.Unlock()
	for name, c := range before {
		if is := now[name]; is == nil || is.ResourceVersion != c.ResourceVersion {
			s.changed(name)
		}
	}
	for name := range now {
		if before[name] == nil {
			s.changed(name)
		}
	}
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *calendarStore) Resync() error { return nil }

// names tells whether a Timetable names that Calendar.
func (c *schedules) names(calendar types.NamespacedName) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for id, s := range c.named {
		if t := s.Timetable(); t != nil && id.namespace == calendar.Namespace && slices.Contains(timetable.Calendars(&t.Spec), calendar.Name) {
			return true
		}
	}
	return false
}
