// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// The measures of the picture of starts, in its own units.
const (
	startsWidth, startsHeight = 1200, 250
	startsLeft, startsRight   = 44, 8
	startsTop, startsBottom   = 44, 34
	// startsStep is what a bar stands for. All offsets of time zones today are whole numbers of it.
	startsStep = 5 * time.Minute
	// labelRoom is how far the names of two peaks are from each other.
	labelRoom = 120
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

// binsOf puts minutes together, by the clock: the first and the last may have fewer. The fullest minute of each is kept,
// so that no peak is lost.
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
	height := func(n int64) float64 { return float64(n) / top * float64(p.Bottom-p.Top) }
	for _, b := range bins {
		if b.sum == 0 {
			continue
		}
		class := "starts"
		if len(peaks) > 0 && b.most > 1 && 2*b.most >= int64(peaks[0].Starts) {
			class = "starts peak"
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
	}
	p.Labels = peakLabels(peaks, x, func(n int) float64 { return float64(p.Bottom) - height(int64(n)) - 6 }, p.Left, p.Right, zone)
	return p
}

func binTitle(b *bin, zone *time.Location) string {
	at := b.at.In(zone)
	if b.sum == b.most {
		return fmt.Sprintf("%s at %s", quantity.CountGrouped(int(b.sum), "start"), at.Format("Mon 15:04"))
	}
	return fmt.Sprintf("%s at %s, %s from %s to %s", quantity.CountGrouped(int(b.most), "start"), at.Format("Mon 15:04"),
		quantity.Grouped(b.sum), b.from.In(zone).Format("15:04"), b.from.Add(startsStep).In(zone).Format("15:04"))
}

// peakLabels names the fullest minutes, as far as there is room.
func peakLabels(peaks []minuteRow, x func(time.Time) float64, y func(int) float64, left, right int, zone *time.Location) []label {
	var all []label
	for _, p := range peaks {
		if p.Starts < 2 || len(all) == mostLabels || 4*p.Starts < peaks[0].Starts {
			break
		}
		at := tenth(x(p.At))
		free := true
		for _, other := range all {
			free = free && (at-other.X > labelRoom || other.X-at > labelRoom)
		}
		if free {
			all = append(all, label{at, tenth(y(p.Starts)), anchor(at, left, right), quantity.Grouped(p.Starts) + " at " + p.At.In(zone).Format("15:04")})
		}
	}
	return all
}

// anchor keeps a text within a picture.
func anchor(x float64, left, right int) string {
	switch {
	case x < float64(left)+60:
		return "start"
	case x > float64(right)-60:
		return "end"
	}
	return "middle"
}
