// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"time"
)

// Durations are how long runs take: always the same, or drawn from a log-normal distribution, which has the form that
// most batch work shows: a typical duration, and a long tail above it. The zero Durations take a second.
type Durations struct {
	constant  time.Duration
	mean, dev float64 // of the logarithm, in seconds; dev is 0 for a constant
	quantiles []Quantile
}

// Quantile says that the share Percent of all runs take no longer than Duration.
type Quantile struct {
	Percent  float64
	Duration time.Duration
}

// shortest and longest are what a run takes at least and at most: children tell their times in seconds, and a tail that
// has no end would outlast every calendar.
const (
	shortest = time.Second
	longest  = 10 * 365 * 24 * time.Hour
)

// Constant are durations that are always the same, in whole seconds, and at least one.
func Constant(d time.Duration) Durations {
	return Durations{constant: min(longest, max(shortest, d.Round(time.Second)))}
}

// fit gives the log-normal durations with these quantiles, of which one is a constant. Two are met exactly; of more
// than two it is the line of least squares through the logarithms of the durations over the quantiles of the normal
// distribution. The error says which quantile contradicts another one, or cannot be.
func fit(quantiles []Quantile) (Durations, error) {
	quantiles = slices.Clone(quantiles)
	slices.SortFunc(quantiles, func(a, b Quantile) int {
		switch {
		case a.Percent < b.Percent:
			return -1
		case a.Percent > b.Percent:
			return 1
		}
		return 0
	})
	for i, q := range quantiles {
		switch {
		case !(q.Percent >= 0.1 && q.Percent <= 99.9):
			return Durations{}, fmt.Errorf("p%g: a quantile lies from p0.1 to p99.9", q.Percent)
		case q.Duration < shortest:
			return Durations{}, fmt.Errorf("p%g=%s: a run takes a second at least", q.Percent, q.Duration)
		case q.Duration > longest:
			return Durations{}, fmt.Errorf("p%g=%s: a run takes ten years at most", q.Percent, q.Duration)
		case i > 0 && q.Percent == quantiles[i-1].Percent:
			return Durations{}, fmt.Errorf("p%g is given twice", q.Percent)
		case i > 0 && q.Duration < quantiles[i-1].Duration:
			return Durations{}, fmt.Errorf("p%g=%s is less than p%g=%s", q.Percent, q.Duration, quantiles[i-1].Percent, quantiles[i-1].Duration)
		}
	}
	switch len(quantiles) {
	case 0:
		return Durations{}, fmt.Errorf("no quantile is given")
	case 1:
		return Constant(quantiles[0].Duration), nil
	}
	if quantiles[0].Duration == quantiles[len(quantiles)-1].Duration {
		return Constant(quantiles[0].Duration), nil
	}
	n, sumZ, sumD, sumZZ, sumZD := float64(len(quantiles)), 0.0, 0.0, 0.0, 0.0
	for _, q := range quantiles {
		z, d := deviations(q.Percent/100), ln(q.Duration.Seconds())
		sumZ, sumD = sumZ+z, sumD+d
		sumZZ, sumZD = sumZZ+float64(z*z), sumZD+float64(z*d)
	}
	dev := (float64(n*sumZD) - float64(sumZ*sumD)) / (float64(n*sumZZ) - float64(sumZ*sumZ))
	return Durations{mean: (sumD - float64(dev*sumZ)) / n, dev: dev, quantiles: quantiles}, nil
}

// At is the duration that the share percent of all runs does not exceed.
func (d Durations) At(percent float64) time.Duration {
	if d.dev == 0 {
		return max(shortest, d.constant)
	}
	return d.of(deviations(percent / 100))
}

// of is the duration that many deviations from the middle.
func (d Durations) of(deviations float64) time.Duration {
	seconds := exp(d.mean + float64(d.dev*deviations))
	if seconds >= longest.Seconds() {
		return longest
	}
	return max(shortest, time.Duration(seconds+0.5)*time.Second)
}

// draw gives one duration.
func (d Durations) draw(s *splitMix64) time.Duration {
	if d.dev == 0 {
		return max(shortest, d.constant)
	}
	return d.of(s.normal())
}
