// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

// Measures of a picture, in pixels. What failed hangs lower than the others, so that it is seen without its colour.
const (
	rowHeight                    = 48
	barHeight, barHang           = 16, 6 // of one lane
	laneHeight, laneHang         = 8, 3  // of several
	laneStep                     = laneHeight + 5
	overflowHeight               = 14
	leastPart                    = 4 // of a cell
	markRoom                     = percent(0.8)
	leastCellGap         percent = 0.1
	// nextRoom is what the words of the next time need at the right, and nextRoomOnPhone where there is less width.
	nextRoom, nextRoomOnPhone percent = 24, 40
)

// Picture is what the template draws of one row.
type Picture struct {
	*Drawn
	// Height is that of the picture, Middle that of its middle line.
	Height, Middle int
	Shapes         []shape
	// Label says what is to be seen, for who does not see it.
	Label string
	// Next says when the next time is, if that is after the window; "" if it is not, or is not known, or something is
	// drawn where it would stand. NextOnPhone: there is room for it on a narrow screen, too.
	Next        string
	NextOnPhone bool
	// Entries are the same as a table.
	Entries []entry
}

// shape is one thing that can be pointed at.
type shape struct {
	// Kind is "bar", "cell", "mark" or "more".
	Kind       string
	URL, Title string
	X, Width   percent
	// Y and Height are in pixels, with what hangs lower, which is Hang.
	Y, Height, Hang int
	Class, Symbol   string
	// Pieces are those of a cell, from above.
	Pieces []piece
	// Lead, Rest, Through and Open are those of the bar or the mark.
	Lead, Rest, Through *Span
	Open                bool
	Text                string
	// Focus: it is the one of its row that the keyboard comes to.
	Focus bool
}

// End is where a shape ends.
func (s shape) End() percent { return s.X + s.Width }

// Centre is the middle of a shape.
func (s shape) Centre() int { return s.Y + s.Height/2 }

// Middle is the middle of what does not hang, and Foot its lower edge.
func (s shape) Middle() int { return s.Y + (s.Height-s.Hang)/2 }

// Foot is the lower edge of what does not hang.
func (s shape) Foot() int { return s.Y + s.Height - s.Hang }

// End is where a span ends.
func (s *Span) End() percent { return s.X + s.Width }

// entry is one line of the table.
type entry struct {
	At  time.Time
	Run *run.Run
	// Text is what else happened, or how many runs; URL is where more is to be seen.
	Class, Text, URL string
}

// picture lays out a row.
func (v *view) picture(d *Drawn) Picture {
	p := Picture{Drawn: d, Height: rowHeight}
	if d.Lanes > 1 {
		p.Height = max(rowHeight, d.Lanes*laneStep+14)
	}
	p.Middle = p.Height / 2
	top := (p.Height - d.Lanes*laneStep + 5) / 2
	if len(d.Overflow) > 0 {
		p.Height += overflowHeight
	}
	for i := range d.Cells {
		p.Shapes = append(p.Shapes, v.cell(&p, &d.Cells[i]))
	}
	for i := range d.Bars {
		s := v.bar(&d.Bars[i], d)
		s.Y, s.Height = p.Middle-barHeight/2, barHeight
		hang := barHang
		if d.Lanes > 1 {
			s.Y, s.Height, hang = top+d.Bars[i].Lane*laneStep, laneHeight, laneHang
		}
		if s.Class == "failed" {
			s.Height, s.Hang = s.Height+hang, hang
		}
		p.Shapes = append(p.Shapes, s)
	}
	for i := range d.Overflow {
		p.Shapes = append(p.Shapes, v.more(&d.Overflow[i], p.Height-4))
	}
	for i := range d.Marks {
		p.Shapes = append(p.Shapes, v.mark(&d.Marks[i], d.Row, p.Middle))
	}
	if n := len(p.Shapes); n > 0 {
		p.Shapes[n-1].Focus = true
	}
	if n := d.Row.Next; !n.IsZero() && !n.Before(v.Window.Until) && v.NowSeen() {
		if room := 100 - p.reach(); room >= nextRoom {
			p.Next, p.NextOnPhone = "next "+v.words.clock(n), room >= nextRoomOnPhone
		}
	}
	p.Label = d.Text() + ": " + d.Total.Text()
	return p
}

// reach is how far to the right anything is drawn.
func (p *Picture) reach() (most percent) {
	for i := range p.Shapes {
		s := &p.Shapes[i]
		most = max(most, s.End())
		for _, span := range []*Span{s.Rest, s.Through} {
			if span != nil {
				most = max(most, span.End())
			}
		}
	}
	return most
}

func (v *view) bar(b *Bar, d *Drawn) shape {
	s := shape{Kind: "bar", X: b.X, Width: b.Width, Lead: b.Lead, Rest: b.Rest, Open: b.Open && v.Window.Contains(v.Now)}
	if b.Run == nil {
		s.Class, s.Title, s.URL = "waits", v.words.waiting(b.Waiting), page.WhyURL(d.Kind, d.Namespace, d.Name, b.Waiting.At.UTC().Format(time.RFC3339))
		return s
	}
	s.Class, s.Title, s.URL = page.OutcomeOf(b.Run).Class, v.words.run(b.Run), page.RunURL(b.Run)
	if s.Class == "waiting" {
		s.Class = "waits"
	}
	return s
}

func (v *view) more(o *Overflow, y int) shape {
	var c Counts
	for i := range o.Runs {
		c.addRun(&o.Runs[i])
	}
	s := shape{Kind: "more", X: o.X, Y: y, Class: c.Worst(), Text: "+" + quantity.Grouped(len(o.Runs)),
		Title: quantity.CountGrouped(len(o.Runs), "more run") + " at the same time: " + c.Text()}
	first := &o.Runs[0]
	s.URL = v.nearer(first.Begun(), first.Namespace, first.Owner.Name)
	if s.URL == "" {
		s.URL = page.RunURL(first)
	}
	return s
}

func (v *view) mark(m *Mark, r *Row, middle int) shape {
	o := m.Omission
	s := shape{Kind: "mark", X: min(max(m.X, markRoom), 100-markRoom), Y: middle, Through: m.Through, Class: omittedWord(o), Symbol: "tl-" + omittedWord(o),
		Title: v.words.omission(o)}
	s.URL = page.WhyURL(r.Kind, r.Namespace, r.Name, o.ScheduledTime.UTC().Format(time.RFC3339))
	return s
}

func (v *view) cell(p *Picture, c *Cell) shape {
	s := shape{Kind: "cell", X: c.X, Width: max(c.Width-leastCellGap, least), Y: p.Middle - barHeight/2, Height: barHeight, Class: c.Worst(), Title: v.words.cell(c)}
	s.URL = v.nearer(c.From.Add(c.Until.Sub(c.From)/2), p.Namespace, p.Name)
	if s.URL == "" {
		s.URL = p.URL()
	}
	s.Pieces = stacked(c.Parts(), s.Y)
	return s
}

// piece is a part of a cell.
type piece struct {
	Class     string
	Y, Height int
}

// stacked gives pieces for parts, which are the worst first: as much of the height of a bar as their counts say, and
// none so little that it would not be seen. From above: the worst comes last, and hangs lower if it failed.
func stacked(parts []Part, y int) []piece {
	if n := len(parts); n > 1 && parts[n-1].Class == "due" {
		parts = parts[:n-1] // what comes is not seen beside what was
	}
	parts = parts[:min(len(parts), barHeight/leastPart)]
	total := 0
	for _, p := range parts {
		total += p.Count
	}
	spare := barHeight - leastPart*len(parts)
	pieces := make([]piece, 0, len(parts))
	done := 0
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		above := spare * done / total
		done += p.Count
		one := piece{p.Class, y, leastPart + spare*done/total - above}
		y += one.Height
		if p.Class == "failed" {
			one.Height += barHang
		}
		pieces = append(pieces, one)
	}
	return pieces
}
