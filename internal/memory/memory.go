// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory keeps a process small that works in bursts, with hours of rest between them. Go's garbage collector
// lets garbage grow as large as what is alive, and returns pages to the machine over many minutes, or never.
package memory

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// settleTime is how long after the start its garbage is given back.
	settleTime = 10 * time.Second
	// period is how often garbage of bursts is given back, when there is more than least bytes of it.
	period = 2 * time.Minute
	least  = 32 << 20
)

// SetGCPercent sets how often the garbage collector runs, unless the user did so with GOGC.
func SetGCPercent(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// GiveBack gives memory that a start or a burst left unused back to the machine, from soon after the call, which is
// made when the start is over, until ctx ends. settled, if not nil, is called when it begins.
func GiveBack(ctx context.Context, settled func()) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	free := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if first && settled != nil {
			settled()
		}
		if metrics.Read(free); first || free[0].Value.Uint64()+free[1].Value.Uint64() >= least {
			debug.FreeOSMemory()
		}
		timer.Reset(period)
	}
}
