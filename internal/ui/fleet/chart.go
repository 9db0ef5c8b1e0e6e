// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// The measures of a picture of days, in its own units.
const (
	chartWidth, chartHeight = 430, 170
	chartLeft, chartRight   = 66, 8
	chartTop, chartBottom   = 12, 26
)

// chart is a picture with a column for each day.
type chart struct {
	ID, Title, Summary string
	Width, Height      int
	Left, Right        int
	Top, Bottom        int
	Levels             []level
	Days               []label
	// Bars are parts of columns, Lines go over them, Points are what a line has that is alone, and Targets lie over it
	// all: a column each, with its words and where it leads.
	Bars    []bar
	Lines   []line
	Points  []point
	Targets []bar
	Legend  []legend
}

// line is a way through a picture, as SVG writes it.
type line struct{ Class, Path string }

type point struct {
	X, Y  float64
	Class string
}

// legend names a colour.
type legend struct{ Class, Text string }

// chartOf is an empty picture of days.
func chartOf(id, title string, days []time.Time, spans []statistics.Span, c choice, words func(*statistics.Span) string) chart {
	ch := chart{ID: id, Title: title, Width: chartWidth, Height: chartHeight, Left: chartLeft, Right: chartWidth - chartRight, Top: chartTop, Bottom: chartHeight - chartBottom}
	for n := range spans {
		x := ch.x(n, len(spans))
		day := days[n]
		ch.Targets = append(ch.Targets, bar{tenth(x), float64(ch.Top), tenth(ch.step(len(spans))), float64(ch.Bottom - ch.Top), "target", day.Format("Mon 2 Jan 2006") + ": " + words(&spans[n]), dayURL(c, day)})
		if marked(day) {
			ch.Days = append(ch.Days, label{X: tenth(x + ch.step(len(spans))/2), Y: float64(ch.Bottom + 17), Text: day.Format("2 Jan")})
		}
	}
	return ch
}

// marked tells whether a day is named below a picture: each fourth Monday is. On a phone there is no room for more.
func marked(day time.Time) bool {
	_, week := day.ISOWeek()
	return day.Weekday() == time.Monday && week%4 == 0
}

func (c *chart) step(n int) float64 { return float64(c.Right-c.Left) / float64(n) }

func (c *chart) x(day, days int) float64 { return float64(c.Left) + float64(day)*c.step(days) }

// y is the height of a share of the picture, 0 to 1.
func (c *chart) y(share float64) float64 {
	return tenth(float64(c.Bottom) - share*float64(c.Bottom-c.Top))
}

func (c *chart) level(share float64, text string) {
	c.Levels = append(c.Levels, level{c.y(share), text})
}

// line draws values of days, 0 to 1 each; a negative one is none, and interrupts it.
func (c *chart) line(class string, shares []float64) {
	var path strings.Builder
	for n, share := range shares {
		if share < 0 {
			continue
		}
		x, y := tenth(c.x(n, len(shares))+c.step(len(shares))/2), c.y(share)
		before, after := n > 0 && shares[n-1] >= 0, n+1 < len(shares) && shares[n+1] >= 0
		switch {
		case before:
			fmt.Fprintf(&path, "L%g %g", x, y)
		case after:
			fmt.Fprintf(&path, "M%g %g", x, y)
		default:
			c.Points = append(c.Points, point{x, y, class})
		}
	}
	if path.Len() > 0 {
		c.Lines = append(c.Lines, line{class, path.String()})
	}
}

// chartsOf draws the days.
func chartsOf(days []time.Time, spans []statistics.Span, c choice) []chart {
	return []chart{runsChart(days, spans, c), rateChart(days, spans, c), durationChart(days, spans, c)}
}

func runsChart(days []time.Time, spans []statistics.Span, c choice) chart {
	ch := chartOf("runs", "Runs per day", days, spans, c, spanText)
	most, total, failed, others, left, active := 0, 0, 0, 0, 0, 0
	for n := range spans {
		most, total, failed = max(most, spans[n].Runs()), total+spans[n].Runs(), failed+spans[n].Failed
		others += spans[n].Cancelled + spans[n].Unknown
		active += spans[n].Active
		left += spans[n].Left
	}
	top := ceiling(float64(most))
	for n := range spans {
		s := &spans[n]
		// What failed stands on the ground, so that days can be compared.
		below := 0
		for _, part := range []struct {
			class string
			runs  int
		}{{"failed", s.Failed}, {"succeeded", s.Succeeded}, {"cancelled", s.Cancelled + s.Unknown + s.Left}, {"active", s.Active}} {
			if part.runs == 0 {
				continue
			}
			y := ch.y(float64(below+part.runs) / top)
			height := max(ch.y(float64(below)/top)-y, 1)
			ch.Bars = append(ch.Bars, bar{X: tenth(ch.x(n, len(spans)) + 0.5), Y: y, Width: tenth(max(ch.step(len(spans))-1, 1)), Height: tenth(height), Class: part.class})
			below += part.runs
		}
	}
	ch.level(0, "0")
	if int(top)%2 == 0 {
		ch.level(0.5, quantity.Grouped(int(top)/2))
	}
	ch.level(1, quantity.Grouped(int(top)))
	ch.Legend = []legend{{"succeeded", "succeeded"}, {"failed", "failed"}}
	switch {
	case left > 0:
		ch.Legend = append(ch.Legend, legend{"cancelled", "cancelled, unknown or " + run.LeftWords})
	case others > 0:
		ch.Legend = append(ch.Legend, legend{"cancelled", "cancelled or unknown"})
	}
	if active > 0 {
		ch.Legend = append(ch.Legend, legend{"active", "running or waiting"})
	}
	ch.Summary = fmt.Sprintf("%s in %s, %s failed; at most %s a day.", quantity.CountGrouped(total, "run"), quantity.Count(len(spans), "day"), quantity.Grouped(failed), quantity.Grouped(most))
	return ch
}

func rateChart(days []time.Time, spans []statistics.Span, c choice) chart {
	ch := chartOf("rate", "Success rate", days, spans, c, rateText)
	least, worst := 1.0, -1
	var total statistics.Span
	for n := range spans {
		total.Add(&spans[n])
		if s := &spans[n]; s.Judged() > 0 && s.SuccessRate() < least {
			least, worst = s.SuccessRate(), n
		}
	}
	floor := rateFloor(least)
	shares := make([]float64, len(spans))
	for n := range spans {
		if shares[n] = -1; spans[n].Judged() > 0 {
			shares[n] = (spans[n].SuccessRate() - floor) / (1 - floor)
		}
	}
	ch.line("rate", shares)
	for _, share := range []float64{0, 0.5, 1} {
		ch.level(share, percent(floor+share*(1-floor)))
	}
	ch.Summary = "Nothing has succeeded or failed."
	if total.Judged() > 0 {
		ch.Summary = fmt.Sprintf("%s of the runs succeeded", rateText(&total))
		if worst >= 0 {
			ch.Summary += fmt.Sprintf("; the fewest on %s: %s", days[worst].Format("Mon 2 Jan"), rateText(&spans[worst]))
		}
		ch.Summary += "."
	}
	if floor > 0 {
		ch.Legend = []legend{{"rate", "of runs that succeeded or failed; the axis begins at " + percent(floor)}}
	} else {
		ch.Legend = []legend{{"rate", "of runs that succeeded or failed"}}
	}
	return ch
}

func durationChart(days []time.Time, spans []statistics.Span, c choice) chart {
	ch := chartOf("durations", "How long runs take", days, spans, c, durationText)
	var most time.Duration
	longest := -1
	for n := range spans {
		if spans[n].Most95 > most {
			most, longest = spans[n].Most95, n
		}
	}
	top := durationCeiling(most)
	medians, most95 := make([]float64, len(spans)), make([]float64, len(spans))
	for n := range spans {
		if medians[n], most95[n] = -1, -1; spans[n].Succeeded > 0 && spans[n].Most95 > 0 {
			medians[n], most95[n] = float64(spans[n].Median)/float64(top), float64(spans[n].Most95)/float64(top)
		}
	}
	ch.line("most95", most95)
	ch.line("median", medians)
	ch.level(0, "0")
	ch.level(0.5, axisDuration(top/2))
	ch.level(1, axisDuration(top))
	ch.Legend = []legend{{"median", "median: half took no longer"}, {"most95", "95 of 100 took no longer"}}
	ch.Summary = "No run that succeeded has a duration."
	if longest >= 0 {
		ch.Summary = fmt.Sprintf("Of runs that succeeded. Longest on %s: half took at most %s, 95 of 100 at most %s.", days[longest].Format("Mon 2 Jan"),
			precise(spans[longest].Median), precise(spans[longest].Most95))
	}
	return ch
}

// axisDuration writes a round duration; half a second is one, too.
func axisDuration(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%gs", d.Seconds())
	}
	return duration.Short(d)
}

// precise writes a duration, one of less than ten seconds with its tenths.
func precise(d time.Duration) string {
	if d > 0 && d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return duration.Short(d)
}

// percent writes a share; one that is not whole is not written as whole: of a thousand with one failure 99.9 %.
func percent(share float64) string {
	switch {
	case share >= 1:
		return "100 %"
	case share > 0.9995:
		return "99.9 %"
	case share > 0.9 || share > 0 && share < 0.01:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*share), ".0") + " %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func rateText(s *statistics.Span) string {
	if s.Judged() == 0 {
		return "–"
	}
	return percent(s.SuccessRate())
}

func durationText(s *statistics.Span) string {
	if s.Succeeded == 0 {
		return "no run that succeeded"
	}
	return "median " + precise(s.Median) + ", 95 of 100 within " + precise(s.Most95)
}

// spanText is what was in a span, in words.
func spanText(s *statistics.Span) string {
	if s.Runs() == 0 && s.Missed == 0 {
		return "no run"
	}
	parts := []string{quantity.CountGrouped(s.Runs(), "run")}
	for _, part := range []struct {
		n    int
		text string
	}{{s.Succeeded, "succeeded"}, {s.Failed, "failed"}, {s.Cancelled, "cancelled"}, {s.Unknown, "unknown"}, {s.Active, "running or waiting"}, {s.Left, run.LeftWords}, {int(s.Missed), "missed"}} {
		if part.n > 0 {
			parts = append(parts, quantity.Grouped(part.n)+" "+part.text)
		}
	}
	return strings.Join(parts, ", ")
}
