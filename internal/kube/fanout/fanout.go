// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fanout does many independent pieces of work at once, but not too many.
package fanout

import (
	"context"
	"sync"
)

// Each calls do for every index below n, at most limit (at least one) of them at the same time, and returns their
// errors by index. One failure stops nothing else; once ctx has ended, what was not begun gets its error.
func Each(ctx context.Context, limit, n int, do func(ctx context.Context, i int) error) []error {
	errs := make([]error, n)
	if n == 1 {
		if errs[0] = ctx.Err(); errs[0] == nil {
			errs[0] = do(ctx, 0)
		}
		return errs
	}
	work := make(chan int)
	var wg sync.WaitGroup
	for range min(max(limit, 1), n) {
		wg.Go(func() {
			for i := range work {
				if errs[i] = ctx.Err(); errs[i] == nil {
					errs[i] = do(ctx, i)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	return errs
}
