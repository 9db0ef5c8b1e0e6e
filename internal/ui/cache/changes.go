// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/plan/ordering"
)

const (
	// together is how long after a change others are waited for, which mostly come at once.
	together = 50 * time.Millisecond
	// tellEvery is how often viewers are told of changes at most, and beatEvery how often at least, so that ages move.
	tellEvery, beatEvery = time.Second, 15 * time.Second
	// restFor is how many times as long as it takes to find out what goes on there is rest after it: a page must not load
	// what it shows.
	restFor = 4
	// lookedFor is how long after a question somebody counts as looking.
	lookedFor = 30 * time.Second
	// lookAgain is how often a journal is looked at for news that no Job tells.
	lookAgain = time.Second
)

// viewers are those who want to be told of changes.
type viewers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool
}

// add gives a channel for one more, which is closed when ctx ends.
func (v *viewers) add(ctx context.Context) <-chan struct{} {
	one := make(chan struct{}, 1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[chan struct{}]bool{}
	}
	v.all[one] = true
	context.AfterFunc(ctx, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.all, one)
		close(one)
	})
	return one
}

// tell tells all that something has changed. Who has not taken the last word yet needs no other.
func (v *viewers) tell() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for one := range v.all {
		select {
		case one <- struct{}{}:
		default:
		}
	}
}

func (v *viewers) any() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.all) > 0
}

// Changes gives a channel that has a value when something has changed since the last one was taken, at most one a
// second, and one every 15 seconds in any case; it is closed when ctx ends. Then what the other methods give has the
// change.
func (c *Cache) Changes(ctx context.Context) <-chan struct{} {
	changes := c.viewers.add(ctx)
	c.status.ask()
	return changes
}

// keepUp takes in news, finds out what goes on while somebody looks, and tells viewers, until ctx ends.
func (c *Cache) keepUp(ctx context.Context) {
	var pace pace
	stamp, remembers := lookup.StampOf(c.o.Source)
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer c.status.tasks.Wait()
	for ctx.Err() == nil {
		now := time.Now()
		looked := c.viewers.any() || c.status.askedWithin(lookedFor)
		timer.Reset(pace.wait(now, looked, remembers))
		select {
		case <-ctx.Done():
			return
		case <-c.news:
			pace.changed(time.Now())
			continue
		case <-c.status.asked:
			if c.status.isOld(time.Now()) {
				pace.due = time.Now()
			}
			continue
		case <-timer.C:
		}
		now = time.Now()
		if remembers && !now.Before(pace.looked.Add(lookAgain)) {
			pace.looked = now
			if is, _ := lookup.StampOf(c.o.Source); is != stamp {
				stamp = is
				pace.changed(now)
			}
		}
		if !pace.isDue(now) {
			continue
		}
		c.schedules.all()
		var err error
		if looked {
			err = c.status.find(ctx, c)
		}
		c.viewers.tell()
		if pace.told(now, time.Now()); err != nil {
			pace.due = time.Now().Add(late)
		}
	}
}

// pace says when viewers are told next.
type pace struct {
	// due is when they are told of a change; zero if there is none.
	due time.Time
	// last is when they were told, and next when they may be told again at the earliest.
	last, next time.Time
	// looked is when the journal was looked at.
	looked time.Time
}

// changed takes in that something has changed.
func (p *pace) changed(now time.Time) {
	if p.due.IsZero() {
		p.due = ordering.Later(now.Add(together), p.next)
	}
}

// isDue tells whether it is time.
func (p *pace) isDue(now time.Time) bool {
	return !p.due.IsZero() && !now.Before(p.due) || !now.Before(p.last.Add(beatEvery))
}

// wait is how long to wait for what is to be done next. looked: somebody looks; remembers: there is a journal to look
// at.
func (p *pace) wait(now time.Time, looked, remembers bool) time.Duration {
	next := p.last.Add(beatEvery)
	if !p.due.IsZero() && p.due.Before(next) {
		next = p.due
	}
	if again := p.looked.Add(lookAgain); looked && remembers && again.Before(next) {
		next = again
	}
	return max(0, next.Sub(now))
}

// told takes in that they were told, and what took from began to ended.
func (p *pace) told(began, ended time.Time) {
	p.due, p.last = time.Time{}, ended
	p.next = ordering.Later(began.Add(tellEvery), ended.Add(restFor*ended.Sub(began)))
}
