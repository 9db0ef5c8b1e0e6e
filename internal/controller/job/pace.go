// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// pace spaces the syncs of one Job (OPT-04). The first event after a quiet time
// is answered at once; while syncs follow one another there is at most one per
// window, and always one after the last event. The window grows with the Job:
// a sync looks at all of its pods, so a large one is looked at less often.
//
// All methods may be called by several goroutines at once.
type pace struct {
	clock clock.PassiveClock
	// least and most bound the window; perPod is what each pod adds to least.
	least, perPod, most time.Duration

	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

func newPace(c clock.PassiveClock, least, perPod, most time.Duration) *pace {
	return &pace{clock: c, least: least, perPod: perPod, most: most, last: map[types.NamespacedName]time.Time{}}
}

// began notes that a sync of the Job begins.
func (p *pace) began(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[key] = p.clock.Now()
}

// forget drops a Job that is gone or needs no more syncs.
func (p *pace) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}

// window is the least time between two syncs of a Job with this many pods.
func (p *pace) window(pods int) time.Duration {
	return min(p.least+time.Duration(pods)*p.perPod, p.most)
}

// delay is how long a sync that is wanted now has to wait; 0: not at all. A clock
// that was set back delays by one window at most.
func (p *pace) delay(key types.NamespacedName, pods int) time.Duration {
	p.mu.Lock()
	last, ok := p.last[key]
	p.mu.Unlock()
	if !ok {
		return 0
	}
	window := p.window(pods)
	return min(max(0, window-p.clock.Since(last)), window)
}
