// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kube/lister"
)

// byDependency is the name of the index of CronJobs by what they depend on.
const byDependency = "carillon.dev/dependency"

// dependencies are the other objects that those of a kind depend on.
type dependencies struct {
	kind   adapter.Dependent
	owners *lister.Lister
	caches map[schema.GroupVersionKind]cache
	// watches fill the caches; a cache without one is filled already.
	watches map[schema.GroupVersionKind]*dependencyWatch
}

// newDependencies gives the CronJobs in the cache an index by what they depend on.
func newDependencies(kind adapter.Dependent, owners *lister.Lister) (*dependencies, error) {
	err := owners.Index(byDependency, func(owner client.Object) []string {
		var values []string
		for _, d := range kind.Dependencies(owner) {
			values = append(values, dependencyValue(d.Kind, types.NamespacedName{Namespace: owner.GetNamespace(), Name: d.Name}))
		}
		return values
	})
	return &dependencies{kind: kind, owners: owners, caches: map[schema.GroupVersionKind]cache{},
		watches: map[schema.GroupVersionKind]*dependencyWatch{}}, err
}

// known tells whether it is known what a CronJob depends on: the caches of these kinds are filled, or cannot be. On nil
// it is.
func (d *dependencies) known(owner client.Object) bool {
	if d == nil {
		return true
	}
	return !slices.ContainsFunc(d.kind.Dependencies(owner), func(named adapter.Dependency) bool {
		w := d.watches[named.Kind]
		return w != nil && !w.filled.Load() && d.trouble(named.Kind) == ""
	})
}

// trouble is adapter.ReadOptions.DependencyTrouble.
func (d *dependencies) trouble(kind schema.GroupVersionKind) string {
	if w := d.watches[kind]; w != nil && !w.filled.Load() {
		if why := w.trouble.Load(); why != nil {
			return *why
		}
	}
	return ""
}

// on are the CronJobs that depend on some object of a kind.
func (d *dependencies) on(kind schema.GroupVersionKind) (keys []types.NamespacedName) {
	for _, owner := range d.owners.All() {
		if slices.ContainsFunc(d.kind.Dependencies(owner), func(named adapter.Dependency) bool { return named.Kind == kind }) {
			keys = append(keys, client.ObjectKeyFromObject(owner))
		}
	}
	return keys
}

func dependencyValue(kind schema.GroupVersionKind, name types.NamespacedName) string {
	return kind.GroupKind().String() + "/" + name.String()
}

// get is adapter.ReadOptions.Dependency.
func (d *dependencies) get(namespace string, named adapter.Dependency) (adapter.Object, bool) {
	from := d.caches[named.Kind]
	if from == nil {
		return nil, false
	}
	obj, ok := from.Get(types.NamespacedName{Namespace: namespace, Name: named.Name})
	return obj, ok
}

// handlers call for a sync over all CronJobs that depend on an object of this kind that comes, goes or changes.
func (d *dependencies) handlers(kind schema.GroupVersionKind) handlers {
	enqueue := func(obj client.Object, q queue) {
		for _, owner := range d.owners.ByIndex(byDependency, dependencyValue(kind, client.ObjectKeyFromObject(obj))) {
			q.Add(request(owner))
		}
	}
	return handlers{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			if e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion() {
				enqueue(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) { enqueue(e.Object, q) },
	}
}
