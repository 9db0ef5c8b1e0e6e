// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fanout does many independent pieces of work at once, but not too many.
package fanout

import (
	"context"
	"sync"
	"sync/atomic"
)

// Each calls do for every index below n, at most limit (at least one) of them at the same time, and returns their
// errors by index. One failure stops nothing else; once ctx has ended, what was not begun gets its error.
func Each(ctx context.Context, limit, n int, do func(ctx context.Context, i int) error) []error {
	errs := make([]error, n)
	All(limit, n, func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = do(ctx, i)
		}
	})
	return errs
}

// All calls do for every index below n, at most limit (at least one) of them at the same time, in their order. What is
// done one after the other is done in the goroutine of the caller.
func All(limit, n int, do func(i int)) {
	workers := min(max(limit, 1), n)
	if workers == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	wg.Wait()
}
