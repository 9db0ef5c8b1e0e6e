// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

func normal(r *events.Recorder, about corev1.ObjectReference, reason, message string) {
	r.Event(events.Event{About: about, Type: corev1.EventTypeNormal, Reason: reason, Message: message})
}

func warning(r *events.Recorder, about corev1.ObjectReference, reason, message string) {
	r.Event(events.Event{About: about, Type: corev1.EventTypeWarning, Reason: reason, Message: message})
}

// server is a Sink that keeps events like a server does, and fails as told.
type server struct {
	mu     sync.Mutex
	fail   []error // answers for the next requests
	events map[string]*corev1.Event
	order  []string
	tries  int
}

func (s *server) Create(_ context.Context, e *corev1.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.next(); err != nil {
		return err
	}
	if s.events == nil {
		s.events = map[string]*corev1.Event{}
	}
	key := e.Namespace + "/" + e.Name
	if s.events[key] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "events"}, e.Name)
	}
	s.events[key] = e.DeepCopy()
	s.order = append(s.order, key)
	return nil
}

func (s *server) Patch(_ context.Context, namespace, name string, patch []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.next(); err != nil {
		return err
	}
	e := s.events[namespace+"/"+name]
	if e == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "events"}, name)
	}
	return json.Unmarshal(patch, e)
}

func (s *server) next() error {
	s.tries++
	if len(s.fail) == 0 {
		return nil
	}
	err := s.fail[0]
	s.fail = s.fail[1:]
	return err
}

// told lists the events as "reason xcount: message".
func (s *server) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, key := range s.order {
		if e := s.events[key]; e != nil {
			out = append(out, fmt.Sprintf("%s x%d: %s", e.Reason, e.Count, e.Message))
		}
	}
	return out
}

var tick = corev1.ObjectReference{APIVersion: "batch/v1", Kind: "CronJob", Namespace: "batch", Name: "tick", UID: "cj-1"}

func once(reason, cause string) events.Event {
	return events.Event{About: tick, Type: corev1.EventTypeWarning, Reason: reason, Message: "said because of " + cause, DedupKey: cause}
}

// The same cause is written once, the same message is counted, many similar ones combined.
func TestRecorder(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("later")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("namespace is terminating"))
	for name, test := range map[string]struct {
		fail []error
		say  func(r *events.Recorder)
		want []string
	}{
		"one call, one event": {
			say:  func(r *events.Recorder) { normal(r, tick, "SuccessfulCreate", "Created job tick-1") },
			want: []string{"SuccessfulCreate x1: Created job tick-1"},
		},
		"the same message is counted": {
			say: func(r *events.Recorder) {
				for range 3 {
					warning(r, tick, "FailedCreate", "quota")
				}
			},
			want: []string{"FailedCreate x3: quota"},
		},
		"the same cause is written once (B6)": {
			say: func(r *events.Recorder) {
				r.Event(once("UnsupportedSchedule", "generation 1"))
				r.Event(once("UnsupportedSchedule", "generation 1"))
				r.Event(once("UnknownTimeZone", "generation 1"))
				r.Event(once("UnsupportedSchedule", "generation 2"))
			},
			want: []string{
				"UnsupportedSchedule x1: said because of generation 1",
				"UnknownTimeZone x1: said because of generation 1",
				"UnsupportedSchedule x1: said because of generation 2",
			},
		},
		"causes that alternate are written once each": {
			say: func(r *events.Recorder) {
				for range 5 {
					r.Event(once("FailedCreate", "12:10"))
					r.Event(once("FailedCreate", "12:20"))
				}
			},
			want: []string{"FailedCreate x1: said because of 12:10", "FailedCreate x1: said because of 12:20"},
		},
		"only the last causes are remembered": {
			say: func(r *events.Recorder) {
				for i := range 70 {
					r.Event(events.Event{About: tick, Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "quota", DedupKey: fmt.Sprint(i)})
				}
				r.Event(events.Event{About: tick, Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "quota", DedupKey: "69"})
				r.Event(events.Event{About: tick, Type: corev1.EventTypeWarning, Reason: "FailedCreate", Message: "quota", DedupKey: "0"})
			},
			want: []string{"FailedCreate x71: quota"},
		},
		"a new object of the same name starts anew": {
			say: func(r *events.Recorder) {
				r.Event(once("UnknownTimeZone", "generation 1"))
				r.Forget(tick.UID)
				r.Event(once("UnknownTimeZone", "generation 1"))
			},
			want: []string{"UnknownTimeZone x2: said because of generation 1"},
		},
		"many similar ones are combined": {
			say: func(r *events.Recorder) {
				for i := range 25 {
					normal(r, tick, "SawCompletedJob", fmt.Sprintf("job %d", i))
				}
			},
			want: append(each(20, "SawCompletedJob x1: job %d"), "SawCompletedJob x5: (combined from similar events): job 24"),
		},
		"one a minute is never combined": {
			say: func(r *events.Recorder) {
				for i := range 60 {
					normal(r, tick, "SuccessfulCreate", fmt.Sprintf("Created job tick-%d", i))
					<-time.After(time.Minute)
				}
			},
			want: each(60, "SuccessfulCreate x1: Created job tick-%d"),
		},
		"an error that passes is tried again": {
			fail: []error{unavailable, errors.New("connection refused")},
			say:  func(r *events.Recorder) { normal(r, tick, "SuccessfulCreate", "Created job tick-1") },
			want: []string{"SuccessfulCreate x1: Created job tick-1"},
		},
		"a refusal is final and harms nobody else": {
			fail: []error{forbidden},
			say: func(r *events.Recorder) {
				normal(r, tick, "SuccessfulCreate", "Created job tick-1")
				normal(r, tick, "SuccessfulDelete", "Deleted job tick-0")
			},
			want: []string{"SuccessfulDelete x1: Deleted job tick-0"},
		},
		"a server that stays away is given up": {
			fail: []error{unavailable, unavailable, unavailable, unavailable},
			say: func(r *events.Recorder) {
				normal(r, tick, "SuccessfulCreate", "Created job tick-1")
				normal(r, tick, "SuccessfulDelete", "Deleted job tick-0")
			},
			want: []string{"SuccessfulDelete x1: Deleted job tick-0"},
		},
		"no recorder": {
			say: func(*events.Recorder) {
				var none *events.Recorder
				normal(none, tick, "SuccessfulCreate", "Created job tick-1")
				none.Forget(tick.UID)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &server{fail: test.fail}
				r := events.NewRecorder(events.Options{Sink: sink, Component: "cronjob-controller", Logger: logr.Discard()})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- r.Start(ctx) }()
				test.say(r)
				<-time.After(time.Minute)
				stop()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, sink.told()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func each(n int, format string) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// An event names its object, its source and its time the way users' tooling reads it.
func TestEventForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &server{}
		r := events.NewRecorder(events.Options{Sink: sink, Component: "cronjob-controller", Logger: logr.Discard()})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Start(ctx) }()
		start := time.Now()
		long := tick
		long.Name = strings.Repeat("a.", 126) + "a"
		normal(r, long, "SuccessfulCreate", strings.Repeat("é", 600))
		synctest.Wait()
		stop()
		<-ended
		e := sink.events[sink.order[0]]
		if len(e.Name) > 253 || strings.Contains(e.Name, "..") {
			t.Errorf("event name of %d characters is no object name: %s", len(e.Name), e.Name)
		}
		if len(e.Message) > 1024 || !utf8.ValidString(e.Message) || !strings.HasSuffix(e.Message, "é...") {
			t.Errorf("message must be cut at a letter within 1024 bytes, got %d bytes ending in %q", len(e.Message), e.Message[len(e.Message)-8:])
		}
		got := corev1.Event{InvolvedObject: e.InvolvedObject, Type: e.Type, Reason: e.Reason, Source: e.Source, ReportingController: e.ReportingController, Count: e.Count}
		want := corev1.Event{InvolvedObject: long, Type: "Normal", Reason: "SuccessfulCreate", Source: corev1.EventSource{Component: "cronjob-controller"}, ReportingController: "cronjob-controller", Count: 1}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		if e.Namespace != "batch" || !e.FirstTimestamp.Time.Equal(start) || !e.LastTimestamp.Time.Equal(start) {
			t.Errorf("namespace %q, first %v, last %v", e.Namespace, e.FirstTimestamp, e.LastTimestamp)
		}
	})
}

// underLoad is a Recorder at work while one start is due, and never done by itself. stop stops it and waits for its
// end.
func underLoad(t *testing.T) (r *events.Recorder, sink *server, gate *loadgate.Gate, stop func()) {
	gate, sink = loadgate.New(clock.RealClock{}), &server{}
	gate.BeginUrgent(1)
	r = events.NewRecorder(events.Options{Sink: sink, Component: "c", Gate: gate, Logger: logr.Discard()})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Start(ctx) }()
	return r, sink, gate, func() {
		cancel()
		<-ended
	}
}

// Events wait for starts, and a stopping Recorder writes what is queued.
func TestEventsYieldAndAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, sink, _, stop := underLoad(t)
		for i := range 10 {
			normal(r, tick, "SuccessfulCreate", fmt.Sprint(i))
		}
		synctest.Wait()
		if got := sink.told(); len(got) != 0 {
			t.Errorf("written while starts were due: %v", got)
		}
		stop()
		if got := sink.told(); len(got) != 10 {
			t.Errorf("%d of 10 events written", len(got))
		}
	})
}

// While starts are due without an end, what waits is told in portions, and each event bears the time at which it was
// said. When they end, the rest follows at once.
func TestEventsUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, sink, gate, stop := underLoad(t)
		defer stop()
		said := time.Now()
		for i := range 19 { // fewer than are combined
			normal(r, tick, "SuccessfulCreate", fmt.Sprint(i))
		}
		told := func() int {
			synctest.Wait()
			return len(sink.told())
		}
		<-time.After(time.Second)
		if n := told(); n != 0 {
			t.Errorf("%d events written a second after the starts became due", n)
		}
		<-time.After(5 * time.Second)
		if n := told(); n == 0 || n == 19 {
			t.Errorf("%d of 19 events written after some seconds, want a portion", n)
		}
		<-time.After(10 * time.Second)
		gate.EndUrgent()
		if n := told(); n != 19 {
			t.Errorf("%d of 19 events written when nothing was due any more", n)
		}
		for _, name := range sink.order {
			if e := sink.events[name]; !e.FirstTimestamp.Time.Equal(said) || !e.LastTimestamp.Time.Equal(said) {
				t.Errorf("event %s was said at %v, and tells %v and %v", e.Message, said, e.FirstTimestamp, e.LastTimestamp)
			}
		}
	})
}
