// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ChartOptions say how the picture for a terminal looks.
type ChartOptions struct {
	// Zone is that of the clock below the picture.
	Zone *time.Location
	// Width is how many columns it may have; less than 40 are taken for 40.
	Width int
	// ASCII takes no other characters than those of ASCII.
	ASCII bool
}

// chartRows is how many rows the bars have.
const chartRows = 8

// glyphs are the characters of a picture.
type glyphs struct {
	// bars are those of a cell by how full it is.
	bars                           []string
	peak, side, corner, line, tick string
}

var (
	blocks = glyphs{bars: []string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, peak: "▼", side: "┤", corner: "┼", line: "─", tick: "┬"}
	plain  = glyphs{bars: []string{" ", ".", ":", "#"}, peak: "v", side: "|", corner: "+", line: "-", tick: "+"}
)

// Chart draws the starts of each minute as bars, a line of text for each row. A column stands for some minutes, and is
// as high as the fullest of them.
func (f *Forecast) Chart(options ChartOptions) []string {
	g := blocks
	if options.ASCII {
		g = plain
	}
	peak := f.Summary().Starts
	b, margin := f.chartBins(options)
	rows := []string{peakLine(b, peak, margin, max(options.Width, 40)-margin, g, options.Zone)}
	full := len(g.bars) - 1
	for row := chartRows - 1; row >= 0; row-- {
		name := ""
		switch row {
		case chartRows - 1:
			name = fmt.Sprint(peak.Number)
		case chartRows/2 - 1:
			if peak.Number > 1 {
				name = fmt.Sprint(peak.Number / 2)
			}
		}
		var line strings.Builder
		for _, v := range b.most {
			height := 0
			if v > 0 {
				height = int((v*int64(chartRows*full) + peak.Number - 1) / peak.Number) // never nothing
			}
			line.WriteString(g.bars[min(max(height-row*full, 0), full)])
		}
		rows = append(rows, strings.TrimRight(fmt.Sprintf("%*s %s%s", margin-2, name, g.side, line.String()), " "))
	}
	return append(rows, f.clock(b, margin, g, options.Zone)...)
}

// ColumnMinutes is how many minutes a column of the picture stands for.
func (f *Forecast) ColumnMinutes(options ChartOptions) int {
	b, _ := f.chartBins(options)
	return b.minutes
}

// chartBins are the columns of the picture, and how many characters stand to the left of them.
func (f *Forecast) chartBins(options ChartOptions) (b bins, margin int) {
	margin = max(len(fmt.Sprint(f.Summary().Starts.Number)), 3) + 2
	return f.bins(f.Starts, max(options.Width, 40)-margin), margin
}

// bins are columns of a picture: the largest number of some minutes each.
type bins struct {
	from    time.Time
	minutes int // of each column
	most    []int64
}

// columnMinutes are how many minutes a column may stand for.
var columnMinutes = []int{1, 2, 3, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 720, 1440}

// bins puts the numbers of minutes into so many columns at most.
func (f *Forecast) bins(numbers []int64, columns int) bins {
	b := bins{from: f.From, minutes: columnMinutes[len(columnMinutes)-1]}
	for _, minutes := range columnMinutes {
		if len(numbers) <= minutes*columns {
			b.minutes = minutes
			break
		}
	}
	for part := range slices.Chunk(numbers, b.minutes) {
		b.most = append(b.most, slices.Max(part))
	}
	return b
}

// column is the one that a minute is in.
func (b *bins) column(at time.Time) int { return int(at.Sub(b.from)/time.Minute) / b.minutes }

// clock says when something in the picture is: with the day where there is more than one.
func (b *bins) clock(at time.Time, zone *time.Location) string {
	if len(b.most)*b.minutes > 1440 {
		return at.In(zone).Format("Jan 2 15:04")
	}
	return at.In(zone).Format("15:04")
}

// peakLine marks the peak.
func peakLine(b bins, peak Peak, margin, width int, g glyphs, zone *time.Location) string {
	if peak.Number == 0 {
		return ""
	}
	at := b.column(peak.At)
	text := fmt.Sprintf("%d at %s", peak.Number, b.clock(peak.At, zone))
	if at+2+len(text) <= width {
		return strings.Repeat(" ", margin+at) + g.peak + " " + text
	}
	return strings.Repeat(" ", margin+max(0, at-1-len(text))) + text + " " + g.peak
}

// A tick is a place on the clock of a picture.
type tick struct {
	column int
	text   string
}

// tickMinutes are the distances that ticks may have.
var tickMinutes = []int{5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080}

// ticks are places on the clock that are apart by so many columns or more, and say which time it is there; those that
// are a day apart or more say the day.
func (b *bins) ticks(apart int, zone *time.Location) []tick {
	step := tickMinutes[len(tickMinutes)-1]
	for _, minutes := range tickMinutes {
		if minutes >= apart*b.minutes {
			step = minutes
			break
		}
	}
	var found []tick
	for n := range len(b.most) * b.minutes {
		at := b.from.Add(time.Duration(n) * time.Minute).In(zone)
		if (at.Hour()*60+at.Minute())%min(step, 1440) != 0 || step > 1440 && at.YearDay()%(step/1440) != 1 {
			continue
		}
		text := at.Format("15:04")
		if step >= 1440 {
			text = at.Format("Jan 2")
		}
		if column := n / b.minutes; len(found) == 0 || column-found[len(found)-1].column >= apart {
			found = append(found, tick{column, text})
		}
	}
	return found
}

// clock is the line below the bars, and the times below it.
func (f *Forecast) clock(b bins, margin int, g glyphs, zone *time.Location) []string {
	line := slices.Repeat([]string{g.line}, len(b.most))
	var times strings.Builder
	times.WriteString(strings.Repeat(" ", margin))
	for _, t := range b.ticks(7, zone) {
		line[t.column] = g.tick
		if t.column+len(t.text) > len(b.most) {
			continue
		}
		times.WriteString(strings.Repeat(" ", margin+t.column-times.Len()) + t.text)
	}
	return []string{fmt.Sprintf("%*s %s%s", margin-2, "0", g.corner, strings.Join(line, "")), times.String()}
}
