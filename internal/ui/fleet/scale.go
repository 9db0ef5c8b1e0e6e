// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"time"
)

// ceiling is the least of 1, 2, 5, 10, 20, 50, … that is not less than n.
func ceiling(n float64) float64 {
	if n <= 1 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(n)))
	for _, m := range []float64{1, 2, 5} {
		if n <= m*power {
			return m * power
		}
	}
	return 10 * power
}

// durationCeilings are where axes of durations end.
var durationCeilings = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// durationCeiling is where an axis ends that has room for d.
func durationCeiling(d time.Duration) time.Duration {
	for _, c := range durationCeilings {
		if d <= c {
			return c
		}
	}
	days := float64(d) / float64(24*time.Hour)
	return time.Duration(ceiling(days) * float64(24*time.Hour))
}

// rateFloor is where an axis of success rates begins, so that what differs is seen.
func rateFloor(least float64) float64 {
	for _, floor := range []float64{0.95, 0.9, 0.8, 0.5} {
		if least > floor {
			return floor
		}
	}
	return 0
}

// tenth rounds for pictures, of which nobody sees more.
func tenth(x float64) float64 { return math.Round(x*10) / 10 }
