// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/kube/events"
)

// voice is what a process speaks with. Making a recorder costs more than a whole world, so that each one serves many,
// one after the other.
type voice struct {
	*events.Recorder
	speech speech
	knows  map[types.UID]bool
}

// voices are those that no process has.
var voices sync.Pool

// newVoice gives a process a voice that has not said anything.
func newVoice() *voice {
	if v, ok := voices.Get().(*voice); ok {
		return v
	}
	v := &voice{knows: map[types.UID]bool{}}
	v.Recorder = events.NewRecorder(events.Options{Sink: &v.speech, Component: "cronjob-controller", Logger: logr.Discard()})
	return v
}

// giveBack lets another process have the voice.
func (v *voice) giveBack() {
	for uid := range v.knows {
		v.Forget(uid)
	}
	clear(v.knows)
	voices.Put(v)
}

// hear has everything written that was said, and gives it in an order that does not depend on the writers'.
func (v *voice) hear() []corev1.Event {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := v.Start(over); err != nil {
		panic(err)
	}
	said := v.speech.take()
	for _, e := range said {
		v.knows[e.InvolvedObject.UID] = true
	}
	return said
}

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

// take gives what was said, about one CronJob after the other.
func (s *speech) take() []corev1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.events
	s.events = nil
	slices.SortStableFunc(said, func(a, b corev1.Event) int { return cmp.Compare(a.InvolvedObject.UID, b.InvolvedObject.UID) })
	return said
}
