// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"sync"
	"time"
)

const (
	// recentFor is how long a text counts as known after it was last seen: pages that lie open ask again and again.
	recentFor = 10 * time.Minute
	// mostRecent is how many are known; with one more all are forgotten.
	mostRecent = 100
)

// recent are texts that were seen a while ago at most. Its zero value knows none. It may be used by several goroutines.
type recent struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// isNew takes in a text, and tells whether it is not known.
func (r *recent) isNew(text string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.seen[text]
	if r.seen == nil || !known && len(r.seen) >= mostRecent {
		r.seen = map[string]time.Time{}
	}
	r.seen[text] = now
	return !known || now.Sub(last) > recentFor
}
