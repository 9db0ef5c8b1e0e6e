// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Who has never seen the page finds the herd at midnight, with scripts and without, and who is in it.
func TestHerdAtMidnight(t *testing.T) {
	address := page(t)
	for name, w := range map[string]window{"with scripts": desk, "without scripts": {width: 1280, height: 900, noScripts: true}, "on a phone": phone} {
		t.Run(name, func(t *testing.T) {
			b := open(t, address, w)
			b.visit("/fleet")
			b.wantText("Most runs start at", "14 schedules with 0 0 * * *", "The fullest minutes", "What would help")
			b.click(".herd a")
			if at := b.address(); !strings.HasPrefix(at, "/fleet/minute?at=") {
				t.Errorf("it leads to %s", at)
			}
			b.wantText("What starts at", "daily-01", "daily-14")
		})
	}
}

// The picture of starts can be zoomed, in colours of the day and of the night, and the page's policy has nothing to
// refuse.
func TestZoom(t *testing.T) {
	address := page(t)
	for name, w := range map[string]window{"by day": desk, "by night": night, "on a phone": phone} {
		t.Run(name, func(t *testing.T) {
			b := open(t, address, w)
			b.visit("/fleet")
			b.wantText("Zoom in")
			b.follow("#starts", "Zoom in")
			b.do(chromedp.WaitVisible("#starts .uplot canvas"))
			b.wantText("Drag to zoom", "Whole day")
			if evaluate[bool](b, `[...document.querySelectorAll("#starts svg.wide")].some((e) => e.checkVisibility())`) {
				t.Error("both pictures are there")
			}
			b.wantAccessible()
			b.wantFitting()
			evaluate[bool](b, `document.documentElement.setAttribute("data-theme", "dark"); true`)
			// What the page reads again by itself keeps the zoom.
			evaluate[bool](b, `document.activeElement.blur(); htmx.ajax("GET", location.href, {source: "#fleet", target: "#fleet", select: "#fleet", swap: "morph:outerHTML"}).then(() => true)`)
			b.do(chromedp.WaitVisible("#starts .uplot canvas"))
			b.follow("#starts", "Zoom out")
			b.do(chromedp.WaitVisible("#starts svg.wide"))
			if n := evaluate[int](b, `document.querySelectorAll(".uplot, .zoom-tools").length`); n != 1 {
				t.Errorf("%d of the script's parts are left, want its button alone", n)
			}
		})
	}
}

// Figures lead to what is behind them: a cell of the calendar to its day, that to its runs.
func TestFigures(t *testing.T) {
	b := open(t, page(t), desk)
	b.visit("/fleet")
	b.do(chromedp.Click("svg.calendar .day.some"))
	until(t, "the day", func() bool { return strings.HasPrefix(b.address(), "/fleet/day?date=") })
	b.wantText("By the hour", "failed")
	b.wantAccessible()
	rows := evaluate[int](b, `document.querySelectorAll("table tbody tr").length`)
	if rows == 0 {
		t.Errorf("the day has no runs:\n%s", b.text())
	}
	failed := evaluate[string](b, `[...document.querySelectorAll("nav.segments a")].find((e) => e.textContent.startsWith("Failed")).textContent`)
	b.follow("nav.segments", failed)
	b.wantText(failed)
	if n := evaluate[int](b, `document.querySelectorAll("table .badge.failed").length`); fmt.Sprintf("Failed %d", n) != failed {
		t.Errorf("%q, and %d are shown", failed, n)
	}
}
