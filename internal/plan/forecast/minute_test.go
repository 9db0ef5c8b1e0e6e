// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/forecast"
)

// Those who start in a minute have together the starts that the forecast has counted in it, each within it.
func TestStartingAt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		texts := fleets(r)
		texts = append(texts, cronJob("all", "*/5 * * * *", ""), simpleTimetable("often", "*/20 * * * * *", ", concurrency: {policy: Allow, limit: 50}"),
			simpleTimetable("jittered", "0 * * * *", ", jitter: 15m"))
		made := forecast.Of(read(t, texts...), day(froms.Draw(r, "from")))
		minutes := rapid.SliceOfN(rapid.IntRange(0, len(made.Starts)-1), 1, 20).Draw(r, "minutes")
		for _, n := range minutes {
			at := made.From.Add(time.Duration(n) * time.Minute)
			sum := int64(0)
			for i, s := range made.StartingAt(at) {
				sum += int64(len(s.Starts))
				if s.Object == nil || s.Schedule == "" {
					r.Fatalf("%d is nobody", i)
				}
				for _, start := range s.Starts {
					if start.Before(at) || !start.Before(at.Add(time.Minute)) {
						r.Fatalf("%s is not in the minute %s", start, at)
					}
				}
			}
			if sum != made.Starts[n] {
				r.Fatalf("at %s %d start, and %d are counted", at, sum, made.Starts[n])
			}
		}
	})
}

func TestStartingOutside(t *testing.T) {
	made := forecast.Of(read(t, cronJob("a", "* * * * *", "")), day(from))
	for _, at := range []time.Time{{}, from.Add(-time.Minute), made.Until()} {
		if got := made.StartingAt(at); got != nil {
			t.Errorf("%s has %v", at, got)
		}
	}
	if got := made.StartingAt(from); len(got) != 1 || fmt.Sprint(got[0].Starts) != fmt.Sprint([]time.Time{from}) {
		t.Errorf("got %v", got)
	}
	if got := new(forecast.Forecast).StartingAt(from); got != nil {
		t.Errorf("got %v", got)
	}
}
