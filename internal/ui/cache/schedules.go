// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// identity names a schedule.
type identity struct{ group, kind, namespace, name string }

func identityOf(s *workload.Scheduled) identity {
	owner := s.Kind.Info().Owner
	return identity{owner.Group, owner.Kind, s.Owner.Namespace, s.Owner.Name}
}

// compare orders by namespace, name and kind.
func (i identity) compare(other identity) int {
	return cmp.Or(strings.Compare(i.namespace, other.namespace), strings.Compare(i.name, other.name),
		strings.Compare(i.kind, other.kind), strings.Compare(i.group, other.group))
}

// schedules are those that are there.
type schedules struct {
	changed func()

	mu    sync.RWMutex
	named map[identity]*workload.Scheduled
	uids  map[types.UID]*workload.Scheduled
	// ordered has all of them in order; it is not modified. It is out of date where it lacks one of added or has one of
	// which named has another state or none.
	ordered []*workload.Scheduled
	stale   bool
	// refused says of objects that are none of their API why.
	refused map[identity]string
}

func newSchedules(changed func()) *schedules {
	return &schedules{changed: changed, named: map[identity]*workload.Scheduled{}, uids: map[types.UID]*workload.Scheduled{}, refused: map[identity]string{}}
}

func (c *schedules) put(s *workload.Scheduled) {
	id := identityOf(s)
	c.mu.Lock()
	if before := c.named[id]; before != nil && before.Owner.UID != s.Owner.UID {
		delete(c.uids, before.Owner.UID)
	}
	c.named[id], c.uids[s.Owner.UID], c.stale = s, s, true
	delete(c.refused, id)
	c.mu.Unlock()
	c.changed()
}

func (c *schedules) remove(id identity) {
	c.mu.Lock()
	c.drop(id)
	c.mu.Unlock()
	c.changed()
}

// drop forgets one. c.mu is held.
func (c *schedules) drop(id identity) {
	if before := c.named[id]; before != nil {
		delete(c.uids, before.Owner.UID)
		delete(c.named, id)
		c.stale = true
	}
	delete(c.refused, id)
}

// refuse takes in that an object is none of its API.
func (c *schedules) refuse(id identity, err error) {
	c.mu.Lock()
	c.drop(id)
	c.refused[id] = err.Error()
	c.mu.Unlock()
	c.changed()
}

// keepOnly forgets all of a kind but those.
func (c *schedules) keepOnly(group, kind string, ids map[identity]bool) {
	c.mu.Lock()
	for id := range c.named {
		if id.group == group && id.kind == kind && !ids[id] {
			c.drop(id)
		}
	}
	for id := range c.refused {
		if id.group == group && id.kind == kind && !ids[id] {
			delete(c.refused, id)
		}
	}
	c.mu.Unlock()
	c.changed()
}

// all gives all in order. It takes no time but after a change, when the order is kept or made anew.
func (c *schedules) all() []*workload.Scheduled {
	c.mu.RLock()
	ordered, stale := c.ordered, c.stale
	c.mu.RUnlock()
	if !stale {
		return ordered
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stale {
		c.ordered, c.stale = c.order(), false
	}
	return c.ordered
}

// order makes the order anew: those that were there stay in theirs, and new ones are put between them.
func (c *schedules) order() []*workload.Scheduled {
	left := make([]*workload.Scheduled, 0, len(c.named))
	there := make(map[identity]bool, len(c.ordered))
	for _, s := range c.ordered {
		id := identityOf(s)
		if now := c.named[id]; now != nil {
			left = append(left, now)
			there[id] = true
		}
	}
	if len(left) == len(c.named) {
		return left
	}
	for id, s := range c.named {
		if !there[id] {
			left = append(left, s)
		}
	}
	slices.SortFunc(left, func(a, b *workload.Scheduled) int { return identityOf(a).compare(identityOf(b)) })
	return left
}

func (c *schedules) find(group, kind, namespace, name string) *workload.Scheduled {
	if group == "" {
		group = batchv1.GroupName
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if strings.EqualFold(kind, timetableKind.Kind) {
		return c.named[identity{timetableKind.Group, timetableKind.Kind, namespace, name}]
	}
	if !strings.EqualFold(kind, "CronJob") {
		return nil
	}
	return c.named[identity{group, "CronJob", namespace, name}]
}

func (c *schedules) byUID(uid types.UID) *workload.Scheduled {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.uids[uid]
}

// unreadable says which objects are none of their API, and why.
func (c *schedules) unreadable() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []string
	for id, why := range c.refused {
		all = append(all, fmt.Sprintf("%s %s/%s cannot be read: %s", id.kind, id.namespace, id.name, why))
	}
	slices.Sort(all)
	return all
}
