// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/kube/lister"
)

// versionServer is an API server that tells its resource version, and one cache of it.
type versionServer struct {
	client.WithWatch // nil: nothing else is asked for
	mu               sync.Mutex
	version, cached  int
	// changed are the versions at which objects of the type changed.
	changed []int
	down    error
	// mute: it sends no bookmarks.
	mute         bool
	lists, looks int
}

func (s *versionServer) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *versionServer) progress() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.cached)
}

func (s *versionServer) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o client.ListOptions
	o.ApplyOptions(opts)
	if o.Limit != 1 {
		return errors.New("more than one object is asked for")
	}
	s.lists++
	list.SetResourceVersion(strconv.Itoa(s.version))
	return s.down
}

func (s *versionServer) Watch(ctx context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	var o client.ListOptions
	o.ApplyOptions(opts)
	from, err := strconv.Atoi(o.Raw.ResourceVersion)
	if err != nil || !o.Raw.AllowWatchBookmarks || o.Raw.TimeoutSeconds == nil || s.down != nil {
		return nil, errors.Join(err, s.down, ctx.Err())
	}
	w := watch.NewRaceFreeFake()
	for _, v := range s.changed {
		if v > from {
			w.Modify(object(v))
		}
	}
	if !s.mute {
		version := s.version
		time.AfterFunc(time.Second, func() { w.Action(watch.Bookmark, object(version)) })
	}
	time.AfterFunc(time.Duration(*o.Raw.TimeoutSeconds)*time.Second, w.Stop)
	return w, nil
}

func object(version int) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(version)}}
}

// A new leader decides nothing until its caches are as new as the server was when it began to lead: at once if they
// are; as soon as they are if something changed; and within a second or two if nothing did (timetable.md F2, TT-192).
func TestTakeover(t *testing.T) {
	for name, test := range map[string]struct {
		server      *versionServer
		later       func(s *versionServer)
		after, most time.Duration
		lists       int
	}{
		"the caches are as new":        {server: &versionServer{version: 7, cached: 7}, lists: 1},
		"the caches are newer":         {server: &versionServer{version: 7, cached: 9}, lists: 1},
		"other types have changed":     {server: &versionServer{version: 7, cached: 5, changed: []int{5}}, after: time.Second, most: time.Second, lists: 1},
		"a change is yet to be shown":  {server: &versionServer{version: 7, cached: 5, changed: []int{6}}, later: func(s *versionServer) { s.cached = 6 }, after: 20 * time.Second, most: 25 * time.Second, lists: 1},
		"a change is shown, and newer": {server: &versionServer{version: 7, cached: 5, changed: []int{6}}, later: func(s *versionServer) { s.cached = 8 }, after: 20 * time.Second, most: 21 * time.Second, lists: 1},
		"no bookmark, but the cache gets one": {
			server: &versionServer{version: 7, cached: 5, mute: true}, later: func(s *versionServer) { s.cached = 7 }, after: 20 * time.Second, most: 25 * time.Second, lists: 1,
		},
		"the server is out of reach": {
			server: &versionServer{version: 7, cached: 7, down: errors.New("down")}, later: func(s *versionServer) { s.down = nil }, after: 20 * time.Second, most: 21 * time.Second, lists: 22,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := test.server
				tk := &takeover{client: s, caches: []followed{{gvk: schema.GroupVersionKind{Kind: "Thing"}, progress: s.progress}}, complete: make(chan struct{})}
				begun := time.Now()
				time.AfterFunc(20*time.Second+50*time.Millisecond, func() {
					if test.later != nil {
						s.do(func() { test.later(s) })
					}
				})
				go tk.run(t.Context(), logr.Discard())
				if !tk.wait(t.Context()) {
					t.Fatal("it gave up")
				}
				if took := time.Since(begun); took < test.after || took > test.most {
					t.Errorf("complete after %s, want %s to %s", took, test.after, test.most)
				}
				if s.lists != test.lists {
					t.Errorf("%d lists, want %d", s.lists, test.lists)
				}
				<-time.After(time.Hour)
			})
		})
	}
}

// A process that stops while it waits decides nothing; and where no other process leads before it, nothing is waited for.
func TestTakeoverEnds(t *testing.T) {
	if !(*takeover)(nil).wait(t.Context()) {
		t.Error("waits without a takeover")
	}
	(*takeover)(nil).run(t.Context(), logr.Discard())
	synctest.Test(t, func(t *testing.T) {
		s := &versionServer{version: 7, cached: 5, changed: []int{6}}
		tk := &takeover{client: s, caches: []followed{{gvk: schema.GroupVersionKind{Kind: "Thing"}, progress: s.progress}}, complete: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, stop)
		tk.run(ctx, logr.Discard())
		if tk.wait(ctx) {
			t.Error("complete, although the caches are old")
		}
		<-time.After(time.Hour)
	})
}

// filling is a cache that has one informer, over an indexer. It is filled when synced is closed.
type filling struct {
	listening
	indexer toolscache.Indexer
	synced  chan struct{}
}

func (f filling) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer, error) {
	return f, nil
}

func (f filling) GetIndexer() toolscache.Indexer { return f.indexer }

func (f filling) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-f.synced:
		return true
	case <-ctx.Done():
		return false
	}
}

// A new leader waits for the objects that others are read together with, too: the leader before it may have held a start
// back because of them. Nobody waits who names none of them, and a cache that cannot be filled holds up nobody for whom
// that has been told (TT-263).
func TestTakeoverOfDependencies(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := (series{}).AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	depends := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "batch", Name: "depends", Annotations: map[string]string{seriesCalendar: "c"}}}
	free := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "batch", Name: "free"}}
	for name, leads := range map[string]bool{"a new leader": true, "without leader election": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				server, elected, called := &versionServer{version: 7, changed: []int{6}}, make(chan struct{}), &queued{}
				cached := filling{listening{heard: make(chan toolscache.ResourceEventHandler, 1)}, indexer(), make(chan struct{})}
				shelf := indexer()
				owners, err := lister.Over(shelf)
				if err != nil {
					t.Fatal(err)
				}
				r := &reconciler{log: logr.Discard()}
				if leads {
					r.takeover = &takeover{client: server}
				}
				var failed func(error)
				sources, err := dependencySources(ctx, series{}, r, owners, func(f func(error)) (crcache.Cache, error) { failed = f; return cached, nil }, elected, scheme)
				if err != nil {
					t.Fatal(err)
				}
				if err := shelf.Replace([]any{depends, free}, ""); err != nil {
					t.Fatal(err)
				}
				q := queue(called)
				r.queue.Store(&q)
				if err := sources[0].Start(ctx, called); err != nil {
					t.Fatal(err)
				}
				is := func(when string, known bool, why string, calls ...string) {
					t.Helper()
					time.Sleep(10 * time.Second)
					synctest.Wait()
					if !r.depends.known(free) {
						t.Errorf("%s: who names none waits", when)
					}
					if r.depends.known(depends) != known || r.depends.trouble(series{}.DependencyKinds()[0]) != why {
						t.Errorf("%s: known is %v, the trouble %q", when, r.depends.known(depends), r.depends.trouble(series{}.DependencyKinds()[0]))
					}
					if !slices.Equal(called.keys, calls) {
						t.Errorf("%s: called for %q, want %q", when, called.keys, calls)
					}
					called.forget()
				}
				is("at first", false, "")
				failed(errors.New("connection refused"))
				is("after an error that may pass", false, "")
				failed(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")))
				failed(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")))
				is("not granted", true, "the controller may not list and watch it in all namespaces", "batch/depends")
				close(cached.synced)
				if leads {
					is("filled, and not the leader", true, "the controller may not list and watch it in all namespaces")
					close(elected)
					is("as old as before", true, "the controller may not list and watch it in all namespaces")
					if err := cached.indexer.Replace(nil, "7"); err != nil {
						t.Fatal(err)
					}
				}
				is("filled", true, "", "batch/depends")
				failed(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")))
				is("withdrawn", true, "")
			})
		})
	}
}
