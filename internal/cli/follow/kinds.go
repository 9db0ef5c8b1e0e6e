// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/cli/manifest"
	"github.com/carillon-dev/carillon/internal/kind"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// followKinds follows what is a custom resource: the Job that is followed, or the CronJobs and Jobs of all kinds whose
// CustomResourceDefinition is there, from when it comes to when it goes.
func (f *Follower) followKinds(ctx context.Context) {
	watches := map[string]func(context.Context){}
	for _, k := range kind.All {
		info := k.Info()
		if info.Owner.Group != batchv1.GroupName {
			watches[info.OwnerResource.GroupResource().String()] = func(ctx context.Context) {
				f.watch(ctx, info.OwnerResource, f.cronJobs(k), "spec", info.TemplateField)
			}
		}
		if info.Child.Group == batchv1.GroupName {
			continue
		}
		jobs := func(ctx context.Context) { f.watch(ctx, info.ChildResource, f.customJobs(ctx, k), "spec") }
		if f.opts.Job.Name != "" && f.opts.Job.Group == info.Child.Group {
			jobs(ctx)
			return
		}
		watches[info.ChildResource.GroupResource().String()] = jobs
	}
	if f.opts.Job.Name != "" {
		return
	}

	watches[kind.Timetable{}.Info().Name] = f.followTimetables

	var mu sync.Mutex
	stops := map[string]context.CancelFunc{}
	add := func(informer cache.SharedIndexInformer) error {
		gone := func(crd *unstructured.Unstructured) {
			mu.Lock()
			defer mu.Unlock()
			if stop := stops[crd.GetName()]; stop != nil {
				stop()
				delete(stops, crd.GetName())
			}
		}
		return handle(informer, func(crd *unstructured.Unstructured) {
			start := watches[crd.GetName()]
			if start == nil || !manifest.Established(crd) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if stops[crd.GetName()] == nil {
				kindCtx, stop := context.WithCancel(ctx)
				stops[crd.GetName()] = stop
				start(kindCtx)
			}
		}, gone)
	}
	f.watch(ctx, definitions, add, "spec")
}

// watch runs an informer of a resource until ctx ends. What lies under drop is not kept: templates and schemas are
// large.
func (f *Follower) watch(ctx context.Context, resource schema.GroupVersionResource, add func(cache.SharedIndexInformer) error, drop ...string) {
	informer := dynamicinformer.NewFilteredDynamicInformer(f.opts.Dynamic, resource, f.namespaceOf(resource), 0, cache.Indexers{}, nil).Informer()
	strip := func(obj any) (any, error) {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
			unstructured.RemoveNestedField(u.Object, drop...)
		}
		return obj, nil
	}
	if informer.SetTransform(strip) != nil || add(informer) != nil {
		return // only what has been started refuses, and this has not been
	}
	f.kinds.Go(func() { informer.RunWithContext(ctx) })
}

func (f *Follower) namespaceOf(resource schema.GroupVersionResource) string {
	if resource == definitions {
		return ""
	}
	return f.opts.Namespace
}

func (f *Follower) cronJobs(k kind.Kind) func(cache.SharedIndexInformer) error {
	return typed(k, k.Info().Owner,
		func(obj kind.Object, _ *unstructured.Unstructured) { f.cronJob(k, obj) },
		func(u *unstructured.Unstructured) { f.forgetCronJob(u.GetUID()) })
}

func (f *Follower) customJobs(ctx context.Context, k kind.Kind) func(cache.SharedIndexInformer) error {
	return typed(k, k.Info().Child, func(obj kind.Object, u *unstructured.Unstructured) {
		message, _, _ := unstructured.NestedString(u.Object, k.Info().MessageField...)
		if l, ok := viewOfCustomJob(k, obj, message); ok {
			f.job(ctx, l)
		}
	}, func(u *unstructured.Unstructured) { f.forgetJob(u.GetUID()) })
}

// typed hands out objects in the Go type of their kind. What cannot be read is passed over: the controller warns of it.
func typed(k kind.Kind, gvk schema.GroupVersionKind, changed func(kind.Object, *unstructured.Unstructured), gone func(*unstructured.Unstructured)) func(cache.SharedIndexInformer) error {
	scheme := runtime.NewScheme()
	return func(informer cache.SharedIndexInformer) error {
		if err := k.AddToScheme(scheme); err != nil {
			return err
		}
		return handle(informer, func(u *unstructured.Unstructured) {
			obj, err := scheme.New(gvk)
			if err != nil || into(u, obj) != nil {
				return
			}
			if o, ok := obj.(kind.Object); ok {
				changed(o, u)
			}
		}, gone)
	}
}

func into(u *unstructured.Unstructured, obj any) error {
	data, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}

// isCronJob and isJob tell the part that an API kind has in some kind of CronJob.
func isCronJob(apiKind string) bool {
	return slices.ContainsFunc(kind.Owners, func(k kind.Kind) bool { return k.Info().Owner.Kind == apiKind })
}

func isJob(apiKind string) bool {
	return slices.ContainsFunc(kind.All, func(k kind.Kind) bool { return k.Info().Child.Kind == apiKind })
}
