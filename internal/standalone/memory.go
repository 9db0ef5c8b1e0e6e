// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// startPercent makes the garbage collector run half as often as Go's default during the start, of which it
	// otherwise takes a fifth.
	startPercent = 200
	// restPercent makes it run twice as often as Go's default afterwards: what is alive at rest, about 100 MB, changes
	// slowly.
	restPercent = 50
	// settleTime is how long after the start its garbage is given back.
	settleTime = 10 * time.Second
	// trimPeriod is how often garbage of bursts is given back, when there is more than trimLeast bytes of it.
	trimPeriod = 2 * time.Minute
	trimLeast  = 32 << 20
)

// setGCPercent sets how often the garbage collector runs, unless the user did so with GOGC.
func setGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// trimMemory gives memory that a start or a burst left unused back to the machine, until ctx ends. The runtime does so
// by itself over many minutes.
func trimMemory(ctx context.Context) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	free := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	for least := uint64(0); ; least = trimLeast {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if least == 0 {
			setGCPercent(restPercent)
		}
		if metrics.Read(free); free[0].Value.Uint64()+free[1].Value.Uint64() >= least {
			debug.FreeOSMemory()
		}
		timer.Reset(trimPeriod)
	}
}
