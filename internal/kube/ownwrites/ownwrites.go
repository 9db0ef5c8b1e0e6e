// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownwrites lets a controller read its own writes.
//
// A controller reads from a cache that lags behind the server. What it has just created, changed or deleted is
// not there yet, and deciding on the older picture starts things twice or counts them twice. A Store remembers
// the objects of one type that this process wrote and lays them over the cache's answer until the cache shows
// them itself (compare KEP-5647, which makes controllers wait instead).
//
// Everything is keyed by UID, never by name: an object that was deleted and made again under the same name is
// another object. A crash loses the Store and with it nothing: a restarted controller begins with a fresh list.
//
//	created, err := …Create…      ->  store.Created(owner.UID, created)
//	status written                ->  store.Updated(owner.UID, answer)
//	delete accepted               ->  store.Deleted(owner.UID, job.UID)
//	watch says it is gone         ->  store.Gone(owner.UID, job.UID)
//	children, fresh := store.Merge(owner.UID, cached)
package ownwrites

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Store remembers own writes of objects of type T, grouped by the UID of their owner. An object that is its own
// subject (a CronJob whose status was written) is stored under its own UID and read with Latest.
//
// Stored objects are shared, not copied: nobody may modify an object after handing it in or reading it out.
// All methods may be called by several goroutines at once.
type Store[T client.Object] struct {
	progress func() string

	mu     sync.Mutex
	owners map[types.UID]map[types.UID]entry[T]
}

type entry[T client.Object] struct {
	// obj is the server's answer to our newest write; unset if all that we did was to delete it.
	obj    T
	hasObj bool
	// unseen: we created it and the cache has not shown it yet. Only then does absence from the cache mean "not yet"
	// and not "no longer".
	unseen bool
	// deleted: the server accepted our delete and the cache does not show it yet.
	deleted bool
}

// New returns an empty Store. progress, if not nil, gives the resource version up to which the cache is known to
// be complete ("" when unknown); it settles objects that came and went before the cache could show them.
// Informer stores of client-go offer it as LastStoreSyncResourceVersion.
func New[T client.Object](progress func() string) *Store[T] {
	if progress == nil {
		progress = func() string { return "" }
	}
	return &Store[T]{progress: progress, owners: map[types.UID]map[types.UID]entry[T]{}}
}

// Created notes that obj, as the server answered, was created for owner.
func (s *Store[T]) Created(owner types.UID, obj T) {
	s.put(owner, obj, true)
}

// Updated notes the server's answer to an update or patch of an object that exists already. An answer older than
// what is stored is ignored.
func (s *Store[T]) Updated(owner types.UID, obj T) {
	s.put(owner, obj, false)
}

func (s *Store[T]) put(owner types.UID, obj T, unseen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	children := s.children(owner)
	e := children[obj.GetUID()]
	if e.hasObj && !newer(obj, e.obj) {
		return
	}
	e.obj, e.hasObj, e.unseen = obj, true, e.unseen || unseen
	children[obj.GetUID()] = e
}

// Deleted notes that the server accepted the delete of the child with this UID. The child may live on for a
// while (finalizers, a grace period); until the cache shows its deletion timestamp or its absence, IsDeleted
// reports true.
func (s *Store[T]) Deleted(owner, child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	children := s.children(owner)
	e := children[child]
	e.deleted = true
	children[child] = e
}

// Gone notes that the watch, or a live read, showed that the child no longer exists.
func (s *Store[T]) Gone(owner, child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(owner, child)
}

// Forget drops everything that is remembered for owner; to be called when the owner itself is gone.
func (s *Store[T]) Forget(owner types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, owner)
}

// children is what is remembered for owner, made if there is nothing yet.
func (s *Store[T]) children(owner types.UID) map[types.UID]entry[T] {
	if s.owners[owner] == nil {
		s.owners[owner] = map[types.UID]entry[T]{}
	}
	return s.owners[owner]
}

func (s *Store[T]) drop(owner, child types.UID) {
	children := s.owners[owner]
	delete(children, child)
	if len(children) == 0 {
		delete(s.owners, owner)
	}
}

// Merge returns the children of owner as they are known to be: the cache's list, each object replaced by our own
// write where that is newer, plus what we created and the cache has not shown yet. What the cache has caught up
// with is forgotten. fresh tells that the cache had already seen every one of our writes.
//
// cached is not modified; when there is nothing to lay over it is returned itself. Deleted children stay in the
// list while the cache lists them; ask IsDeleted about them.
func (s *Store[T]) Merge(owner types.UID, cached []T) (merged []T, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	children := s.owners[owner]
	if len(children) == 0 {
		return cached, true
	}
	merged = cached
	done := s.progress()
	listed := make(map[types.UID]struct{}, len(cached))
	for i, c := range cached {
		uid := c.GetUID()
		listed[uid] = struct{}{}
		e, ok := children[uid]
		if !ok {
			continue
		}
		e.unseen = false
		if e.hasObj && newer(e.obj, c) {
			if &merged[0] == &cached[0] {
				merged = slices.Clone(cached)
			}
			merged[i] = e.obj
		} else {
			var none T
			e.obj, e.hasObj = none, false
		}
		if c.GetDeletionTimestamp() != nil {
			e.deleted = false
		}
		if !e.hasObj && !e.deleted {
			delete(children, uid)
			continue
		}
		children[uid] = e
	}
	for uid, e := range children {
		if _, ok := listed[uid]; ok {
			continue
		}
		if !e.unseen || passed(done, e.obj) {
			delete(children, uid)
			continue
		}
		if len(merged) == len(cached) {
			merged = slices.Clip(merged)
		}
		merged = append(merged, e.obj)
	}
	if len(children) == 0 {
		delete(s.owners, owner)
		return merged, true
	}
	return merged, false
}

// Latest returns the newer one of cached and our own last write of the same object (same UID), and forgets the
// write once the cache has caught up. own tells that the answer is our write.
func (s *Store[T]) Latest(cached T) (latest T, own bool) {
	uid := cached.GetUID()
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.owners[uid][uid]
	if !ok {
		return cached, false
	}
	if e.hasObj && newer(e.obj, cached) {
		return e.obj, true
	}
	s.drop(uid, uid)
	return cached, false
}

// IsOwnWrite reports whether obj, as a watch shows it, is exactly what we wrote last for owner, and so tells the
// controller nothing new.
func (s *Store[T]) IsOwnWrite(owner types.UID, obj T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.owners[owner][obj.GetUID()]
	return ok && e.hasObj && e.obj.GetResourceVersion() == obj.GetResourceVersion()
}

// Echoed reports what IsOwnWrite does, and then holds obj in place of the server's answer: the cache holds it too, so
// that it is there once.
func (s *Store[T]) Echoed(owner types.UID, obj T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.owners[owner][obj.GetUID()]
	if !ok || !e.hasObj || e.obj.GetResourceVersion() != obj.GetResourceVersion() {
		return false
	}
	e.obj = obj
	s.owners[owner][obj.GetUID()] = e
	return true
}

// IsDeleted reports whether we deleted this child and the cache has not shown it yet.
func (s *Store[T]) IsDeleted(owner, child types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[owner][child].deleted
}

// newer reports whether a was written after b. Resource versions that are no numbers cannot be compared; then
// the second one, which is the cache's, is trusted.
func newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// passed reports whether a cache that is complete up to version has seen the write of obj.
func passed(version string, obj client.Object) bool {
	if version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, obj.GetResourceVersion())
	return err == nil && order >= 0
}
