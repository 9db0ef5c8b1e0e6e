// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// A server, or something before it, whose watches end at once is not asked without a pause.
func TestShortWatches(t *testing.T) {
	inWorld(t, []string{backup, report}, func(t *testing.T, w *world) {
		w.server.short = true
		w.begin()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.server.mu.Lock()
		defer w.server.mu.Unlock()
		for kind, asked := range w.server.lists {
			if asked > 60 {
				t.Errorf("%s: %d requests in a minute", kind, asked)
			}
		}
	})
}
