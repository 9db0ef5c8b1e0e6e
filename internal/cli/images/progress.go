// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// Progress is how far a pull is.
type Progress struct {
	Image              string
	Layers, LayersDone int
	Bytes, BytesDone   int64
}

const (
	// rateWindow is how much of the past the speed is an average of. Longer, and the time that is left lags; shorter,
	// and it jumps.
	rateWindow = 3 * time.Second
	// unsure is how long nothing is said of the time that is left: the first figures are far off.
	unsure = time.Second
)

// Meter measures one pull as it goes on and says in a line how far it is. The zero Meter is ready.
type Meter struct {
	began time.Time
	at    time.Time // of the last measure
	bytes int64     // at that time
	rate  float64   // bytes a second, an average in which older measures fade
}

// Line is how far the pull is at now.
func (m *Meter) Line(p Progress, now time.Time) string {
	m.measure(p, now)
	parts := []string{"pulling " + shortened(console.EscapeControls(p.Image))}
	if p.Bytes > 0 {
		done, all := quantity.Bytes(min(p.BytesDone, p.Bytes)), quantity.Bytes(p.Bytes)
		if number, unit, _ := strings.Cut(done, " "); strings.HasSuffix(all, " "+unit) {
			done = number
		}
		parts = append(parts, done+"/"+all)
	} else if p.BytesDone > 0 {
		parts = append(parts, quantity.Bytes(p.BytesDone))
	}
	if p.Layers > 0 {
		parts = append(parts, fmt.Sprintf("%d/%s", p.LayersDone, count(p.Layers, "layer")))
	}
	switch {
	case p.Bytes > 0 && p.BytesDone >= p.Bytes:
		if p.LayersDone < p.Layers {
			parts = append(parts, "unpacking")
		}
	case m.rate >= 1 && now.Sub(m.began) >= unsure:
		if left := p.Bytes - p.BytesDone; p.Bytes > 0 {
			parts = append(parts, strings.Replace(console.FormatDuration(ceil(left, m.rate)), ".0s", "s", 1)+" left")
		}
		parts = append(parts, quantity.Bytes(int64(m.rate))+"/s")
	}
	return strings.Join(parts, " · ")
}

// shortened is the end of a name that is too long to leave room for what changes on a usual terminal.
func shortened(name string) string {
	const most = 30
	if runes := []rune(name); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return name
}

// measure takes the speed since the last measure into the average.
func (m *Meter) measure(p Progress, now time.Time) {
	if m.began.IsZero() || p.BytesDone < m.bytes {
		m.began, m.at, m.bytes, m.rate = now, now, p.BytesDone, 0
		return
	}
	took := now.Sub(m.at)
	if took < 100*time.Millisecond {
		return
	}
	rate := float64(p.BytesDone-m.bytes) / took.Seconds()
	weight := min(1, float64(took)/float64(min(rateWindow, now.Sub(m.began))))
	m.rate += (rate - m.rate) * weight
	m.at, m.bytes = now, p.BytesDone
}

// ceil is how long the rest takes, in whole seconds, at least one.
func ceil(bytes int64, rate float64) time.Duration {
	const longest = 100 * 24 * time.Hour
	seconds := float64(bytes)/rate + 1
	if seconds > longest.Seconds() {
		return longest
	}
	return time.Duration(seconds) * time.Second
}

// count reads as "1 layer" or "5 layers".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
