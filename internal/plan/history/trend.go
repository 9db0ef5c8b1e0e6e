// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// Trend says that runs take longer, or less long, than they did. Before and Now are what its line gives for the oldest
// and the newest run, and Span is the time between these.
type Trend struct {
	Before, Now time.Duration
	Span        time.Duration
}

// Change is by how much runs take longer now, as a part of what they took before: 0.35 is 35 % longer, -0.5 half as
// long.
func (t *Trend) Change() float64 { return float64(t.Now)/float64(t.Before) - 1 }

// Words say it in a part of a sentence: "35 % longer than 4 weeks ago: about 40s then, 54s now".
func (t *Trend) Words() string {
	change, word := t.Change(), "longer"
	if change < 0 {
		change, word = -change, "shorter"
	}
	by := fmt.Sprintf("%.0f %% %s than", change*100, word)
	if t.Change() >= 1 {
		by = fmt.Sprintf("%.1f times as long as", 1+t.Change())
	}
	return fmt.Sprintf("%s %s ago: about %s then, %s now", by, spanText(t.Span), duration.Short(t.Before.Round(time.Second)), duration.Short(t.Now.Round(time.Second)))
}

// spanText writes a long span in the largest unit that says enough: "4 weeks", "10 days", "5h".
func spanText(span time.Duration) string {
	const day, week = 24 * time.Hour, 7 * 24 * time.Hour
	switch {
	case span >= 3*week-day && span < 13*week:
		return quantity.Count(int((span+week/2)/week), "week")
	case span >= 13*week && span < 104*week:
		return quantity.Count(int((span+15*day)/(30*day)), "month")
	}
	return duration.Short(span)
}

// When a trend is told: of so many runs at least, if it changes by so much, and if by chance alone it would show at
// most once in a hundred times (two-sided).
const (
	leastRuns   = 12
	leastChange = 0.10
	leastShift  = time.Second // times have full seconds in the API
	significant = 2.576
)

// mostPoints is how many points a trend is made from: it takes all pairs of them.
const mostPoints = 300

// trendOf finds the trend of durations in order of time: by the test of Mann and Kendall whether there is one, by the
// estimate of Theil and Sen how steep it is. Neither minds single runs that took far longer or shorter than others.
func trendOf(points []point, now time.Time) *Trend {
	if len(points) < leastRuns {
		return nil
	}
	first := points[0].at
	x, y := thinned(points, first)
	if math.Abs(kendall(x, y)) < significant {
		return nil
	}
	slope := steepness(x, y)
	level := make([]float64, len(x))
	for i := range x {
		level[i] = y[i] - slope*x[i]
	}
	slices.Sort(level)
	begin := level[(len(level)-1)/2]
	begin += (level[len(level)/2] - begin) / 2
	end := begin + slope*x[len(x)-1]
	t := &Trend{Before: seconds(begin), Now: seconds(end), Span: now.Sub(first)}
	if t.Before <= 0 || t.Now <= 0 || max(t.Now-t.Before, t.Before-t.Now) < leastShift || math.Abs(t.Change()) < leastChange {
		return nil
	}
	return t
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// thinned gives points as seconds since the first one and seconds that they took: of very many the middle ones of
// groups of neighbours.
func thinned(points []point, first time.Time) (x, y []float64) {
	groups := min(len(points), mostPoints)
	for g := range groups {
		group := points[g*len(points)/groups : (g+1)*len(points)/groups]
		took := make([]time.Duration, 0, len(group))
		for _, p := range group {
			took = append(took, p.took)
		}
		slices.Sort(took)
		x = append(x, group[len(group)/2].at.Sub(first).Seconds())
		y = append(y, median(took).Seconds())
	}
	return x, y
}

// kendall is the statistic of Mann and Kendall, with what equal values take away from its variance: about normally
// distributed if there is no trend.
func kendall(x, y []float64) float64 {
	score := 0
	for i := range y {
		for j := range i {
			switch {
			case x[i] == x[j] || y[i] == y[j]:
			case y[i] > y[j]:
				score++
			default:
				score--
			}
		}
	}
	variance := spread(len(y))
	sorted := slices.Sorted(slices.Values(y))
	for from := 0; from < len(sorted); {
		until := from + 1
		for until < len(sorted) && sorted[until] == sorted[from] {
			until++
		}
		variance -= spread(until - from)
		from = until
	}
	switch {
	case variance <= 0 || score == 0:
		return 0
	case score > 0:
		score--
	default:
		score++
	}
	return float64(score) / math.Sqrt(variance/18)
}

func spread(n int) float64 { return float64(n) * float64(n-1) * float64(2*n+5) }

// steepness is the median of the slopes between all pairs of points.
func steepness(x, y []float64) float64 {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	low, high := slopes[(len(slopes)-1)/2], slopes[len(slopes)/2]
	return low + (high-low)/2
}
