// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"cmp"
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// speech is where the events of a process go. Its writers may write at the same time.
type speech struct {
	mu     sync.Mutex
	events []corev1.Event
}

// Create hears an event.
func (s *speech) Create(_ context.Context, e *corev1.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, *e)
	return nil
}

// Patch hears nothing: what was said is taken before anything could be added to it.
func (s *speech) Patch(context.Context, string, string, []byte) error { return nil }

// take gives what was said, in an order that does not depend on the writers'.
func (s *speech) take() []corev1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.events
	s.events = nil
	slices.SortStableFunc(said, func(a, b corev1.Event) int { return cmp.Compare(a.InvolvedObject.UID, b.InvolvedObject.UID) })
	return said
}
