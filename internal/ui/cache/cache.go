// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache knows the schedules of an API server, and what goes on, so that a page of ten thousand of them is there
// at once.
package cache

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Options are what a Cache is made from.
type Options struct {
	// Server is the API server; nil if only a journal is looked at.
	Server *cluster.Server
	Source lookup.Source
	// Namespace is the only one that is looked at; "" for all.
	Namespace string
	Clock     func() time.Time
}

// Cache is what is known. Its methods may be called at once, and never wait for an API server but for the first time.
// What they give is shared: nobody may modify it.
type Cache struct {
	o Options

	mu        sync.Mutex
	schedules []*workload.Scheduled
	read      time.Time
}

// New makes one. Run keeps it up to date.
func New(o Options) *Cache { return &Cache{o: o} }

// Run keeps it up to date until ctx ends.
func (c *Cache) Run(ctx context.Context) { <-ctx.Done() }

// Schedules are the CronJobs and Timetables, by namespace, name and kind. Their Typed objects lack the template of Pods.
func (c *Cache) Schedules(ctx context.Context) ([]*workload.Scheduled, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.o.Server == nil {
		return nil, nil
	}
	if c.o.Clock().Sub(c.read) < 2*time.Second {
		return c.schedules, nil
	}
	objects, err := c.o.Server.Scheduled(ctx, c.o.Namespace == "", func(string) {})
	if err != nil {
		return nil, err
	}
	all, err := workload.Read(objects, workload.Options{KeepUnreadable: true})
	if err != nil {
		return nil, err
	}
	c.schedules, c.read = all.Scheduled, c.o.Clock()
	return c.schedules, nil
}

// Status is what goes on, as the page Now shows it: what failed and was missed in the last 24 hours, and what is due
// within the next one. It is at most a few seconds old.
func (c *Cache) Status(ctx context.Context) (*status.Status, error) {
	schedules, err := c.Schedules(ctx)
	if err != nil {
		return nil, err
	}
	now := c.o.Clock()
	in := status.Input{Now: now, Since: now.Add(-24 * time.Hour), Within: time.Hour, Schedules: schedules, Served: c.o.Server != nil}
	if in.Active, err = c.o.Source.Runs(ctx, journal.Query{Namespace: c.o.Namespace, Outcomes: []run.Outcome{run.Active}}); err != nil {
		return nil, err
	}
	if in.Failed, err = c.o.Source.Runs(ctx, journal.Query{Namespace: c.o.Namespace, Outcomes: []run.Outcome{run.Failed}, EndedFrom: in.Since, Limit: 1000}); err != nil {
		return nil, err
	}
	if in.Omissions, err = c.o.Source.Omissions(ctx, journal.Query{Namespace: c.o.Namespace, From: in.Since, Limit: 1000}); err != nil {
		return nil, err
	}
	return status.Of(&in), nil
}

// Changes gives a channel that has a value when something has changed since the last one was taken, at most one a
// second; it is closed when ctx ends.
func (c *Cache) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{}, 1)
	go func() {
		defer close(changes)
		ticks := time.NewTicker(2 * time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			select {
			case changes <- struct{}{}:
			default:
			}
		}
	}()
	return changes
}
