// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// The measures of the picture of starts, in its own units.
const (
	startsWidth, startsHeight = 1200, 250
	startsLeft, startsRight   = 72, 8
	startsTop, startsBottom   = 44, 34
	// startsStep is what a bar stands for. All offsets of time zones today are whole numbers of it.
	startsStep = 5 * time.Minute
	// labelRoom is how far the names of two peaks are from each other, edgeRoom half the width of the widest text. On a
	// phone words are nearly twice as large in these units.
	labelRoom, edgeRoom = 160, 110
	// nowRoom is the width of the text at the left edge that tells what time it is.
	nowRoom = 110
	// mostLabels is how many peaks have a name.
	mostLabels = 4
)

// startsPicture is a bar for every few minutes of a day, as high as the fullest of these.
type startsPicture struct {
	Width, Height            int
	Left, Right, Top, Bottom int
	Bars                     []bar
	Labels                   []label
	Hours                    []label
	Levels                   []level
	// Midnight is where the day begins in the zone of the viewer; nil if that is not in the picture. Now is where it
	// begins.
	Midnight *label
	Now      label
	// StandsOut: a peak is far above the other minutes.
	StandsOut bool
}

// bar is a part of a picture that leads somewhere.
type bar struct {
	X, Y, Width, Height float64
	Class, Title, URL   string
}

// label is a text, or where something begins.
type label struct {
	X, Y         float64
	Anchor, Text string
}

// level is a line across, with its number.
type level struct {
	Y    float64
	Text string
}

// bin is a few minutes.
type bin struct {
	from time.Time
	// most is the fullest of them, at the first of its kind, sum all of them.
	most, sum int64
	at        time.Time
}

// binsOf puts minutes together, by the clock: the first and the last may have fewer. The fullest minute of each is
// kept, so that no peak is lost.
func binsOf(starts []int64, from time.Time, step time.Duration) []bin {
	var all []bin
	for n, number := range starts {
		at := from.Add(time.Duration(n) * time.Minute)
		begin := at.Truncate(step)
		if len(all) == 0 || !all[len(all)-1].from.Equal(begin) {
			all = append(all, bin{from: begin, at: at})
		}
		b := &all[len(all)-1]
		b.sum += number
		if number > b.most {
			b.most, b.at = number, at
		}
	}
	return all
}

// startsPictureOf draws the starts. peaks are the fullest minutes, the fullest first.
func startsPictureOf(starts []int64, from, now time.Time, peaks []minuteRow, c choice, zone *time.Location) startsPicture {
	p := startsPicture{Width: startsWidth, Height: startsHeight, Left: startsLeft, Right: startsWidth - startsRight, Top: startsTop, Bottom: startsHeight - startsBottom}
	bins := binsOf(starts, from, startsStep)
	if len(bins) == 0 {
		return p
	}
	begin := bins[0].from
	unit := float64(p.Right-p.Left) / float64(len(bins)) / startsStep.Minutes()
	x := func(t time.Time) float64 { return float64(p.Left) + t.Sub(begin).Minutes()*unit }
	top := 1.0
	if len(peaks) > 0 {
		top = ceiling(float64(peaks[0].Starts))
	}
	named, usual := namedPeaks(peaks, x), medianOf(bins)
	height := func(n int64) float64 { return float64(n) / top * float64(p.Bottom-p.Top) }
	for _, b := range bins {
		if b.sum == 0 {
			continue
		}
		class := "starts"
		if slices.ContainsFunc(named, func(peak minuteRow) bool { return peak.At.Equal(b.at) }) && standsOut(b.most, usual) {
			class, p.StandsOut = "starts peak", true
		}
		h := max(height(b.most), 2)
		p.Bars = append(p.Bars, bar{tenth(x(b.from)), tenth(float64(p.Bottom) - h), tenth(max(unit*startsStep.Minutes()-0.6, 1)), tenth(h), class, binTitle(&b, zone), minuteURL(c, b.at)})
	}
	p.Levels = append(p.Levels, level{float64(p.Bottom), "0"}, level{float64(p.Top), quantity.Grouped(int64(top))})
	if int64(top)%2 == 0 {
		p.Levels = append(p.Levels, level{float64(p.Top+p.Bottom) / 2, quantity.Grouped(int64(top) / 2)})
	}
	for at := begin; !at.After(begin.Add(comingLength)); at = at.Add(startsStep) {
		if local := at.In(zone); local.Minute() == 0 && local.Hour()%3 == 0 && x(at) > float64(p.Left)+30 && x(at) < float64(p.Right)-16 {
			p.Hours = append(p.Hours, label{X: tenth(x(at)), Text: local.Format("15:04")})
		}
	}
	p.Now = label{X: tenth(x(from)), Text: "now " + now.In(zone).Format("15:04")}
	if midnight := nextMidnight(from, zone); x(midnight) < float64(p.Right) {
		p.Midnight = &label{X: tenth(x(midnight)), Text: "midnight, " + midnight.In(zone).Format("Mon 2 Jan")}
		p.Midnight.Anchor = anchor(p.Midnight.X, p.Left, p.Right)
		switch from := p.Midnight.X - p.Now.X; {
		case from < nowRoom:
			p.Now.Text = "" // the heading says that it begins now
		case from < nowRoom+edgeRoom:
			p.Midnight.Anchor = "start"
		}
	}
	for _, peak := range named {
		at := tenth(x(peak.At))
		p.Labels = append(p.Labels, label{at, tenth(float64(p.Bottom) - height(int64(peak.Starts)) - 6), anchor(at, p.Left, p.Right),
			quantity.Grouped(peak.Starts) + " at " + peak.At.In(zone).Format("15:04")})
	}
	return p
}

// medianOf is how full the fullest minutes of bins usually are; those without a start do not count. It is 0 if none has
// one.
func medianOf(bins []bin) int64 {
	var all []int64
	for _, b := range bins {
		if b.most > 0 {
			all = append(all, b.most)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}

// standsOut tells whether so many starts are worth a colour. Where all minutes are alike, none is.
func standsOut(starts, usual int64) bool { return starts > 1 && starts >= 2*usual }

func binTitle(b *bin, zone *time.Location) string {
	at := b.at.In(zone)
	if b.sum == b.most {
		return fmt.Sprintf("%s at %s", quantity.CountGrouped(int(b.sum), "start"), at.Format("Mon 15:04"))
	}
	return fmt.Sprintf("%s at %s, %s from %s to %s", quantity.CountGrouped(int(b.most), "start"), at.Format("Mon 15:04"),
		quantity.Grouped(b.sum), b.from.In(zone).Format("15:04"), b.from.Add(startsStep).In(zone).Format("15:04"))
}

// namedPeaks are the fullest minutes whose names have room in the picture.
func namedPeaks(peaks []minuteRow, x func(time.Time) float64) []minuteRow {
	var all []minuteRow
	for _, p := range peaks {
		if p.Starts < 2 || len(all) == mostLabels || 4*p.Starts < peaks[0].Starts {
			break
		}
		if !slices.ContainsFunc(all, func(other minuteRow) bool { return math.Abs(x(p.At)-x(other.At)) <= labelRoom }) {
			all = append(all, p)
		}
	}
	return all
}

// anchor keeps a text within a picture.
func anchor(x float64, left, right int) string {
	switch {
	case x < float64(left)+edgeRoom:
		return "start"
	case x > float64(right)-edgeRoom:
		return "end"
	}
	return "middle"
}
