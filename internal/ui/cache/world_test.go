// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// server is an API server in memory that fails as told.
type server struct {
	client.WithWatch

	mu sync.Mutex
	// fails are answers by kind: of lists, and with them of watches that begin.
	fails   map[string]error
	lists   map[string]int
	watches map[watch.Interface]string
	// expired are kinds that must be listed before they can be watched again: the server has forgotten what was before.
	expired map[string]bool
	// short: watches end as soon as they have begun.
	short bool
}

// IsWatchListSemanticsUnSupported says that watches of the fake client do not begin with what is there.
func (*server) IsWatchListSemanticsUnSupported() bool { return true }

func (s *server) refusal(list client.ObjectList) (string, error) {
	known, err := scheme()
	if err != nil {
		return "", err
	}
	gvk, err := apiutil.GVKForObject(list, known)
	if err != nil {
		return "", err
	}
	kind := strings.TrimSuffix(gvk.Kind, "List") + "." + gvk.Group
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[kind]++
	if err := s.fails[""]; err != nil {
		return kind, err
	}
	return kind, s.fails[kind]
}

func (s *server) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind, err := s.refusal(list)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.expired, kind)
	s.mu.Unlock()
	return s.WithWatch.List(ctx, list, options...)
}

func (s *server) Watch(ctx context.Context, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	kind, err := s.refusal(list)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.expired[kind] {
		return nil, apierrors.NewResourceExpired("too old")
	}
	w, err := s.WithWatch.Watch(ctx, list, options...)
	if err == nil && s.short {
		w.Stop()
	} else if err == nil {
		s.watches[w] = kind
	}
	return w, err
}

// fail has the server answer so for a kind, "" for all, and ends its watches; nil ends that.
func (s *server) fail(kind string, err error) {
	s.mu.Lock()
	s.fails[kind] = err
	var ended []watch.Interface
	for w, of := range s.watches {
		if err != nil && (kind == "" || kind == of) {
			ended = append(ended, w)
			s.expired[of] = true
			delete(s.watches, w)
		}
	}
	s.mu.Unlock()
	for _, w := range ended {
		w.Stop()
	}
}

var (
	refused   = &wrapped{syscall.ECONNREFUSED}
	forbidden = apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "cronjobs"}, "", errors.New("no right to list"))
	unserved  = apierrors.NewNotFound(schema.GroupResource{Group: "batch", Resource: "cronjobs"}, "")
)

// wrapped is an error as a client gives it.
type wrapped struct{ inner error }

func (w *wrapped) Error() string { return "Get https://127.0.0.1:6443/: " + w.inner.Error() }
func (w *wrapped) Unwrap() error { return w.inner }

// source remembers runs.
type source struct {
	lookup.Source

	mu        sync.Mutex
	runs      []run.Run
	omissions []run.Omission
	asked     int
	fails     error
	// takes is how long an answer takes; panics is what one is instead, nil for none.
	takes  time.Duration
	panics any
}

func (s *source) Runs(ctx context.Context, q journal.Query) ([]run.Run, error) {
	active := slices.Contains(q.Outcomes, run.Active)
	if active {
		time.Sleep(s.takes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics != nil {
		panic(s.panics)
	}
	if active {
		s.asked++
	}
	return slices.DeleteFunc(slices.Clone(s.runs), func(r run.Run) bool { return !lookup.Chooses(&q, &r) }), s.fails
}

func (s *source) Omissions(context.Context, journal.Query) ([]run.Omission, error) {
	return s.omissions, nil
}
func (s *source) Attempts(context.Context, *run.Run) ([]run.Attempt, error) { return nil, nil }
func (s *source) Usual(context.Context, []types.UID) (map[types.UID]journal.Usual, error) {
	return nil, nil
}
func (s *source) Log(context.Context, *run.Attempt) (io.ReadCloser, error) {
	return nil, fs.ErrNotExist
}
func (s *source) Tail(context.Context, *run.Attempt, int) ([]byte, error) { return nil, nil }
func (s *source) Origin(context.Context) string                           { return "a test" }
func (s *source) Close() error                                            { return nil }

func (s *source) add(r run.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs = append(s.runs, r)
}

func (s *source) questions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// object reads an object in the Go type of its kind.
func object(t *testing.T, text string) client.Object {
	t.Helper()
	var named struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(text), &named); err != nil {
		t.Fatal(err)
	}
	known, err := scheme()
	if err != nil {
		t.Fatal(err)
	}
	o := newOf(known, schema.FromAPIVersionAndKind(named.APIVersion, named.Kind))
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	if o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	if o.GetUID() == "" {
		o.SetUID(types.UID(o.GetNamespace() + "-" + o.GetName()))
	}
	return o
}

// inWorld runs a test of a cache that runs, in a time of its own. All that the cache has begun has ended after it, or
// the test fails.
func inWorld(t *testing.T, objects []string, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		known, err := scheme()
		if err != nil {
			t.Fatal(err)
		}
		made := fake.NewClientBuilder().WithScheme(known)
		for _, text := range objects {
			made.WithObjects(object(t, text))
		}
		w := &world{t: t, server: &server{WithWatch: made.Build(), fails: map[string]error{}, lists: map[string]int{}, watches: map[watch.Interface]string{}, expired: map[string]bool{}}, source: &source{}}
		w.Cache = New(Options{client: w.server, Source: w.source, Log: slog.New(slog.NewTextHandler(&w.log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		w.begin = sync.OnceFunc(func() { go func() { defer close(ended); w.Run(ctx) }() })
		test(t, w)
		w.begin()
		stop()
		<-ended
	})
}

type world struct {
	*Cache
	t      *testing.T
	server *server
	source *source
	// log is what is logged, for when nothing runs.
	log bytes.Buffer
	// begin runs the cache.
	begin func()
}

// names are those of the schedules, as they are known after a moment.
func (w *world) names() (names []string) {
	w.t.Helper()
	time.Sleep(2 * time.Second)
	synctest.Wait()
	all, err := w.Schedules(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range all {
		names = append(names, s.Owner.Namespace+" "+s.Reference())
	}
	return names
}

func (w *world) create(text string) {
	w.t.Helper()
	if err := w.server.Create(w.t.Context(), object(w.t, text)); err != nil {
		w.t.Fatal(err)
	}
}
