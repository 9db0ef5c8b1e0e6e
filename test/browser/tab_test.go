// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a window of the browser, with cookies of its own.
type tab struct {
	t    *testing.T
	ctx  context.Context
	base string
	// window is how it is looked at.
	window window

	mu     sync.Mutex
	faults []string
}

// window is how somebody looks at the page.
type window struct {
	width, height int64
	dark          bool
	noScripts     bool
	// large: letters are twice as large as usual.
	large bool
}

var (
	desk  = window{width: 1280, height: 900}
	night = window{width: 1280, height: 900, dark: true}
	phone = window{width: 390, height: 844}
	// narrow is the narrowest that there is.
	narrow = window{width: 320, height: 568}
	tablet = window{width: 820, height: 1180}
	// near has large letters.
	near = window{width: 1280, height: 900, large: true}
)

// open opens a page for somebody who has the address with its token.
func open(t *testing.T, address string, w window) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	ctx, cancel := context.WithTimeout(ctx, 5*forever)
	t.Cleanup(cancel)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, base: "http://" + u.Host, window: w}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if w.dark {
		scheme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Europe/Berlin"})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: w.width, Height: w.height, DeviceScaleFactor: 1, Mobile: w.width < 600})
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: w.noScripts})
	b.do(chromedp.Navigate(address))
	t.Cleanup(b.wantNoFaults)
	return b
}

// call sends a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatalf("%v, on %s", err, b.address())
	}
	return result
}

// hear collects what a page must never give cause for: exceptions, refused content, answers that are faults of the
// server.
func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.faults = append(b.faults, "exception: "+text)
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceJavascript {
			b.faults = append(b.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 500 {
			b.faults = append(b.faults, fmt.Sprintf("%d: %s", e.Response.Status, e.Response.URL))
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.base+"/") && !strings.HasPrefix(u, "data:") && !strings.HasPrefix(u, "about:") && !strings.HasPrefix(u, "chrome") {
			b.faults = append(b.faults, "a request elsewhere: "+u)
		}
	}
}

func (b *tab) wantNoFaults() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Error(f)
	}
	b.faults = nil
}

// do does something in it, which must succeed.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("%v, on %s:\n%s", err, b.address(), b.text())
	}
}

// visit goes to an address of the site.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
	if b.window.large {
		evaluate[bool](b, `document.documentElement.style.fontSize = "200%"; true`)
	}
}

// address is where it is, without the host.
func (b *tab) address() string {
	at, _ := chromedp.Run(b.ctx, chromedp.Location()) // a closed tab is nowhere
	return strings.TrimPrefix(at, b.base)
}

// text is what one reads on it. It is asked for without scripts of the page.
func (b *tab) text() string {
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body ? document.body.innerText : ''")) // a closed tab has none
	return text
}

// wait waits for something that comes by itself to the page, and tells what is there instead.
func (b *tab) wait(what string, there func() bool) {
	b.t.Helper()
	if !waits(there) {
		b.t.Fatalf("waited %v in vain for %s; %s reads:\n%s", forever, what, b.address(), b.text())
	}
}

// wantText fails the test when something is not to be read within the time that a person waits.
func (b *tab) wantText(wanted ...string) {
	b.t.Helper()
	for _, w := range wanted {
		b.wait(strconv.Quote(w), func() bool { return strings.Contains(b.text(), w) })
	}
}

// evaluate gives the value of an expression, also where the page's own scripts may not run.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, forever/2)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v, on %s", err, b.address())
	}
	return value
}

// follow clicks the first link, button or summary with that text in what a CSS selector names ("" is all), and waits
// for the next page.
func (b *tab) follow(within, text string) {
	b.t.Helper()
	if within == "" {
		within = "body"
	}
	found := evaluate[bool](b, fmt.Sprintf(`(() => {
		document.querySelectorAll("[data-clicked]").forEach((e) => e.removeAttribute("data-clicked"));
		const at = [...document.querySelectorAll(%q)].flatMap((w) => [...w.querySelectorAll("a, button, summary")]).find((e) => e.textContent.replace(/\s+/g, " ").trim() === %q);
		if (at) at.setAttribute("data-clicked", "");
		return Boolean(at);
	})()`, within, text))
	if !found {
		b.t.Fatalf("there is no %q in %s of %s:\n%s", text, within, b.address(), b.text())
	}
	b.click("[data-clicked]")
}

// click clicks what a CSS selector names, and waits for the page that this leads to, if it leads to one.
func (b *tab) click(selector string) {
	b.t.Helper()
	before := evaluate[float64](b, "performance.timeOrigin")
	b.do(chromedp.Click(selector))
	b.settle(before)
}

// settle waits until the page that an action led to is there; an action that leads nowhere has had its time.
func (b *tab) settle(before float64) {
	b.t.Helper()
	for range 40 {
		state, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf("performance.timeOrigin === %f ? 'same' : document.readyState", before)))
		if err == nil && state == "complete" {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
}

//go:embed testdata/axe.min.js
var axe string

// wantAccessible runs axe over what is shown.
func (b *tab) wantAccessible() {
	b.t.Helper()
	if b.window.noScripts {
		return // axe is a script, and sees the same there
	}
	evaluate[bool](b, axe+";true")
	found := evaluate[string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.target.join(" ") + ": " + n.failureSummary)}))))`)
	var violations []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range violations {
		b.t.Errorf("%s: %s (%s)\n  %s", b.address(), v.Help, v.ID, strings.Join(v.Nodes, "\n  "))
	}
}

// wantReadablePictures fails when words in a picture are smaller than anybody reads, or lie over each other.
func (b *tab) wantReadablePictures() {
	b.t.Helper()
	for _, fault := range evaluate[[]string](b, `[...document.querySelectorAll("main svg")].flatMap((svg) => {
		const words = [...svg.querySelectorAll("text")].filter((e) => e.checkVisibility() && e.textContent.trim()).map((e) => {
			const box = e.getBoundingClientRect(), size = parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a;
			return {text: e.textContent.trim(), size, left: box.left, right: box.right, middle: (box.top + box.bottom) / 2};
		});
		return words.flatMap((w, n) => [
			...(w.size < 10.4 ? [w.text + " is " + w.size.toFixed(1) + " px"] : []),
			...words.slice(n + 1).filter((o) => Math.abs(o.middle - w.middle) < w.size / 2 && o.left < w.right && w.left < o.right).map((o) => w.text + " lies over " + o.text),
		]);
	}).slice(0, 8)`) {
		b.t.Errorf("%s: in a picture %s", b.address(), fault)
	}
}

// wantFitting fails when the page is wider than its window: nobody likes to scroll to the side for words.
func (b *tab) wantFitting() {
	b.t.Helper()
	if wide := evaluate[string](b, `(() => {
		const width = document.documentElement.clientWidth, menu = document.querySelector(".top nav");
		if (menu && menu.scrollWidth > menu.clientWidth) return "the menu";
		if (document.documentElement.scrollWidth <= width) return "";
		return [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll, .segments, thead, svg, pre"))
			.slice(0, 5).map((e) => e.tagName + "." + e.className + " “" + e.textContent.trim().slice(0, 80) + "”").join(", ") || "something";
	})()`); wide != "" {
		b.t.Errorf("%s is wider than its window: %s", b.address(), wide)
	}
}
