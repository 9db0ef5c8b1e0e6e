// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import "time"

// median is the middle one of sorted durations, or the mean of the two in the middle. There is at least one.
func median(sorted []time.Duration) time.Duration {
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return low + (high-low)/2
}

// quantile is the least of sorted durations that the given part of a hundred does not exceed. There is at least one.
func quantile(sorted []time.Duration, percent int) time.Duration {
	rank := (len(sorted)*percent + 99) / 100 // rounded up: from 1 on
	return sorted[min(max(rank, 1), len(sorted))-1]
}
