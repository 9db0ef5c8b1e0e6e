// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package loadgate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/carillon-dev/carillon/internal/kube/loadgate"
)

// Work that can wait passes when the last urgent piece is done, and after its limit even when it is not.
func TestWait(t *testing.T) {
	for name, test := range map[string]struct {
		urgent []time.Duration // when each piece ends
		most   time.Duration
		want   time.Duration
	}{
		"nothing urgent":          {most: time.Second, want: 0},
		"until the last one ends": {urgent: []time.Duration{time.Second, 3 * time.Second}, most: time.Minute, want: 3 * time.Second},
		"not longer than allowed": {urgent: []time.Duration{time.Hour}, most: time.Second, want: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := loadgate.New(clock.RealClock{})
				g.BeginUrgent(len(test.urgent))
				for _, d := range test.urgent {
					time.AfterFunc(d, g.EndUrgent)
				}
				start := time.Now()
				g.WaitIdle(context.Background(), test.most)
				if got := time.Since(start); got != test.want {
					t.Errorf("waited %v, want %v", got, test.want)
				}
				<-time.After(2 * time.Hour)
				if g.Busy() {
					t.Error("all urgent work has ended")
				}
			})
		})
	}
}

// A server that is slow to answer urgent calls is left alone for a moment after each of them; one that is quick is not.
func TestSlowServer(t *testing.T) {
	for name, test := range map[string]struct{ takes, want time.Duration }{
		"quick":     {takes: 5 * time.Millisecond, want: 5 * time.Millisecond},
		"slow":      {takes: 100 * time.Millisecond, want: 350 * time.Millisecond},
		"very slow": {takes: time.Hour, want: time.Minute}, // and nobody waits longer than that
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := loadgate.New(clock.RealClock{})
				end := g.BeginCall()
				time.AfterFunc(test.takes, end)
				start := time.Now()
				g.WaitIdle(context.Background(), time.Minute)
				if got := time.Since(start); got != test.want {
					t.Errorf("waited %v, want %v", got, test.want)
				}
				<-time.After(2 * time.Hour)
				if g.Busy() {
					t.Error("it was long ago")
				}
			})
		})
	}
}

// A controller without a gate, and one that leaves more often than it entered, work on.
func TestGateIsForgiving(t *testing.T) {
	var none *loadgate.Gate
	none.BeginUrgent(1)
	none.WaitIdle(t.Context(), time.Hour)
	none.EndUrgent()
	g := loadgate.New(clock.RealClock{})
	g.EndUrgent()
	g.BeginUrgent(1)
	if !g.Busy() {
		t.Error("one piece is under way")
	}
	g.EndUrgent()
	if g.Busy() || none.Busy() {
		t.Error("nothing is under way")
	}
}
