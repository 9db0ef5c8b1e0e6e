// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/carillon-dev/carillon/internal/kube/fanout"
)

// Every piece is done once, never more than the limit at a time, and one failure stops nothing else.
func TestEach(t *testing.T) {
	for name, test := range map[string]struct {
		limit, n int
		most     int           // at the same time
		took     time.Duration // with pieces of one second
	}{
		"nothing":                {limit: 4, n: 0},
		"one":                    {limit: 4, n: 1, most: 1, took: time.Second},
		"fewer than the limit":   {limit: 4, n: 3, most: 3, took: time.Second},
		"more than the limit":    {limit: 4, n: 10, most: 4, took: 3 * time.Second},
		"a limit of none is one": {limit: 0, n: 3, most: 1, took: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				running, most, done := 0, 0, map[int]int{}
				odd := errors.New("odd")
				start := time.Now()
				errs := fanout.Each(t.Context(), test.limit, test.n, func(_ context.Context, i int) error {
					mu.Lock()
					running++
					most = max(most, running)
					done[i]++
					mu.Unlock()
					<-time.After(time.Second)
					mu.Lock()
					running--
					mu.Unlock()
					if i%2 == 1 {
						return odd
					}
					return nil
				})
				if len(errs) != test.n || len(done) != test.n || most != test.most || time.Since(start) != test.took {
					t.Errorf("%d errors, %d done, %d at a time, took %v", len(errs), len(done), most, time.Since(start))
				}
				for i, err := range errs {
					if done[i] != 1 || (err != nil) != (i%2 == 1) {
						t.Errorf("piece %d: done %d times, error %v", i, done[i], err)
					}
				}
			})
		})
	}
}

// What was not begun when the context ended reports that.
func TestEachStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	errs := fanout.Each(ctx, 1, 3, func(context.Context, int) error { n++; stop(); return nil })
	if n != 1 || errs[0] != nil || !errors.Is(errs[1], context.Canceled) || !errors.Is(errs[2], context.Canceled) {
		t.Errorf("%d done, errors %v", n, errs)
	}
	if errs := fanout.Each(ctx, 1, 1, func(context.Context, int) error { return nil }); !errors.Is(errs[0], context.Canceled) {
		t.Errorf("got %v", errs)
	}
}
