// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// Measures of the picture, in its units.
const (
	pictureWidth = 960
	leftEdge     = 20
	plotWidth    = pictureWidth - 2*leftEdge
	rowHeight    = 12
	// mostRows is how many runs are drawn above each other; more share the last row.
	mostRows = 12
	// mostBars is how many runs are drawn one by one. Of more it is drawn how many go on at once.
	mostBars = 2000
)

// style gives the colours for light and dark documents. Those of outcomes can be told apart by people who see no red or
// green: they differ in lightness, too.
const style = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 14px }
  .quiet { fill: #57606a }
  .line { stroke: #d0d7de; stroke-width: 1 }
  .outage { fill: #8c959f; opacity: .3 }
  .change { stroke: #8250df; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .succeeded { fill: #2da44e } .failed { fill: #a40e26 } .replaced { fill: #bf8700 } .running { fill: #54aeff }
  .wait { fill: #d4a72c; opacity: .5 }
  .skipped { fill: #57606a } .missed { fill: #a40e26 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .quiet { fill: #9198a1 } .line { stroke: #3d444d }
    .succeeded { fill: #3fb950 } .failed { fill: #ff7b72 } .replaced { fill: #d29922 } .running { fill: #79c0ff }
    .skipped { fill: #9198a1 } .missed { fill: #ff7b72 } .change { stroke: #d2a8ff }
  }`

// SVG is the report as a picture that needs nothing else: no script, no font, no other file. What users wrote is
// escaped.
func (r *Report) SVG() string {
	var body strings.Builder
	y := 10
	for _, result := range r.Results {
		y = drawObject(&body, result, y)
	}
	y = drawLegend(&body, y)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", pictureWidth, y, pictureWidth, y)
	names := make([]string, 0, len(r.Results))
	for _, result := range r.Results {
		names = append(names, result.Object.Reference())
	}
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s\n</style>\n", escaped("What becomes of "+strings.Join(names, ", ")), style)
	return b.String() + body.String() + "</svg>\n"
}

// plot places instants.
type plot struct{ span simulation.Span }

func (p plot) x(t time.Time) float64 {
	share := float64(t.Sub(p.span.From)) / float64(p.span.To.Sub(p.span.From))
	return leftEdge + float64(plotWidth*min(1, max(0, share))) // rounded in between, so that it is the same on every machine
}

func drawObject(b *strings.Builder, result *simulation.Result, y int) int {
	p, zone := plot{result.Span}, zoneOf(result)
	text := func(x float64, y int, class, text string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" class="%s">%s</text>`+"\n", x, y, class, escaped(text))
	}
	y += 18
	text(leftEdge, y, "title", joined("  ", result.Object.Reference(), describe(result)))
	y += 18
	text(leftEdge, y, "quiet", sentence(result))
	y += 10
	if why := result.Object.Hindrance(); why != "" && len(result.Runs) == 0 {
		y += 12
		text(leftEdge, y, "", "cannot be served: "+why)
		return y + 20
	}

	rows := stacked(result)
	top, height := y+18, rows.height*rowHeight+22
	for _, o := range result.Outages {
		rect(b, "outage", p.x(o.From), float64(top), p.x(o.To)-p.x(o.From), float64(height), "no controller")
	}
	a := newAxis(result.Span, zone, 100)
	labels, columns := a.labels()
	for i, column := range columns {
		x := p.x(a.at(column))
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="line"/>`+"\n", x, top-4, x, top+height)
		text(x+3, top-6, "quiet", labels[i])
	}
	rows.draw(b, p, top+2)
	drawTimes(b, result, p, top+rows.height*rowHeight+10)
	for _, c := range result.Changes {
		x := p.x(c.At)
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" class="change"><title>%s</title></line>`+"\n", x, top, x, top+height,
			escaped(instant(c.At, zone)+": "+string(c.Kind)+detail(c.Text, string(c.Kind))))
	}
	return top + height + 12
}

// sentence is the summary in one line.
func sentence(result *simulation.Result) string {
	s, zone := result.Summarize(), zoneOf(result)
	return instant(result.Span.From, zone) + " to " + instant(result.Span.To, zone) + ": " + joined(", ", quantity.CountGrouped(s.Started, "run"),
		some(s.Failed, "failed"), some(s.Replaced, "replaced"), some(s.Late, "late"), some(s.Skipped, "skipped"), some(s.Missed, "missed"), some(s.Waiting, "waiting"))
}

// bars are the runs in rows, so that none covers another one, or where they are too many how many go on at once.
type bars struct {
	runs   []simulation.Run
	row    []int
	height int
	// most is for each column how many runs go on at once, nil where each is drawn.
	most []int
	axis axis
	zone *time.Location
}

func stacked(result *simulation.Result) *bars {
	s := &bars{runs: result.Runs, height: 1, zone: zoneOf(result)}
	if len(s.runs) > mostBars {
		s.axis = axis{span: result.Span, start: result.Span.From, columns: plotWidth / 2, cell: (result.Span.To.Sub(result.Span.From) + plotWidth/2 - 1) / (plotWidth / 2)}
		s.most = atOnce(result, s.axis)
		s.height = min(mostRows, max(1, slices.Max(s.most)))
		return s
	}
	var free []time.Time // when each row is free again
	for _, run := range s.runs {
		row := slices.IndexFunc(free, func(t time.Time) bool { return !t.After(run.Started) })
		if row < 0 && len(free) < mostRows {
			row, free = len(free), append(free, time.Time{})
		}
		if row < 0 {
			row = mostRows - 1
		}
		if free[row] = run.Ended; run.Ended.IsZero() {
			free[row] = result.Span.To
		}
		s.row = append(s.row, row)
	}
	s.height = max(1, len(free))
	return s
}

func (s *bars) draw(b *strings.Builder, p plot, top int) {
	bottom := top + s.height*rowHeight
	for column, n := range s.most {
		if n > 0 {
			h := min(n, s.height) * rowHeight
			rect(b, "succeeded", p.x(s.axis.at(column)), float64(bottom-h), 2, float64(h-2), fmt.Sprintf("%s: %d at once", instant(s.axis.at(column), s.zone), n))
		}
	}
	for i, row := range s.row {
		run := &s.runs[i]
		end := run.Ended
		if end.IsZero() {
			end = p.span.To
		}
		y := float64(bottom - (row+1)*rowHeight)
		if run.Wait > 0 {
			rect(b, "wait", p.x(run.Scheduled), y+4, p.x(run.Started)-p.x(run.Scheduled), rowHeight-8, "")
		}
		clock := func(t time.Time) string { return t.In(s.zone).Format(clockOf(t)) }
		text, _ := ofRun(run, clock)
		rect(b, run.Outcome.String(), p.x(run.Started), y, max(1, p.x(end)-p.x(run.Started)-0.5), rowHeight-2, instant(run.Scheduled, s.zone)+": "+text)
	}
}

// drawTimes marks what did not start: one mark for each two units of width.
func drawTimes(b *strings.Builder, result *simulation.Result, p plot, y int) {
	marked := map[int]string{}
	var columns []int
	for _, n := range result.NotStarted {
		if n.Count == 0 {
			continue
		}
		class := "skipped"
		if n.Missed {
			class = "missed"
		}
		eachTime(result, n, func(t time.Time) {
			column := int(p.x(t)) / 2
			if marked[column] == "" {
				columns = append(columns, column)
			}
			if marked[column] != "missed" {
				marked[column] = class
			}
		})
	}
	slices.Sort(columns)
	for _, column := range columns {
		fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="2.5" class="%s"/>`+"\n", column*2, y, marked[column])
	}
}

func rect(b *strings.Builder, class string, x, y, width, height float64, title string) {
	fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"`, x, y, width, height, class)
	if title == "" {
		b.WriteString("/>\n")
		return
	}
	fmt.Fprintf(b, "><title>%s</title></rect>\n", escaped(title))
}

func drawLegend(b *strings.Builder, y int) int {
	x := float64(leftEdge)
	for _, entry := range [][2]string{{"succeeded", "succeeded"}, {"failed", "failed"}, {"replaced", "stopped for a later one"}, {"running", "runs at the end"},
		{"wait", "waits"}, {"outage", "no controller"}} {
		rect(b, entry[0], x, float64(y), 10, 10, "")
		fmt.Fprintf(b, `<text x="%.1f" y="%d" class="quiet">%s</text>`+"\n", x+14, y+10, entry[1])
		x += 40 + float64(6.2*float64(len(entry[1])))
	}
	for _, class := range []string{"skipped", "missed"} {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%d" r="2.5" class="%s"/><text x="%.1f" y="%d" class="quiet">%s</text>`+"\n", x+5, y+6, class, x+14, y+10, class)
		x += 40 + float64(6.2*float64(len(class)))
	}
	return y + 24
}

// escaped is a text in XML, without the control characters that XML does not have.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&quot;")
		case r < ' ' || r == utf8.RuneError || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff:
			b.WriteRune('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
