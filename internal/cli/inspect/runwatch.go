// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// sighting is what a watch of runs has seen. Without a run it says that all that was there at first has been seen
// (synced), or that the watch was interrupted, so that something may not have been (interrupted).
type sighting struct {
	run *run.Run
	// initial: it was there when the watch began.
	initial bool
	// gone: its object was deleted. If last, the run is as it was then; otherwise it may have changed before.
	gone, last  bool
	synced      bool
	interrupted error
}

// watchRuns watches the runs of a subject until ctx ends, and gives each state of each of them to seen, which is not
// called twice at once. A watch that breaks is taken up again. The error says that the API server refuses to be
// watched; it comes before the first call.
func watchRuns(ctx context.Context, server *cluster.Server, of *subject, seen func(sighting)) (wait func(), err error) {
	kinds, selector := runKinds(of)
	var one sync.Mutex
	tell := func(s sighting) {
		one.Lock()
		defer one.Unlock()
		if ctx.Err() == nil {
			seen(s)
		}
	}
	var informers []cache.SharedIndexInformer
	var handlers []cache.ResourceEventHandlerRegistration
	for _, gvk := range kinds {
		mapping, err := server.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// An informer tries for ever. What the server refuses is told at once.
		if _, err := server.Client.Resource(mapping.Resource).Namespace(of.namespace).List(ctx, selector(metav1.ListOptions{Limit: 1})); err != nil {
			return nil, fmt.Errorf("watch the runs of %s: %w", of.ref, err)
		}
		informer := dynamicinformer.NewFilteredDynamicInformer(server.Client, mapping.Resource, of.namespace, 0, cache.Indexers{},
			func(o *metav1.ListOptions) { *o = selector(*o) }).Informer()
		handler, err := handleRuns(informer, of, tell)
		if err != nil {
			return nil, err
		}
		informers, handlers = append(informers, informer), append(handlers, handler)
	}
	if len(informers) == 0 {
		return nil, fmt.Errorf("the API server serves nothing that %s starts", of.ref)
	}
	var all sync.WaitGroup
	for _, informer := range informers {
		all.Go(func() { informer.RunWithContext(ctx) })
	}
	all.Go(func() {
		for _, handler := range handlers {
			if !cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
				return
			}
		}
		tell(sighting{synced: true})
	})
	return all.Wait, nil
}

// patient is a server for a command that goes on while the API server is started again, and says so. nil is none.
func patient(server *cluster.Server, say func(string)) (*cluster.Server, error) {
	if server == nil {
		return nil, nil
	}
	return server.Patient(func(waiting bool) {
		if waiting {
			say("nothing answers at the API server any more; waiting for it to be started again")
		} else {
			say("the API server answers again")
		}
	})
}

// handleRuns gives what an informer learns of the runs of a subject to tell.
func handleRuns(informer cache.SharedIndexInformer, of *subject, tell func(sighting)) (cache.ResourceEventHandlerRegistration, error) {
	strip := func(obj any) (any, error) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return obj, nil
	}
	if err := informer.SetTransform(strip); err != nil {
		return nil, err
	}
	if err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		tell(sighting{interrupted: err})
	}); err != nil {
		return nil, err
	}
	is := func(obj any, s sighting) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok || !of.has(u) {
			return
		}
		r := of.read(u)
		s.run = &r
		tell(s)
	}
	return informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { is(obj, sighting{initial: initial}) },
		UpdateFunc: func(_, obj any) { is(obj, sighting{}) },
		DeleteFunc: func(obj any) {
			unseen, ok := obj.(cache.DeletedFinalStateUnknown)
			if ok {
				obj = unseen.Obj
			}
			is(obj, sighting{gone: true, last: !ok})
		},
	})
}

// runKinds are the kinds of the runs of a subject, and what selects them.
func runKinds(of *subject) ([]schema.GroupVersionKind, func(metav1.ListOptions) metav1.ListOptions) {
	if of.schedule == nil {
		return []schema.GroupVersionKind{batchv1.SchemeGroupVersion.WithKind("Job")}, func(o metav1.ListOptions) metav1.ListOptions {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", of.ref.Name).String()
			return o
		}
	}
	info := of.schedule.Kind.Info()
	kinds := []schema.GroupVersionKind{info.Child}
	if chooser, ok := of.schedule.Kind.(adapter.ChildChooser); ok {
		kinds = chooser.ChildKinds(of.schedule.Typed)
	}
	return kinds, func(o metav1.ListOptions) metav1.ListOptions {
		if info.OwnerLabel != "" {
			o.LabelSelector = labels.Set{info.OwnerLabel: string(of.schedule.Owner.UID)}.String()
		}
		return o
	}
}

// has tells whether an object is a run of the subject.
func (of *subject) has(u *unstructured.Unstructured) bool {
	if of.schedule == nil {
		return u.GetName() == of.ref.Name
	}
	owner := metav1.GetControllerOfNoCopy(u)
	return owner != nil && owner.UID == of.schedule.Owner.UID
}

// read reads a run of the subject.
func (of *subject) read(u *unstructured.Unstructured) run.Run {
	if of.schedule == nil {
		return run.FromObject(u, nil)
	}
	return run.FromObject(u, of.schedule.Typed)
}
