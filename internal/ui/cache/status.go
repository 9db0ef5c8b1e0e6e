// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/client/overview"
	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/plan/status"
)

const (
	// since is how far back failures and missed times count, and within how far ahead what is due is told.
	since, within = 24 * time.Hour, time.Hour
	// goodFor is how old what goes on may be while nothing has changed; it is found out anew before.
	goodFor = 20 * time.Second
	// findWithin bounds how long it may take to find out what goes on.
	findWithin = 30 * time.Second
	// factsFor is how old the facts about the parts may be that all depends on, and factsWait how long the first ones are
	// waited for.
	factsFor, factsWait = 10 * time.Second, 2 * time.Second
)

// overviews find out what goes on.
type overviews struct {
	// asked has a token when somebody has asked.
	asked   chan struct{}
	outputs overview.Outputs
	tasks   sync.WaitGroup

	mu   sync.Mutex
	last time.Time // when somebody asked
	// found is what was found out last, at that time; nil if nothing was, or err says why not.
	found *overview.Overview
	err   error
	at    time.Time
	// logged is err as it was logged; "" if the last time nothing was at fault.
	logged string
	// ready is closed when the next is found out; nil if nobody waits.
	ready chan struct{}

	facts factsKept
}

// factsKept are facts as they were at a time.
type factsKept struct {
	at     time.Time
	facts  status.Facts
	notes  []string
	asking chan struct{} // closed when those that are being asked for are there; nil if none are
}

// fails tells whether the API server does not answer.
func fails(f status.Facts) bool { return f.API != nil && f.API.Error != "" }

// ask takes in that somebody looks.
func (s *overviews) ask() {
	s.mu.Lock()
	s.last = time.Now()
	s.mu.Unlock()
	select {
	case s.asked <- struct{}{}:
	default:
	}
}

func (s *overviews) askedWithin(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.last.IsZero() && time.Since(s.last) < d
}

// isOld tells whether what was found out is too old to be shown.
func (s *overviews) isOld(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.IsZero() || now.Sub(s.at) > goodFor
}

// Status is what goes on: what failed and was missed in the last 24 hours, and what is due within the next one. It is
// at most a few seconds old. Only who asks when nobody has looked for a while waits until it is found out.
func (c *Cache) Status(ctx context.Context) (*status.Status, error) {
	found, err := c.overview(ctx)
	if err != nil {
		return nil, err
	}
	return found.Status, nil
}

// notes are what could not be found out when it was looked last.
func (s *overviews) notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		return nil
	}
	return s.found.Notes
}

func (c *Cache) overview(ctx context.Context) (*overview.Overview, error) {
	s := &c.status
	old := s.isOld(time.Now())
	s.mu.Lock()
	if !old {
		found, err := s.found, s.err
		s.mu.Unlock()
		s.ask()
		return found, err
	}
	if s.ready == nil {
		s.ready = make(chan struct{})
	}
	ready := s.ready
	s.mu.Unlock()
	s.ask()
	ctx, cancel := context.WithTimeout(ctx, firstWait)
	defer cancel()
	select {
	case <-ready:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.found, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("what goes on has not been found out yet: %w", ctx.Err())
	}
}

// find finds out what goes on. The error is one that is told to viewers, too.
func (s *overviews) find(ctx context.Context, c *Cache) error {
	within, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	var found *overview.Overview
	err := task.Do(c.o.Log, "finding out what goes on", func() (err error) {
		found, err = s.look(within, ctx, c)
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	}
	// It is tried again and again.
	if _, panicked := errors.AsType[*task.PanicError](err); text != "" && text != s.logged && !panicked {
		c.o.Log.Warn("What goes on cannot be found out", "error", err)
	}
	s.logged = text
	s.found, s.err, s.at = found, err, time.Now()
	if s.ready != nil {
		close(s.ready)
		s.ready = nil
	}
	return err
}

// look looks until ctx ends; what it begins beside may go on until life does.
func (s *overviews) look(ctx, life context.Context, c *Cache) (*overview.Overview, error) {
	now := c.o.Clock().UTC()
	o := overview.Options{
		Source: c.o.Source, Server: c.o.Server, DataDir: c.o.DataDir, Journal: c.o.Journal, Namespace: c.o.Namespace,
		Now: now, Since: now.Add(-since), Within: within, Known: &overview.Known{Outputs: &s.outputs}, Log: c.o.Log,
	}
	var notes []string
	o.Known.Facts, notes = s.factsNow(ctx, life, c, o)
	if o.Known.Served = len(c.kinds) > 0; o.Known.Served {
		o.Known.Schedules, o.Known.Unread = c.Schedules(ctx)
	}
	found, err := overview.Of(ctx, o)
	if err != nil {
		return nil, err
	}
	found.Notes = append(notes, found.Notes...)
	return found, nil
}

// factsNow gives the facts that are known, and asks for newer ones beside if they are old.
func (s *overviews) factsNow(ctx, life context.Context, c *Cache, o overview.Options) (status.Facts, []string) {
	s.mu.Lock()
	f := &s.facts
	if f.asking == nil && time.Since(f.at) > factsFor {
		f.asking = make(chan struct{})
		s.tasks.Go(func() { s.askFacts(life, c, o) })
	}
	asking, first := f.asking, f.at.IsZero()
	s.mu.Unlock()
	if first && asking != nil {
		timer := time.NewTimer(factsWait)
		defer timer.Stop()
		select {
		case <-asking:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.at.IsZero() {
		return f.facts, []string{"how the API server, the nodes and the journal are is not known yet: they have not answered"}
	}
	return f.facts, f.notes
}

// askFacts asks for facts.
func (s *overviews) askFacts(ctx context.Context, c *Cache, o overview.Options) {
	var facts status.Facts
	var notes []string
	err := task.Do(c.o.Log, "asking how the parts are", func() (err error) {
		facts, notes, err = overview.FactsOf(ctx, o)
		return err
	})
	s.mu.Lock()
	f := &s.facts
	changed := err == nil && !f.at.IsZero() && fails(f.facts) != fails(facts)
	if err == nil {
		f.at, f.facts, f.notes = time.Now(), facts, notes
	}
	close(f.asking)
	f.asking = nil
	s.mu.Unlock()
	if changed {
		c.changed()
	}
}
