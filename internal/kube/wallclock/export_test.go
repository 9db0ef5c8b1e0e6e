// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package wallclock

// Len tells how many keys are set.
func (t *Timers) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue)
}
