// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// runs are those of Jobs that have not ended.
type runs struct {
	changed func()

	mu    sync.RWMutex
	known map[types.UID]activeRun
	// owned are the UIDs of runs by the UID of their owner.
	owned map[types.UID][]types.UID
}

// activeRun is a run, and the kind of Job that it is.
type activeRun struct {
	run.Run
	kind string
}

func newRuns(changed func()) *runs {
	return &runs{changed: changed, known: map[types.UID]activeRun{}, owned: map[types.UID][]types.UID{}}
}

func (c *runs) put(r activeRun) {
	c.mu.Lock()
	_, known := c.known[r.UID]
	c.known[r.UID] = r
	if !known {
		c.owned[r.Owner.UID] = append(c.owned[r.Owner.UID], r.UID)
	}
	c.mu.Unlock()
	c.changed()
}

// remove forgets a run that has ended, or is gone.
func (c *runs) remove(uid types.UID) {
	c.mu.Lock()
	known := c.drop(uid)
	c.mu.Unlock()
	if known {
		c.changed()
	}
}

// drop forgets one. c.mu is held.
func (c *runs) drop(uid types.UID) (known bool) {
	r, known := c.known[uid]
	if !known {
		return false
	}
	delete(c.known, uid)
	owner := r.Owner.UID
	c.owned[owner] = slices.DeleteFunc(c.owned[owner], func(one types.UID) bool { return one == uid })
	if len(c.owned[owner]) == 0 {
		delete(c.owned, owner)
	}
	return true
}

// keepOnly forgets all of a kind but those.
func (c *runs) keepOnly(kind string, uids map[types.UID]bool) {
	c.mu.Lock()
	for uid, r := range c.known {
		if r.kind == kind && !uids[uid] {
			c.drop(uid)
		}
	}
	c.mu.Unlock()
	c.changed()
}

// active are those of an owner, "" for all, newest first.
func (c *runs) active(owner types.UID) []run.Run {
	c.mu.RLock()
	var all []run.Run
	if owner != "" {
		for _, uid := range c.owned[owner] {
			all = append(all, c.known[uid].Run)
		}
	} else {
		for _, r := range c.known {
			all = append(all, r.Run)
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(all, lookup.NewestFirst)
	return all
}

// runStore takes in Jobs of one kind. It is a toolscache.TransformingStore.
type runStore struct {
	runs *runs
	kind string
}

// seenJob is what is kept of a Job: a run that is active, or the name of one that is not.
type seenJob struct {
	metav1.ObjectMeta
	run run.Run
}

func (s *runStore) read(obj any) *seenJob {
	var r run.Run
	switch job := obj.(type) {
	case *seenJob:
		return job
	case *batchv1.Job:
		r = run.FromJob(job)
	case *unstructured.Unstructured:
		r = run.FromObject(job, nil)
	default:
		return nil
	}
	seen := &seenJob{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, UID: r.UID}}
	if !r.Outcome.Ended() {
		seen.run = r
	}
	return seen
}

// Transformer implements toolscache.TransformingStore.
func (s *runStore) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if seen := s.read(obj); seen != nil {
			return seen, nil
		}
		return obj, nil
	}
}

// Add implements toolscache.ReflectorStore.
func (s *runStore) Add(obj any) error {
	switch seen := s.read(obj); {
	case seen == nil:
	case seen.run.UID != "":
		s.runs.put(activeRun{seen.run, s.kind})
	default:
		s.runs.remove(seen.UID)
	}
	return nil
}

// Update implements toolscache.ReflectorStore.
func (s *runStore) Update(obj any) error { return s.Add(obj) }

// Delete implements toolscache.ReflectorStore.
func (s *runStore) Delete(obj any) error {
	if seen := s.read(obj); seen != nil {
		s.runs.remove(seen.UID)
	}
	return nil
}

// Replace implements toolscache.ReflectorStore.
func (s *runStore) Replace(all []any, _ string) error {
	uids := map[types.UID]bool{}
	for n, obj := range all {
		if seen := s.read(obj); seen != nil && seen.run.UID != "" {
			uids[seen.UID] = true
			s.runs.put(activeRun{seen.run, s.kind})
		}
		all[n] = nil
	}
	s.runs.keepOnly(s.kind, uids)
	return nil
}

// Resync implements toolscache.ReflectorStore.
func (s *runStore) Resync() error { return nil }
