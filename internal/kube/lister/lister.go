// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lister reads a controller's cache without copying it.
//
// A sync must cost what the object's own children cost, not what the namespace holds (cronjob.md B8), and nothing
// for objects that did not change. So children are found by the UID of their controller through an index, and what
// is read is the cached object itself: callers must not modify it.
package lister

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// byController is the name of the index; its values are UIDs.
const byController = "carillon.dev/controller-uid"

// Lister reads the objects of one type. All methods may be called by several goroutines at once.
type Lister struct {
	indexer toolscache.Indexer
}

// For returns the Lister of example's type over the informer that c has for it, which is started if c is and need
// not be synced yet. It may be called several times for one type. Caches that are split by namespace have no single
// informer for a type and are refused.
func For(ctx context.Context, c cache.Cache, example client.Object) (*Lister, error) {
	informer, err := c.GetInformer(ctx, example, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("informer of %T: %w", example, err)
	}
	indexed, ok := informer.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return nil, fmt.Errorf("informer of %T has no index: the cache must span all namespaces", example)
	}
	return Over(indexed.GetIndexer())
}

// Over returns the Lister of the objects in indexer, which it gives its index.
func Over(indexer toolscache.Indexer) (*Lister, error) {
	if _, exists := indexer.GetIndexers()[byController]; !exists {
		err := indexer.AddIndexers(toolscache.Indexers{byController: controllerUID})
		if _, exists = indexer.GetIndexers()[byController]; err != nil && !exists { // somebody else was faster: fine
			return nil, fmt.Errorf("index by controller: %w", err)
		}
	}
	return &Lister{indexer: indexer}, nil
}

func controllerUID(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil, errors.New("not an API object")
	}
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}, nil
	}
	return nil, nil
}

// Index adds an index of that name over the values that valuesOf gives of an object; one that exists already stays.
func (l *Lister) Index(name string, valuesOf func(client.Object) []string) error {
	if _, exists := l.indexer.GetIndexers()[name]; exists {
		return nil
	}
	err := l.indexer.AddIndexers(toolscache.Indexers{name: func(obj any) ([]string, error) {
		o, ok := obj.(client.Object)
		if !ok {
			return nil, errors.New("not an API object")
		}
		return valuesOf(o), nil
	}})
	if err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	return nil
}

// Get returns the cached object of that name; ok is false when there is none.
func (l *Lister) Get(name types.NamespacedName) (obj client.Object, ok bool) {
	found, exists, err := l.indexer.GetByKey(toolscache.NewObjectName(name.Namespace, name.Name).String())
	if err != nil || !exists {
		return nil, false
	}
	obj, ok = found.(client.Object)
	return obj, ok
}

// All are all objects. They must not be modified.
func (l *Lister) All() []client.Object {
	list := l.indexer.List()
	all := make([]client.Object, 0, len(list))
	for _, obj := range list {
		if o, ok := obj.(client.Object); ok {
			all = append(all, o)
		}
	}
	return all
}

// ControlledBy returns the cached objects whose controller reference has this UID, in any order.
func (l *Lister) ControlledBy(owner types.UID) []client.Object {
	return l.ByIndex(byController, string(owner))
}

// ByIndex returns the cached objects that have the value in that index, in any order; none if there is no such index.
func (l *Lister) ByIndex(index, value string) []client.Object {
	found, err := l.indexer.ByIndex(index, value)
	if err != nil || len(found) == 0 {
		return nil
	}
	objs := make([]client.Object, 0, len(found))
	for _, f := range found {
		if obj, ok := f.(client.Object); ok {
			objs = append(objs, obj)
		}
	}
	return objs
}

// Progress tells up to which resource version the cache is complete, "" when it cannot tell. See package ownwrites.
func (l *Lister) Progress() string { return l.indexer.LastStoreSyncResourceVersion() }
