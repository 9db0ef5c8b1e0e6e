// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Timers stand in for wallclock.Timers: they hold what a controller sets, and a test fires it. The zero value is ready
// for use.
type Timers struct {
	mu sync.Mutex
	at map[types.NamespacedName]time.Time
}

// Wake sets the instant of key; an earlier one stays.
func (t *Timers) Wake(key types.NamespacedName, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil {
		t.at = map[types.NamespacedName]time.Time{}
	}
	if set, ok := t.at[key]; !ok || at.Before(set) {
		t.at[key] = at.Round(0)
	}
}

// Cancel removes the key.
func (t *Timers) Cancel(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.at, key)
}

// Next tells what key is set to.
func (t *Timers) Next(key types.NamespacedName) (at time.Time, set bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, set = t.at[key]
	return at, set
}

// Due removes the key if it is due, and reports whether it was.
func (t *Timers) Due(key types.NamespacedName, now time.Time) bool {
	at, set := t.Next(key)
	if !set || at.After(now) {
		return false
	}
	t.Cancel(key)
	return true
}

// Len tells how many keys are set.
func (t *Timers) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.at)
}

// processTimers are those of a process, watched by the agenda.
type processTimers struct {
	timers *Timers
	keys   func() []types.NamespacedName
	fire   func(types.NamespacedName)
	// watched is what the agenda waits for.
	watched map[types.NamespacedName]time.Time
}

// Wake makes the process call fire with each of the keys that becomes due. keys are all that may be set.
func (p *Process) Wake(timers *Timers, keys func() []types.NamespacedName, fire func(types.NamespacedName)) {
	p.timers = append(p.timers, processTimers{timers, keys, fire, map[types.NamespacedName]time.Time{}})
}

// watchTimers looks what the timers are set to. It is called after everything that may set one.
func (p *Process) watchTimers() {
	for i := range p.timers {
		t := &p.timers[i]
		for _, key := range t.keys() {
			at, set := t.timers.Next(key)
			if !set {
				delete(t.watched, key)
				continue
			}
			if was, known := t.watched[key]; known && was.Equal(at) {
				continue
			}
			t.watched[key] = at
			p.watchTimer(t, key, at, at.Sub(p.Clock.Now()))
		}
	}
}

// watchTimer waits until a timer is due, and then looks again: it may have been set to another time, and the clock may
// have been set.
func (p *Process) watchTimer(t *processTimers, key types.NamespacedName, at time.Time, in time.Duration) {
	p.at(p.World.now+max(0, in), func() {
		if next, known := t.watched[key]; !known || !next.Equal(at) {
			return
		}
		left := at.Sub(p.Clock.Now())
		if left > 0 {
			p.watchTimer(t, key, at, left)
			return
		}
		delete(t.watched, key)
		if t.timers.Due(key, p.Clock.Now()) {
			t.fire(key)
		}
		p.watchTimers()
	})
}

// recheckTimers is what timers do when the clock was set: they find out within ten seconds.
func (p *Process) recheckTimers() {
	for i := range p.timers {
		clear(p.timers[i].watched)
	}
	p.at(p.World.now+p.World.Dice.Between(0, 10*time.Second, "recheck", Key(p.Name), uint64(p.World.now)), p.watchTimers)
}
