// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package duration_test

import (
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
)

func TestShort(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"less than 1s": 999 * time.Millisecond,
		"1s":           time.Second,
		"59s":          time.Minute - 1,
		"1m":           time.Minute,
		"25m10s":       25*time.Minute + 10*time.Second,
		"1h":           time.Hour + 59*time.Second,
		"47h59m":       48*time.Hour - 1,
		"2 days":       48 * time.Hour,
		"3 days":       60 * time.Hour,
		"730 days":     730 * 24 * time.Hour,
		"2 years":      731 * 24 * time.Hour,
	} {
		if got := duration.Short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestExact(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s":     0,
		"1.5s":   1500 * time.Millisecond,
		"45s":    45 * time.Second,
		"10m":    10 * time.Minute,
		"1m30s":  90 * time.Second,
		"1h":     time.Hour,
		"1h0m5s": time.Hour + 5*time.Second,
		"1h30m":  90 * time.Minute,
		"24h":    24 * time.Hour,
		"-10m":   -10 * time.Minute,
		"20h10m": 20*time.Hour + 10*time.Minute,
	} {
		if got := duration.Exact(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestFromNow(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"now":            now.Add(999 * time.Millisecond),
		"in 25s":         now.Add(25 * time.Second),
		"in 1m59s":       now.Add(time.Minute + 59*time.Second),
		"in 10m":         now.Add(10*time.Minute + 59*time.Second),
		"34s ago":        now.Add(-34 * time.Second),
		"3h20m ago":      now.Add(-3*time.Hour - 20*time.Minute),
		"in 40 days":     now.AddDate(0, 0, 40),
		"in 7973 years":  time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
		"2025 years ago": time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got := duration.FromNow(at, now); got != want {
			t.Errorf("%v is %q, want %q", at, got, want)
		}
	}
}
