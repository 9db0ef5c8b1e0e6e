// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache knows the schedules of an API server, and what goes on, so that a page of ten thousand of them is there
// at once.
//
//   - cache.go      Cache: what is asked of it
//   - kinds.go      what is watched: schedules, Calendars, Jobs
//   - calendars.go  the Calendars, by which Timetables are read
//   - watch.go      watching one kind, whatever becomes of the API server
//   - schedules.go  the schedules that are there, in order
//   - runs.go       the runs that are active
//   - status.go     what goes on, found out in the background while somebody looks
//   - changes.go    telling viewers that something has changed
//
// Everything is watched as long as Run runs. Runs that have ended are not kept: a page asks for those that it shows.
package cache

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/carillon-dev/carillon/internal/client/cluster"
	"github.com/carillon-dev/carillon/internal/client/lookup"
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
	// DataDir is the data directory of the Carillon of this machine, as an absolute path, if that is looked at; "" if not.
	DataDir string
	// Journal is the directory of the journal that was named; "" if none was.
	Journal string
	// Clock gives the time; nil is that of this machine.
	Clock func() time.Time
	// Log is told what cannot be watched; nil: nobody is.
	Log *slog.Logger

	// client reaches the API server, in tests; nil is one for Server.
	client client.WithWatch
}

// Cache is what is known. Its methods may be called at once, and wait for an API server the first time alone. What they
// give is shared: nobody may modify it.
type Cache struct {
	o         Options
	kinds     []*watched
	schedules *schedules
	runs      *runs
	viewers   viewers
	// news has a token when something that is watched has changed.
	news   chan struct{}
	status overviews
}

// New makes one. Run keeps it up to date.
func New(o Options) *Cache {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Cache{o: o, news: make(chan struct{}, 1)}
	c.schedules, c.runs = newSchedules(c.changed), newRuns(c.changed)
	c.status.asked = make(chan struct{}, 1)
	if o.Server != nil || o.client != nil {
		c.kinds = c.wanted()
	}
	return c
}

// Run keeps it up to date until ctx ends. When it returns, nothing of it runs any more.
func (c *Cache) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	if len(c.kinds) > 0 {
		tasks.Go(func() { c.watch(ctx) })
	}
	c.keepUp(ctx)
}

// changed takes in that something that is watched has changed.
func (c *Cache) changed() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// firstWait is how long the first answer of an API server is waited for.
const firstWait = 10 * time.Second

// NotYetError says that the API server has not told yet what it has. It is a context.DeadlineExceeded.
type NotYetError struct {
	// Kinds are those that it has not told of: "CronJobs". Why is what it said instead; "" for nothing.
	Kinds []string
	Why   string
}

// Error implements error.
func (e *NotYetError) Error() string {
	text := "the API server has not told yet which " + strings.Join(e.Kinds, ", ") + " there are"
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Unwrap implements errors.
func (e *NotYetError) Unwrap() error { return context.DeadlineExceeded }

// wait waits until it is known what there is of all kinds, or that it cannot be known.
func (c *Cache) wait(ctx context.Context) error {
	if c.settled() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	for _, w := range c.kinds {
		select {
		case <-w.settled:
		case <-ctx.Done():
			return c.notYet()
		}
	}
	return nil
}

// settled tells whether it is known what there is of all kinds, or that it cannot be known.
func (c *Cache) settled() bool {
	return !slices.ContainsFunc(c.kinds, func(w *watched) bool { return !w.isSettled() })
}

func (c *Cache) notYet() error {
	missing := &NotYetError{}
	for _, w := range c.kinds {
		if !w.isSettled() {
			missing.Kinds = append(missing.Kinds, w.name)
			if missing.Why == "" {
				missing.Why = w.why()
			}
		}
	}
	if len(missing.Kinds) == 0 {
		return nil // meanwhile it has
	}
	return missing
}

// Schedules are the CronJobs and Timetables, by namespace, name and kind. Their Typed objects lack the template of Pods
// (workload.Scheduled.Slim), and they have no Content. Without an API server there are none. The error is a
// NotYetError, or that of ctx.
func (c *Cache) Schedules(ctx context.Context) ([]*workload.Scheduled, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c.schedules.all(), nil
}

// Find gives the schedule with this name; nil if there is none. kind is its Kind, in whatever letters; group the API
// group of a CronJob, "" for batch.
func (c *Cache) Find(ctx context.Context, group, kind, namespace, name string) (*workload.Scheduled, error) {
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c.schedules.find(group, kind, namespace, name), nil
}

// Owner gives the schedule with this UID; nil if it is not known.
func (c *Cache) Owner(uid types.UID) *workload.Scheduled { return c.schedules.byUID(uid) }

// Active are the Jobs of the schedule with this UID that have not ended, newest first; with "" those of all. What else
// a Timetable may start is not among them.
func (c *Cache) Active(owner types.UID) []run.Run { return c.runs.active(owner) }

// Notes say what is not known, and why, each in one line: "CronJobs may not be read: …". It takes no time.
func (c *Cache) Notes() []string {
	var notes []string
	for _, w := range c.kinds {
		if why := w.why(); why != "" {
			notes = append(notes, fmt.Sprintf("%s %s", w.name, why))
		}
	}
	notes = append(notes, c.schedules.unreadable()...)
	for _, note := range c.status.notes() {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// Unread says what cannot be seen, so that none known does not mean none. It takes no time. Where a journal remembers
// runs, they are known from there, whatever may be read of Jobs.
func (c *Cache) Unread() status.Unread {
	var unread status.Unread
	for _, w := range c.kinds {
		why := w.why()
		if why == "" {
			continue
		}
		switch why = w.name + " " + why; {
		case w.about == aboutSchedules && unread.Schedules == "":
			unread.Schedules = why
		case w.about == aboutRuns && unread.Runs == "" && !lookup.Remembers(c.o.Source):
			unread.Runs = why
		}
	}
	return unread
}
