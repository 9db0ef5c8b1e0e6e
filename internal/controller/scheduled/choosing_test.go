// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/kube/lister"
	"github.com/carillon-dev/carillon/internal/kube/loadgate"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// choosing is a reconciler of series in a synctest bubble, between a simulated server and caches that follow it whenever
// the test looks away.
type choosing struct {
	*reconciler
	t      *testing.T
	server client.WithWatch
	queued *queued
	timers *sim.Timers

	ownerIndexer, calendars toolscache.Indexer
	shelves                 map[schema.GroupVersionKind]toolscache.Indexer
	trouble                 map[schema.GroupVersionKind]*adapter.ChildTrouble
	calls                   []string
	uids                    int
	said                    []string
	// notServed is a kind that the server does not have, but for another version if there is an otherVersion.
	notServed    string
	otherVersion bool
}

const minute = "* * * * *"

// choose runs a test with one object of the kind series, which fires each minute.
func choose(t *testing.T, cronJob make.CronJobBuilder, children string, test func(*choosing)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		owner := cronJob.UID("cj-1").Created(time.Now()).LastSchedule(time.Now()).Obj()
		metav1.SetMetaDataAnnotation(&owner.ObjectMeta, seriesChildren, children)
		owner.SetResourceVersion("")
		scheme := runtime.NewScheme()
		if err := (series{}).AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		c := &choosing{t: t, queued: &queued{}, timers: &sim.Timers{}, shelves: map[schema.GroupVersionKind]toolscache.Indexer{},
			trouble: map[schema.GroupVersionKind]*adapter.ChildTrouble{}}
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(jobKind, meta.RESTScopeNamespace)
		raw := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(servedIn{mapper, c}).WithObjects(owner).WithStatusSubresource(&batchv1.CronJob{}).Build()
		c.server = interceptor.NewClient(raw, c.intercept())
		r, err := newReconciler(series{}, scheme)
		if err != nil {
			t.Fatal(err)
		}
		c.reconciler = r
		c.ownerIndexer = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		c.calendars = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		owners, err := lister.Over(c.ownerIndexer)
		if err != nil {
			t.Fatal(err)
		}
		calendars, err := lister.Over(c.calendars)
		if err != nil {
			t.Fatal(err)
		}
		depend, err := newDependencies(series{}, owners)
		if err != nil {
			t.Fatal(err)
		}
		depend.caches[series{}.DependencyKinds()[0]] = calendars
		r.owners, r.ownWrites, r.log = owners, ownwrites.New[client.Object](nil), testr.New(t)
		r.live, r.writer = c.server, c.server
		r.clock, r.gate = clock.RealClock{}, loadgate.New(clock.RealClock{})
		r.readOptions = adapter.ReadOptions{Zone: time.UTC, Dependency: depend.get}
		r.recorder = events.NewRecorder(events.Options{Sink: c, Component: "series", Clock: r.clock, Logger: r.log})
		r.timers = c.timers
		r.watches = newChildWatches(ctx, series{}, c.open, r.enqueueAll, r.clock, r.log)
		r.begin()
		q := queue(c.queued)
		r.queue.Store(&q)
		test(c)
		cancel()
		if err := r.watches.Start(ctx); err != nil {
			t.Error(err)
		}
	})
}

// servedIn has another version of what the server does not have in that one.
type servedIn struct {
	meta.RESTMapper
	c *choosing
}

func (m servedIn) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	if m.c.otherVersion {
		return []*meta.RESTMapping{{GroupVersionKind: gk.WithVersion("v2")}}, nil
	}
	return m.RESTMapper.RESTMappings(gk, versions...)
}

// intercept notes what changes children, and gives them UIDs.
func (c *choosing) intercept() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if gvk := obj.GetObjectKind().GroupVersionKind(); c.notServed != "" && gvk.Kind == c.notServed {
				return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
			}
			return next.Get(ctx, key, obj, opts...)
		},
		Create: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				c.uids++
				u.SetUID(types.UID(fmt.Sprintf("child-%d", c.uids)))
				u.SetCreationTimestamp(metav1.Now())
				c.calls = append(c.calls, "create "+u.GetKind())
			}
			return next.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			c.calls = append(c.calls, "delete "+obj.GetObjectKind().GroupVersionKind().Kind)
			return next.Delete(ctx, obj, opts...)
		},
	}
}

// open is the openWatch: it fills a cache with what is there.
func (c *choosing) open(_ context.Context, k *childKind) (*lister.Lister, <-chan adapter.ChildTrouble, *adapter.ChildTrouble, error) {
	if trouble := c.trouble[k.gvk]; trouble != nil {
		return nil, nil, trouble, nil
	}
	c.shelves[k.gvk] = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	c.fill(k.gvk)
	l, err := lister.Over(c.shelves[k.gvk])
	return l, nil, nil, err
}

// fill lets the cache of a kind of child catch up: it has what carries the label.
func (c *choosing) fill(gvk schema.GroupVersionKind) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	if err := c.server.List(c.t.Context(), list, client.HasLabels{seriesLabel}); err != nil {
		c.t.Error(err)
	}
	var all []any
	for i := range list.Items {
		all = append(all, series{}.TrimChild(&list.Items[i], gvk))
	}
	if err := c.shelves[gvk].Replace(all, ""); err != nil {
		c.t.Error(err)
	}
}

// see lets all caches catch up.
func (c *choosing) see() {
	c.seeOwner()
	for gvk := range c.shelves {
		c.fill(gvk)
	}
}

func (c *choosing) seeOwner() {
	if err := c.ownerIndexer.Replace([]any{c.owner()}, ""); err != nil {
		c.t.Fatal(err)
	}
}

// sync makes a sync with fresh caches, and another one if it has to wait for a watch.
func (c *choosing) sync() {
	c.t.Helper()
	c.see()
	c.once()
	if synctest.Wait(); slices.Contains(c.queued.keys, tickKey.String()) {
		c.queued.forget()
		c.see()
		c.once()
	}
}

// once makes a sync, both halves.
func (c *choosing) once() {
	c.t.Helper()
	if _, err := c.Reconcile(c.t.Context(), reconcile.Request{NamespacedName: tickKey}); err != nil {
		c.t.Fatal(err)
	}
	for c.statusQueue.waiting() > 0 {
		c.statusQueue.next(c.t.Context())
	}
}

// next lets a minute pass and makes a sync.
func (c *choosing) next() {
	c.t.Helper()
	time.Sleep(time.Minute)
	c.sync()
}

// did compares the creates and deletes since the last time.
func (c *choosing) did(want ...string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.calls, cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("calls (-want +got):\n%s", diff)
	}
	c.calls = nil
}

// active compares the kinds of what status.active lists.
func (c *choosing) active(want ...string) {
	c.t.Helper()
	var got []string
	for _, ref := range c.owner().Status.Active {
		got = append(got, ref.APIVersion+" "+ref.Kind)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("active (-want +got):\n%s", diff)
	}
}

// names changes the kinds of children that the object names.
func (c *choosing) names(children string) {
	c.t.Helper()
	owner := c.owner()
	metav1.SetMetaDataAnnotation(&owner.ObjectMeta, seriesChildren, children)
	if err := c.server.Update(c.t.Context(), owner); err != nil {
		c.t.Fatal(err)
	}
}

// owner is the object as the server has it.
func (c *choosing) owner() *batchv1.CronJob {
	c.t.Helper()
	var owner batchv1.CronJob
	if err := c.server.Get(c.t.Context(), tickKey, &owner); err != nil {
		c.t.Fatal(err)
	}
	return &owner
}

// only changes the only child of a kind.
func (c *choosing) only(gvk schema.GroupVersionKind, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	c.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	if err := c.server.List(c.t.Context(), list); err != nil || len(list.Items) != 1 {
		c.t.Fatalf("%d objects of kind %s, error %v", len(list.Items), gvk.Kind, err)
	}
	child := &list.Items[0]
	change(child)
	status := child.DeepCopy()
	if err := c.server.Update(c.t.Context(), child); err != nil {
		c.t.Fatal(err)
	}
	if gvk == jobKind { // the server knows that its status is a subresource
		status.SetResourceVersion(child.GetResourceVersion())
		if err := c.server.Status().Update(c.t.Context(), status); err != nil {
			c.t.Fatal(err)
		}
	}
	return child
}

// Create and Patch make it a sink of events.
func (c *choosing) Create(_ context.Context, e *corev1.Event) error {
	c.said = append(c.said, e.Reason+": "+e.Message)
	return nil
}

func (c *choosing) Patch(context.Context, string, string, []byte) error { return nil }

// says compares whether an event that begins so was told.
func (c *choosing) says(begins string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.recorder.Start(ctx); err != nil {
		c.t.Fatal(err)
	}
	if !slices.ContainsFunc(c.said, func(s string) bool { return strings.HasPrefix(s, begins) }) {
		c.t.Errorf("nothing was told that begins with %q, but %q", begins, c.said)
	}
}

func done(phase string) func(*unstructured.Unstructured) {
	return func(u *unstructured.Unstructured) {
		u.Object["status"] = map[string]any{"phase": phase}
		if u.GetKind() == "Job" {
			u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}
		}
	}
}

const (
	toWidgets  = "Widget.v1.example.com"
	toJobs     = "Job.v1.batch"
	activeJob  = "batch/v1 Job"
	activeWidg = "example.com/v1 Widget"
)

// An object whose children may be of any kind is served like any other; in what follows it chooses what it starts.
func TestChosenKinds(t *testing.T) {
	forbid := make.CronJob("batch", "tick").Schedule(minute).Policy(batchv1.ForbidConcurrent)
	replace := make.CronJob("batch", "tick").Schedule(minute).Policy(batchv1.ReplaceConcurrent)
	for name, test := range map[string]struct {
		cronJob  make.CronJobBuilder
		children string
		run      func(*choosing)
	}{
		"a child of a kind that no Go type has is started, and judged by the word of its owner": {forbid.Annotation(seriesSuccess, "Done"), toWidgets, func(c *choosing) {
			c.next()
			c.did("create Widget")
			c.active(activeWidg)
			c.only(widgetKind, done("Going"))
			c.next()
			c.did()
			c.only(widgetKind, done("Done"))
			c.sync()
			c.did("create Widget")
			if status := c.owner().Status; status.LastSuccessfulTime == nil {
				c.t.Errorf("the success is not recorded: %+v", status)
			}
		}},
		"nothing is decided before the cache of its kind is filled": {forbid, toWidgets, func(c *choosing) {
			time.Sleep(time.Minute)
			c.see()
			c.once()
			c.did()
			synctest.Wait()
			if !slices.Contains(c.queued.keys, tickKey.String()) {
				c.t.Errorf("no sync is called for when it is: %v", c.queued.keys)
			}
			c.once()
			c.did("create Widget")
		}},
		"a run of a former kind is in the way until it has ended": {forbid, toJobs, func(c *choosing) {
			c.next()
			c.did("create Job")
			c.names(toWidgets)
			c.next()
			c.did()
			c.active(activeJob)
			c.only(jobKind, done(""))
			c.sync()
			c.did("create Widget")
			c.active(activeWidg)
		}},
		"after a restart too, as its status tells of it": {forbid, toWidgets + " " + toJobs, func(c *choosing) {
			c.names(toJobs)
			c.next()
			c.did("create Job")
			c.watches.forget("cj-1")
			c.names(toWidgets + " " + toJobs)
			c.next()
			c.did()
			c.active(activeJob)
		}},
		"a run went with the definition of its kind while nobody watched": {forbid, toWidgets, func(c *choosing) {
			c.next()
			c.did("create Widget")
			gone := c.only(widgetKind, func(*unstructured.Unstructured) {})
			if err := c.server.Delete(c.t.Context(), gone); err != nil {
				c.t.Fatal(err)
			}
			c.did("delete Widget")
			c.names(toJobs + " " + toWidgets)
			c.watches.forget("cj-1") // another process
			time.Sleep(watchLinger)
			synctest.Wait()
			c.notServed, c.trouble[widgetKind] = "Widget", &adapter.ChildTrouble{NotServed: true, Why: "the API server does not serve it"}
			c.sync()
			c.did("create Job")
			c.active(activeJob)
		}},
		"of a kind that is not served in this version just now nothing is known": {forbid, toWidgets, func(c *choosing) {
			c.next()
			c.did("create Widget")
			c.names(toJobs + " " + toWidgets)
			c.watches.forget("cj-1")
			time.Sleep(watchLinger)
			synctest.Wait()
			c.notServed, c.trouble[widgetKind] = "Widget", &adapter.ChildTrouble{NotServed: true, Why: "the API server does not serve it"}
			c.otherVersion = true
			c.sync()
			c.did()
			c.active(activeWidg)
		}},
		"Replace stops a run of a former kind": {replace, toJobs, func(c *choosing) {
			c.next()
			c.did("create Job")
			c.names(toWidgets)
			c.next()
			c.did("delete Job", "create Widget")
			c.active(activeWidg)
		}},
		"a kind that is not granted is told, and started when it is": {forbid, toWidgets, func(c *choosing) {
			c.trouble[widgetKind] = &adapter.ChildTrouble{Why: "nobody has granted it"}
			c.next()
			c.did()
			c.says("KindNotAllowed: Widget: nobody has granted it")
			c.trouble[widgetKind] = nil
			time.Sleep(5 * time.Minute)
			c.sync()
			c.did("create Widget")
		}},
		"TT-262 a run of a former kind that may not be watched any more is told, and what is asked for now starts": {make.CronJob("batch", "tick").Schedule(minute), toWidgets, func(c *choosing) {
			c.next()
			c.did("create Widget")
			c.names(toJobs + " " + toWidgets)
			c.watches.forget("cj-1") // another process
			time.Sleep(watchLinger)
			synctest.Wait()
			c.trouble[widgetKind] = &adapter.ChildTrouble{Why: "nobody grants it any more"}
			c.sync()
			c.did("create Job")
			c.says("KindNotAllowed: Widget: nobody grants it any more")
		}},
		"a kind that is not served is told": {forbid, toWidgets, func(c *choosing) {
			c.trouble[widgetKind] = &adapter.ChildTrouble{NotServed: true, Why: "the API server does not serve it"}
			c.next()
			c.did()
			c.says("KindNotFound: Widget: the API server does not serve it")
		}},
		"TT-240 a child that lost its label is active until it has ended": {forbid, toJobs, func(c *choosing) {
			c.next()
			c.did("create Job")
			c.sync() // by now the cache has shown it
			c.only(jobKind, func(u *unstructured.Unstructured) { u.SetLabels(nil) })
			c.timers.Cancel(tickKey)
			c.next()
			c.did()
			c.active(activeJob)
			if wake, ok := c.timers.Next(tickKey); !ok || wake.After(time.Now().Add(unwatchedRecheck)) {
				c.t.Errorf("looks again at %v, want it within %v", wake, unwatchedRecheck)
			}
			c.only(jobKind, done(""))
			time.Sleep(unwatchedRecheck)
			c.sync()
			c.active(activeJob) // the next one, with its label
			c.did("create Job")
		}},
		"a child of a former kind that lost its label is, too": {forbid, toJobs, func(c *choosing) {
			c.next()
			c.did("create Job")
			c.sync()
			c.only(jobKind, func(u *unstructured.Unstructured) { u.SetLabels(nil) })
			c.names(toWidgets)
			c.next()
			c.next()
			c.did()
			c.active(activeJob)
			c.only(jobKind, done(""))
			time.Sleep(unwatchedRecheck)
			c.sync()
			c.did("create Widget")
			c.active(activeWidg)
			c.next()
			if n := len(c.watches.needs["cj-1"].kinds); n != 2 {
				c.t.Errorf("watches %d kinds while a child is active, want two", n)
			}
		}},
		"a child that vanished is looked for, and is active no more": {forbid, toJobs, func(c *choosing) {
			c.next()
			c.did("create Job")
			gone := c.only(jobKind, func(*unstructured.Unstructured) {})
			if err := c.server.Delete(c.t.Context(), gone); err != nil {
				c.t.Fatal(err)
			}
			c.did("delete Job")
			c.child(jobKind).writes.Gone("cj-1", gone.GetUID())
			c.sync()
			c.active()
		}},
		"one that is late reads the object first, and starts nothing of a former kind": {forbid, toJobs, func(c *choosing) {
			time.Sleep(time.Minute + 2*lateStart)
			c.see()
			c.once()
			synctest.Wait()
			c.names(toWidgets)
			c.once()
			c.did()
			c.sync()
			c.did("create Widget")
		}},
		"a process that does not lead lets go of what is gone": {forbid, toJobs, func(c *choosing) {
			h, was := c.ownerHandlers(), c.owner()
			h.Create(c.t.Context(), createEvent{Object: was}, c.queued)
			again := was.DeepCopy()
			again.UID = "cj-2"
			h.Update(c.t.Context(), updateEvent{ObjectOld: was, ObjectNew: again}, c.queued) // made again while nobody watched
			if c.watches.needs["cj-1"] != nil || c.watches.needs["cj-2"] == nil {
				c.t.Errorf("needed by %v, want cj-2 alone", c.watches.needs)
			}
			h.Delete(c.t.Context(), deleteEvent{Object: again}, c.queued)
			time.Sleep(watchLinger)
			synctest.Wait()
			synctest.Wait()
			if len(c.watches.needs)+len(c.watches.byKind) > 0 {
				c.t.Errorf("needed by %v, watched: %v; want neither", c.watches.needs, c.watches.byKind)
			}
		}},
		"TT-105 what it depends on is read with it, and a change of that calls for a sync": {forbid.Annotation(seriesCalendar, "holidays"), toJobs, func(c *choosing) {
			c.next()
			c.did()
			c.says("CalendarNotFound: there is no ConfigMap holidays")
			calendar := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "batch", Name: "holidays"}}
			for _, obj := range []*corev1.ConfigMap{calendar, {ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "holidays"}}} {
				if err := c.calendars.Add(obj); err != nil {
					c.t.Fatal(err)
				}
			}
			c.queued.forget()
			depend := dependencies{owners: c.owners.(*lister.Lister)}
			h := depend.handlers(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			h.Create(c.t.Context(), createEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "holidays"}}}, c.queued)
			h.Update(c.t.Context(), updateEvent{ObjectOld: calendar, ObjectNew: calendar}, c.queued)
			if len(c.queued.keys) > 0 {
				c.t.Errorf("a Calendar of another namespace, or one that did not change, calls for syncs over %v", c.queued.keys)
			}
			h.Create(c.t.Context(), createEvent{Object: calendar}, c.queued)
			h.Delete(c.t.Context(), deleteEvent{Object: calendar}, c.queued)
			if want := []string{tickKey.String(), tickKey.String()}; !slices.Equal(c.queued.keys, want) {
				c.t.Errorf("syncs are called for over %v, want %v", c.queued.keys, want)
			}
			c.queued.forget()
			c.sync()
			c.did("create Job")
		}},
	} {
		t.Run(name, func(t *testing.T) { choose(t, test.cronJob, test.children, test.run) })
	}
}

// child is a kind that the object has children of.
func (c *choosing) child(gvk schema.GroupVersionKind) *childKind {
	return &c.watches.byKind[gvk].childKind
}
