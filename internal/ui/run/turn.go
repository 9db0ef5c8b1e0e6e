// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"time"
)

// searching has a value for each search that goes on: searches take all that a processor gives, and what Carillon
// starts needs it, too.
var searching = make(chan struct{}, 2)

// waitForTurn is how long a search waits for others to end.
const waitForTurn = 5 * time.Second

// enter waits until a search may begin; false if others go on for too long, or ctx ends. leave must be called after it.
func enter(ctx context.Context) (leave func(), ok bool) {
	timer := time.NewTimer(waitForTurn)
	defer timer.Stop()
	select {
	case searching <- struct{}{}:
		return func() { <-searching }, true
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, false
}
