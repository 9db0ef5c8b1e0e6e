// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"strconv"
	"time"
)

// graceAnnotation is where the kubelet tells the runtime a Pod's
// terminationGracePeriodSeconds, on each of its containers.
const graceAnnotation = "io.kubernetes.pod.terminationGracePeriod"

// defaultGrace is that of a Pod which names none.
const defaultGrace = 30 * time.Second

// gracePeriod is the grace period that a Pod asked for, as its containers'
// annotations have it, and most at most.
func gracePeriod(annotations map[string]string, most time.Duration) time.Duration {
	text, ok := annotations[graceAnnotation]
	if !ok {
		return min(defaultGrace, most)
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return min(defaultGrace, most)
	case seconds <= 0:
		return 0
	case seconds >= int64(most/time.Second):
		return most
	}
	return time.Duration(seconds) * time.Second
}

// Drain is StopAll with each Pod's own grace period, most at most.
func (r *Runtime) Drain(ctx context.Context, most time.Duration) error {
	return r.stopAll(ctx, func(c *container) time.Duration { return gracePeriod(c.config.GetAnnotations(), most) })
}

// DrainEstimate says what a Drain now has to wait for: how many Pods run something,
// and the longest of their grace periods.
func (r *Runtime) DrainEstimate(most time.Duration) (pods int, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for _, c := range r.containers {
		if c.state != stateRunning {
			continue
		}
		seen[c.rec.Sandbox] = true
		longest = max(longest, gracePeriod(c.config.GetAnnotations(), most))
	}
	return len(seen), longest
}
