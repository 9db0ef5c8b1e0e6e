// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"encoding/json"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/kind"
	"github.com/carillon-dev/carillon/internal/kind/volcano"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// followKinds follows the kinds that are custom resources: the one of the Job that is followed, or all whose
// CustomResourceDefinition is there, from when it comes to when it goes.
func (f *Follower) followKinds(ctx context.Context) {
	if f.opts.Job.Name != "" {
		if f.opts.Job.Group == volcano.GroupVersion.Group {
			f.watch(ctx, volcano.Kind{}.Info().ChildResource, f.volcanoJobs(ctx))
		}
		return
	}
	watches := map[string]func(context.Context){}
	for _, k := range kind.All {
		info := k.Info()
		if info.Owner.Group == batchv1.GroupName {
			continue
		}
		watches[info.OwnerResource.GroupResource().String()] = func(ctx context.Context) { f.watch(ctx, info.OwnerResource, f.cronJobs(k)) }
	}
	jobs := volcano.Kind{}.Info().ChildResource
	watches[jobs.GroupResource().String()] = func(ctx context.Context) { f.watch(ctx, jobs, f.volcanoJobs(ctx)) }

	var mu sync.Mutex
	stops := map[string]context.CancelFunc{}
	f.watch(ctx, definitions, func(informer cache.SharedIndexInformer) error {
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
			if start == nil || !established(crd) {
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
	})
}

// watch runs an informer of a resource until ctx ends.
func (f *Follower) watch(ctx context.Context, resource schema.GroupVersionResource, add func(cache.SharedIndexInformer) error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(f.opts.Dynamic, resource, f.namespaceOf(resource), 0, cache.Indexers{}, nil).Informer()
	if informer.SetTransform(stripCustom) != nil || add(informer) != nil {
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
	scheme := runtime.NewScheme()
	return func(informer cache.SharedIndexInformer) error {
		if err := k.AddToScheme(scheme); err != nil {
			return err
		}
		return handle(informer, func(u *unstructured.Unstructured) {
			obj, err := scheme.New(k.Info().Owner)
			if err != nil || into(u, obj) != nil {
				return // the controller warns of what cannot be read
			}
			if cronJob, ok := obj.(kind.Object); ok {
				f.cronJob(k, cronJob)
			}
		}, func(u *unstructured.Unstructured) { f.forgetCronJob(u.GetUID()) })
	}
}

func (f *Follower) volcanoJobs(ctx context.Context) func(cache.SharedIndexInformer) error {
	return func(informer cache.SharedIndexInformer) error {
		return handle(informer, func(u *unstructured.Unstructured) {
			job := &volcano.Job{}
			if into(u, job) != nil {
				return
			}
			message, _, _ := unstructured.NestedString(u.Object, "status", "state", "message")
			if l, ok := lifeOfVolcanoJob(job, message); ok {
				f.job(ctx, l)
			}
		}, func(u *unstructured.Unstructured) { f.forgetJob(u.GetUID()) })
	}
}

func into(u *unstructured.Unstructured, obj any) error {
	data, err := json.Marshal(u.Object)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, obj)
}

// stripCustom drops the templates and schemas, which are large.
func stripCustom(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.SetManagedFields(nil)
		for _, path := range [][]string{{"spec", "jobTemplate"}, {"spec", "tasks"}, {"spec", "versions"}} {
			unstructured.RemoveNestedField(u.Object, path...)
		}
	}
	return obj, nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == "Established" && m["status"] == "True" {
			return true
		}
	}
	return false
}
