// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseDurations reads how long runs take: "10m", or quantiles such as "p50=5m,p99=1h".
func ParseDurations(text string) (Durations, error) {
	if !strings.Contains(text, "=") {
		d, err := ParseDuration(text)
		if err != nil {
			return Durations{}, err
		}
		if d < shortest || d > longest {
			return Durations{}, fmt.Errorf("%q: a run takes a second at least, and ten years at most", text)
		}
		return Constant(d), nil
	}
	var quantiles []Quantile
	for part := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		percent, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		if !found || !strings.HasPrefix(name, "p") || err != nil {
			return Durations{}, fmt.Errorf("%q is no quantile: write p50=5m,p99=1h for runs of which half take up to 5 minutes and 1%% more than an hour", part)
		}
		d, err := ParseDuration(value)
		if err != nil {
			return Durations{}, err
		}
		quantiles = append(quantiles, Quantile{percent, d})
	}
	return fit(quantiles)
}

// ParseDuration reads a duration as people write it: "90s", "1h30m", "2d".
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: write 90s, 10m, 1h30m or 2d", text)
	}
	return d, nil
}

// ParseProbability reads a probability: "5%" or "0.05".
func ParseProbability(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	p, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("%q is no probability: write 5%% or 0.05, from 0%% to 100%%", text)
	}
	return p, nil
}

// String says the durations in words: "10m0s", or "p50=5m0s, p99=1h0m0s (log-normal)".
func (d Durations) String() string {
	if d.dev == 0 {
		return d.At(50).String()
	}
	var parts []string
	for _, q := range d.quantiles {
		parts = append(parts, fmt.Sprintf("p%g=%s", q.Percent, d.At(q.Percent)))
	}
	return strings.Join(parts, ", ") + " (log-normal)"
}
