// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/plan/statistics"
)

// No start and no peak is lost when minutes are put together.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(60*rapid.Int64Range(0, 30_000_000).Draw(t, "from"), 0)
		starts := rapid.SliceOfN(rapid.Int64Range(0, 50), 0, 200).Draw(t, "starts")
		bins := binsOf(starts, from, startsStep)
		var sum, total, most, highest int64
		for _, n := range starts {
			total, highest = total+n, max(highest, n)
		}
		for i, b := range bins {
			sum, most = sum+b.sum, max(most, b.most)
			if n := int(b.at.Sub(from) / time.Minute); starts[n] != b.most || b.at.Before(b.from) || !b.at.Before(b.from.Add(startsStep)) {
				t.Fatalf("bin %d has %d at %s", i, b.most, b.at)
			}
			if i > 0 && !b.from.Equal(bins[i-1].from.Add(startsStep)) {
				t.Fatalf("bin %d begins at %s", i, b.from)
			}
		}
		if sum != total || most != highest {
			t.Fatalf("%d starts of %d, the peak %d of %d", sum, total, most, highest)
		}
	})
}

// The picture stays within its frame, and shows where the day begins.
func TestStartsPicture(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Kathmandu") // 5:45 east
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(60*rapid.Int64Range(20_000_000, 30_000_000).Draw(t, "from"), 0)
		starts := make([]int64, 1440)
		var peaks []minuteRow
		for range rapid.IntRange(0, 8).Draw(t, "peaks") {
			n, most := rapid.IntRange(0, 1439).Draw(t, "minute"), rapid.Int64Range(1, 5000).Draw(t, "starts")
			starts[n] = most
			if row := (minuteRow{At: from.Add(time.Duration(n) * time.Minute), Starts: int(most)}); len(peaks) == 0 || most > int64(peaks[0].Starts) {
				peaks = append([]minuteRow{row}, peaks...)
			}
		}
		p := startsPictureOf(starts, from, from, peaks, choice{}, zone)
		for _, b := range p.Bars {
			if b.X < float64(p.Left)-0.1 || b.X+b.Width > float64(p.Right)+1 || b.Y < float64(p.Top)-0.1 || b.Y+b.Height > float64(p.Bottom)+0.2 || !strings.HasPrefix(b.URL, "/fleet/minute?at=") {
				t.Fatalf("a bar is at %+v", b)
			}
		}
		if p.Midnight == nil || p.Midnight.X < float64(p.Left) || p.Midnight.X > float64(p.Right) {
			t.Fatalf("midnight is at %+v", p.Midnight)
		}
		for _, l := range p.Hours {
			if !strings.HasSuffix(l.Text, ":00") || l.X > float64(p.Right) {
				t.Fatalf("an hour is %+v", l)
			}
		}
	})
}

func TestNoPicture(t *testing.T) {
	if p := startsPictureOf(nil, time.Unix(0, 0), time.Unix(0, 0), nil, choice{}, time.UTC); len(p.Bars) != 0 || p.Midnight != nil {
		t.Errorf("got %+v", p)
	}
}

// Peaks that are too near to each other share no room.
func TestPeakLabels(t *testing.T) {
	from := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	at := func(minute, starts int) minuteRow {
		return minuteRow{At: from.Add(time.Duration(minute) * time.Minute), Starts: starts}
	}
	tests := map[string]struct {
		peaks []minuteRow
		want  string
	}{
		"none":             {nil, ""},
		"one start":        {[]minuteRow{at(1, 1)}, ""},
		"two":              {[]minuteRow{at(720, 400), at(0, 300)}, "400 at 00:00, 300 at 12:00"},
		"neighbours":       {[]minuteRow{at(720, 400), at(725, 399), at(900, 398)}, "400 at 00:00, 398 at 03:00"},
		"far lower":        {[]minuteRow{at(720, 400), at(100, 99)}, "400 at 00:00"},
		"more than enough": {[]minuteRow{at(0, 9), at(200, 9), at(400, 9), at(600, 9), at(800, 9)}, "9 at 12:00, 9 at 15:20, 9 at 18:40, 9 at 22:00"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range namedPeaks(test.peaks, func(t time.Time) float64 { return t.Sub(from).Minutes() }) {
				got = append(got, fmt.Sprintf("%d at %s", p.Starts, p.At.Format("15:04")))
			}
			if text := strings.Join(got, ", "); text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
}

// Only what is far above the rest has the colour of peaks: where all minutes are alike, none has.
func TestPeaks(t *testing.T) {
	from := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		starts map[int]int64
		every  int64
		want   string
	}{
		"an even load":             {map[int]int64{}, 5, ""},
		"nearly even":              {map[int]int64{300: 9}, 5, ""},
		"twice the usual":          {map[int]int64{300: 10}, 5, "10 at 17:00"},
		"a herd":                   {map[int]int64{720: 400, 10: 250}, 3, "250 at 12:10, 400 at 00:00"},
		"its neighbours are not":   {map[int]int64{720: 400, 730: 390}, 3, "400 at 00:00"},
		"hourly, and idle between": {map[int]int64{0: 3, 60: 3, 120: 3, 180: 3, 240: 3}, 0, ""},
		"one start each":           {map[int]int64{0: 1, 60: 1}, 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			starts := make([]int64, 1440)
			var peaks []minuteRow
			for n := range starts {
				if starts[n] = test.every; test.starts[n] > 0 {
					starts[n] = test.starts[n]
				}
				if starts[n] > 0 {
					peaks = append(peaks, minuteRow{At: from.Add(time.Duration(n) * time.Minute), Starts: int(starts[n])})
				}
			}
			slices.SortStableFunc(peaks, func(a, b minuteRow) int { return b.Starts - a.Starts })
			p := startsPictureOf(starts, from, from, peaks, choice{}, time.UTC)
			var got []string
			for _, b := range p.Bars {
				if b.Class == "starts peak" {
					got = append(got, strings.ReplaceAll(strings.Split(strings.Replace(b.Title, " starts", "", 1), ",")[0], "at Mon ", "at "))
				}
			}
			text := strings.Join(got, ", ")
			if text = strings.ReplaceAll(text, "at Tue ", "at "); text != test.want || p.StandsOut != (test.want != "") {
				t.Errorf("got %q (%t), want %q", text, p.StandsOut, test.want)
			}
		})
	}
}

func TestScales(t *testing.T) {
	for n, want := range map[float64]float64{0: 1, 1: 1, 2: 2, 3: 5, 7: 10, 10: 10, 11: 20, 412: 500, 501: 1000, 100_000: 100_000} {
		if got := ceiling(n); got != want {
			t.Errorf("ceiling of %g: got %g, want %g", n, got, want)
		}
	}
	for d, want := range map[time.Duration]time.Duration{0: time.Second, time.Second: time.Second, 7 * time.Minute: 10 * time.Minute, 25 * time.Hour: 48 * time.Hour, 300 * time.Hour: 480 * time.Hour} {
		if got := durationCeiling(d); got != want {
			t.Errorf("ceiling of %s: got %s, want %s", d, got, want)
		}
	}
	for rate, want := range map[float64]float64{1: 0.95, 0.96: 0.95, 0.95: 0.9, 0.7: 0.5, 0.2: 0, 0: 0} {
		if got := rateFloor(rate); got != want {
			t.Errorf("floor of %g: got %g, want %g", rate, got, want)
		}
	}
	for share, want := range map[float64]string{1: "100 %", 0.9999: "99.9 %", 0.967: "96.7 %", 0.95: "95 %", 0.5: "50 %", 0.001: "0.1 %", 0: "0 %"} {
		if got := percent(share); got != want {
			t.Errorf("%g: got %q, want %q", share, got, want)
		}
	}
}

// A day is one column and one cell, whatever was in it, and what a line lacks interrupts it.
func TestDaysInPictures(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 4, 3, 0, 0, 0, zone)
	rapid.Check(t, func(t *rapid.T) {
		days := calendarDays(time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC), zone)
		p := &past{Days: days, Spans: make([]statistics.Span, len(days)-1)}
		for range rapid.IntRange(0, 20).Draw(t, "days") {
			n := rapid.IntRange(0, len(p.Spans)-1).Draw(t, "day")
			p.Spans[n] = statistics.Span{Succeeded: rapid.IntRange(0, 500).Draw(t, "succeeded"), Failed: rapid.IntRange(0, 500).Draw(t, "failed"), Active: rapid.IntRange(0, 3).Draw(t, "active"),
				Missed: rapid.Int64Range(0, 3).Draw(t, "missed"), Median: time.Duration(rapid.IntRange(0, 100_000).Draw(t, "median")) * time.Millisecond}
			p.Spans[n].Most95 = 2 * p.Spans[n].Median
		}
		v := pastOf(p, choice{Namespace: "a"}, now)
		var total, seen statistics.Span
		for n := range p.Spans {
			total.Add(&p.Spans[n])
		}
		if v.None != (total.Runs() == 0 && total.Missed == 0) {
			t.Fatalf("none: %t of %+v", v.None, total)
		}
		for n := range v.Calendar.Rows {
			seen.Add(&v.Calendar.Rows[n].Span)
		}
		if seen != total {
			t.Fatalf("the calendar has %+v of %+v", seen, total)
		}
		last := v.Calendar.Cells[len(v.Calendar.Cells)-1]
		if !last.Today || last.URL != "/fleet/day?date=2026-11-04&namespace=a" || (last.Y-calendarTop)/cellStep != 2 {
			t.Fatalf("today is %+v", last)
		}
		for _, c := range v.Charts {
			if len(c.Targets) != chartDays {
				t.Fatalf("%s has %d days", c.ID, len(c.Targets))
			}
			for _, b := range c.Bars {
				if b.Y < float64(c.Top)-0.2 || b.Y+b.Height > float64(c.Bottom)+1.2 {
					t.Fatalf("%s has a bar at %+v", c.ID, b)
				}
			}
			for _, l := range c.Lines {
				if !strings.HasPrefix(l.Path, "M") || strings.Contains(l.Path, "NaN") || strings.HasSuffix(strings.TrimRight(l.Path, "0123456789. "), "M") {
					t.Fatalf("%s has a line %s", c.ID, l.Path)
				}
			}
		}
	})
}
