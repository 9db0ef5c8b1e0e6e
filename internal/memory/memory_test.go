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

// The frequency of collections is set unless the user chose one, which the runtime has taken from the environment.
func TestSetGCPercent(t *testing.T) {
	for chosen, want := range map[string]int{"": 50, "70": 100} {
		t.Setenv("GOGC", chosen)
		former := debug.SetGCPercent(100)
		SetGCPercent(50)
		if got := debug.SetGCPercent(former); got != want {
			t.Errorf("GOGC=%q: the percentage is %d, want %d", chosen, got, want)
		}
	}
}

// The start is let settle before memory is given back, which goes on until the context ends.
func TestGiveBack(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  int
	}{
		"while it starts": {settleTime - time.Second, 0},
		"at rest":         {settleTime + time.Second, 1},
		"later":           {settleTime + 3*period, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				settled, ended := 0, make(chan struct{})
				go func() { GiveBack(ctx, func() { settled++ }); close(ended) }()
				<-time.After(c.after)
				synctest.Wait()
				if settled != c.want {
					t.Errorf("settled %d times, want %d", settled, c.want)
				}
				cancel()
				<-ended
			})
		})
	}
}
