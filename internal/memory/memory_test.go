// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// Once the start has settled the garbage collector runs more often, unless the user chose how often; and that is over
// when the process ends.
func TestGiveBack(t *testing.T) {
	for name, c := range map[string]struct {
		chosen string
		after  time.Duration
		want   int
	}{
		"while it starts":        {"", settleTime - time.Second, 100},
		"at rest":                {"", settleTime + time.Second, restPercent},
		"later":                  {"", settleTime + 3*period, restPercent},
		"with a choice of users": {"70", settleTime + time.Second, 100}, // the runtime has taken it from the environment
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", c.chosen)
			former := debug.SetGCPercent(100)
			defer debug.SetGCPercent(former)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { GiveBack(ctx); close(ended) }()
				time.Sleep(c.after)
				synctest.Wait()
				if got := debug.SetGCPercent(100); got != c.want {
					t.Errorf("the percentage is %d, want %d", got, c.want)
				}
				cancel()
				<-ended
			})
		})
	}
}
