// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The measures of a picture, in its own units.
const (
	svgWidth   = 960
	svgHeight  = 520
	plotLeft   = 64
	plotWidth  = 864 // 288 columns of 5 minutes in a day
	plotHeight = 160
	// startsTop and runningTop are where the two plots begin.
	startsTop, runningTop = 80, 310
	svgColumns            = 288
)

// svgStyle makes the picture readable on light and on dark ground.
const svgStyle = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; }
  .small { font-size: 11px; fill: #59636e; }
  .ground { fill: #ffffff; }
  .axis { stroke: #8c959f; stroke-width: 1; }
  .starts { fill: #0969da; }
  .running { fill: #1a7f37; }
  .peak { fill: #cf222e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9198a1; }
    .ground { fill: #0d1117; }
    .axis { stroke: #656c76; }
    .starts { fill: #4493f8; }
    .running { fill: #3fb950; }
    .peak { fill: #f85149; }
  }
`

// SVG draws the starts and the active runs of each minute: one file, without scripts and without anything from
// elsewhere. A column stands for some minutes, and is as high as the fullest of them.
func (f *Forecast) SVG(zone *time.Location) string {
	var w strings.Builder
	s := f.Summary()
	title := fmt.Sprintf("Starts per minute, %s to %s", svgTime(f.From, zone), svgTime(f.Until(), zone))
	fmt.Fprintf(&w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc">`+"\n", svgWidth, svgHeight)
	fmt.Fprintf(&w, "<title id=\"title\">%s</title>\n", escaped(title))
	fmt.Fprintf(&w, "<desc id=\"desc\">%s</desc>\n", escaped(fmt.Sprintf("%d objects, %d starts; at most %d a minute, at %s, and at most %d runs at once, at %s.",
		f.Objects.Counted, s.Total, s.Starts.Number, svgTime(s.Starts.At, zone), s.Running.Number, svgTime(s.Running.At, zone))))
	fmt.Fprintf(&w, "<style>%s</style>\n<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", svgStyle, svgWidth, svgHeight)
	svgText(&w, plotLeft, 30, "title", "start", title)
	svgText(&w, plotLeft, 50, "small", "start", fmt.Sprintf("%d objects, %d starts, %.1f a minute on average", f.Objects.Counted, s.Total, s.Mean))
	f.plot(&w, startsTop, "starts", "starts a minute", f.Starts, s.Starts, zone)
	f.plot(&w, runningTop, "running", "runs at once", f.Running, s.Running, zone)
	w.WriteString("</svg>\n")
	return w.String()
}

// plot draws one of the two.
func (f *Forecast) plot(w io.Writer, top int, class, name string, numbers []int64, peak Peak, zone *time.Location) {
	b := f.bins(numbers, svgColumns)
	bottom := top + plotHeight
	column := float64(plotWidth) / float64(len(b.most))
	at := b.column(peak.At)
	svgText(w, plotLeft, top-10, "", "start", name)
	for n, v := range b.most {
		if v == 0 {
			continue
		}
		height := max(1, float64(v)*plotHeight/float64(peak.Number))
		shown := class
		if n == at {
			shown = "peak"
		}
		fmt.Fprintf(w, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`+"\n", shown, plotLeft+float64(n)*column, float64(bottom)-height, column, height)
	}
	fmt.Fprintf(w, `<path class="axis" fill="none" d="M%d %d V%d H%d"/>`+"\n", plotLeft, top, bottom, plotLeft+plotWidth)
	svgText(w, plotLeft-8, top+5, "small", "end", fmt.Sprint(peak.Number))
	svgText(w, plotLeft-8, bottom+4, "small", "end", "0")
	for _, t := range b.ticks(max(1, len(b.most)/16), zone) {
		x := plotLeft + int(float64(t.column)*column)
		fmt.Fprintf(w, `<path class="axis" d="M%d %d v5"/>`+"\n", x, bottom)
		svgText(w, x, bottom+18, "small", "middle", t.text)
	}
	if peak.Number > 0 {
		x, anchor := plotLeft+int(float64(at)*column), "middle"
		switch {
		case x < plotLeft+200:
			x, anchor = x+8, "start"
			if x < plotLeft+110 {
				x = plotLeft + 110 // beside the name of the plot
			}
		case x > plotLeft+plotWidth-80:
			x, anchor = plotLeft+plotWidth, "end"
		}
		svgText(w, x, top-10, "", anchor, fmt.Sprintf("▼ %d at %s", peak.Number, b.clock(peak.At, zone)))
	}
}

func svgText(w io.Writer, x, y int, class, anchor, text string) {
	fmt.Fprintf(w, `<text x="%d" y="%d"`, x, y)
	if class != "" {
		fmt.Fprintf(w, ` class="%s"`, class)
	}
	if anchor != "start" {
		fmt.Fprintf(w, ` text-anchor="%s"`, anchor)
	}
	fmt.Fprintf(w, ">%s</text>\n", escaped(text))
}

func svgTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}
