// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// Below the reserve the disk is low; below half of it all is paused, until the
// whole reserve is free again.
func TestJudge(t *testing.T) {
	const reserve = 100
	for name, tc := range map[string]struct {
		before    diskState
		available uint64
		want      diskState
	}{
		"enough":             {diskRoomy, 100, diskRoomy},
		"less":               {diskRoomy, 99, diskLow},
		"half":               {diskLow, 50, diskLow},
		"less than half":     {diskLow, 49, diskCritical},
		"all at once":        {diskRoomy, 0, diskCritical},
		"some came back":     {diskCritical, 99, diskCritical},
		"enough came back":   {diskCritical, 100, diskRoomy},
		"low, and enough":    {diskLow, 100, diskRoomy},
		"low, and stays low": {diskLow, 60, diskLow},
	} {
		if got := nextDiskState(tc.before, tc.available, reserve); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if got := nextDiskState(diskRoomy, 0, 0); got != diskRoomy {
		t.Errorf("without a reserve: %v", got)
	}
}

// The guard looks before a writer at full speed can have taken what is between
// the free space and half of the reserve, and no more often than it must.
func TestNextLook(t *testing.T) {
	const reserve = 512 << 20
	for available, want := range map[uint64]time.Duration{
		0:                        minCheckInterval,
		reserve:                  31250 * time.Microsecond,
		reserve/2 + fastestWrite: maxCheckInterval,
		1 << 50:                  maxCheckInterval,
	} {
		if got := checkInterval(available, reserve); got != want {
			t.Errorf("%d: %v, want %v", available, got, want)
		}
	}
}

// A disk that fills and empties: containers are paused and go on, the change is
// told once, and the end of the guard leaves nothing paused.
func TestDiskGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reserve = 512 << 20
		var free atomic.Uint64
		var broken atomic.Bool
		free.Store(10 << 30)
		var said []string
		paused := false
		g := &diskGuard{
			reserve: reserve,
			available: func() (uint64, error) {
				if broken.Load() {
					return 0, errors.New("no answer")
				}
				return free.Load(), nil
			},
			running: func() bool { return true },
			pause: func() {
				if !paused {
					said = append(said, "pause")
				}
				paused = true
			},
			resume:     func() { paused = false; said = append(said, "resume") },
			onPressure: func(low bool, _ uint64) { said = append(said, fmt.Sprint("low ", low)) },
			log:        logr.Discard(),
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); g.run(ctx) }()
		set := func(to uint64) {
			free.Store(to)
			time.Sleep(2 * maxCheckInterval)
			synctest.Wait()
		}
		set(9 << 30)
		set(reserve - 1)
		set(reserve/2 - 1)
		broken.Store(true) // what cannot be measured changes nothing
		set(0)
		broken.Store(false)
		set(reserve - 1)
		set(reserve)
		set(0)
		cancel()
		<-done
		want := []string{"low true", "pause", "resume", "low false", "pause", "low true", "resume"}
		if !slices.Equal(said, want) {
			t.Errorf("it did %q, want %q", said, want)
		}
	})
}
