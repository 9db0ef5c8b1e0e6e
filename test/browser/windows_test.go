// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// beside opens one more tab in the window of another one, with its cookies; the other one is hidden then.
func (b *tab) beside(path string) *tab {
	b.t.Helper()
	ctx, end := chromedp.NewContext(b.ctx, chromedp.WithNewWindow(false))
	b.t.Cleanup(end)
	other := &tab{t: b.t, ctx: ctx, base: b.base}
	if err := chromedp.Listen(ctx, other.hear); err != nil {
		b.t.Fatal(err)
	}
	other.visit(path)
	b.t.Cleanup(other.wantNoFaults)
	return other
}

// show brings it to the front.
func (b *tab) show() {
	b.t.Helper()
	call(b, cdppage.BringToFront, cdp.Empty{})
}

// Somebody who follows many runs, each in a tab, can still open other pages: a browser has six connections for all of
// them. A tab that is looked at again goes on where it was, without a line twice or left out.
func TestManyWindows(t *testing.T) {
	address := page(t)
	const many = 8
	for n := range many {
		apply(t, job(fmt.Sprint("many-", n), "for n in $(seq 400); do echo line $n.; sleep 0.3; done"))
	}
	first := open(t, address, desk)
	var runs []*tab
	for n := range many {
		name := fmt.Sprint("many-", n)
		until(t, name, func() bool {
			return strings.Contains(kubectl(t, dataDir(), "get", "pods", "-l", "job-name="+name, "-o", "jsonpath={.items[*].status.phase}"), "Running")
		})
		b := first.beside("/run/default/" + name)
		b.wantText("line 1.")
		runs = append(runs, b)
	}
	last := first.beside("/schedules")
	last.wantText("Schedules")

	again := runs[0]
	again.show()
	again.wantText("live")
	count := func() int { return evaluate[int](again, `document.querySelectorAll("#output-log .line").length`) }
	before := count()
	until(t, "further lines", func() bool { return count() > before+3 })
	for range 2 {
		last.show()
		until(t, "the hidden tab", func() bool { return evaluate[bool](again, "document.hidden") })
		again.show()
	}
	before = count()
	until(t, "further lines", func() bool { return count() > before+3 })
	wrong := evaluate[string](again, `[...document.querySelectorAll("#output-log .line .text")].map((e, n) => [n + 1, e.textContent]).filter(([n, text]) => text !== "line " + n + ".").slice(0, 3).join("; ")`)
	if wrong != "" {
		t.Errorf("the lines are not each there once, in order: %s", wrong)
	}
	for n := range many {
		kubectl(t, dataDir(), "delete", "job", fmt.Sprint("many-", n), "--wait=false")
	}
}
