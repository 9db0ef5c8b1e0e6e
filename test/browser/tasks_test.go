// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/carillon-dev/carillon/schedule"
)

// Somebody who has never seen the page finds what he came for: with scripts, and without.
func TestTasks(t *testing.T) {
	address := page(t)
	for name, w := range map[string]window{"desk": desk, "phone": phone, "no scripts": {width: 1280, height: 900, noScripts: true}} {
		t.Run(name, func(t *testing.T) {
			t.Run("the last failure and its output", func(t *testing.T) {
				b := open(t, address, w)
				b.visit("/")
				b.wantText("sync-stock")
				b.click(`main a[href^="/run/shop/sync-stock"]`)
				b.wantText("sync-stock", "exit code")
				if text := b.text(); !strings.Contains(text, "connection refused") && !strings.Contains(text, "KeyError") && !strings.Contains(text, "no space left") {
					t.Errorf("what it wrote is not to be read:\n%s", text)
				}
			})
			t.Run("why a run at a given time did not happen", func(t *testing.T) {
				b := open(t, address, w)
				missed := outages["ops/cleanup"]
				if len(missed) == 0 {
					t.Fatal("the world has no outage")
				}
				b.visit("/schedule/cronjob/ops/cleanup")
				b.click(`main a[href^="/why/cronjob/ops/cleanup"]`)
				b.do(chromedp.SetValue("main input[name=at]", missed[len(missed)-1].Format(time.RFC3339)))
				b.click("main form button")
				b.wantText("no controller ran")
				verdict := evaluate[string](b, `document.querySelector(".verdict").innerText`)
				if !strings.Contains(verdict, "was missed") || !strings.Contains(verdict, "no controller") {
					t.Errorf("the verdict is %q", verdict)
				}
			})
			t.Run("the next five times in his own zone", func(t *testing.T) {
				b := open(t, address, w)
				if w.noScripts { // nobody tells the zone of the browser
					b.visit("/settings")
					b.do(chromedp.SetValue("main input[name=zone]", "Europe/Berlin"))
					b.click("main form button.primary")
				}
				b.visit("/schedules?q=recommendations")
				if !strings.HasPrefix(b.address(), "/schedule/") {
					b.click(`main a[href^="/schedule/cronjob/shop/recommendations"]`)
				}
				there, here := zone(t, "America/New_York"), zone(t, "Europe/Berlin")
				s, err := schedule.Parse("20 3 * * *", there)
				if err != nil {
					t.Fatal(err)
				}
				text := b.text()
				at := time.Now()
				for range 5 {
					at = s.Next(at)
					for _, z := range []*time.Location{there, here} {
						if want := at.In(z).Format("15:04"); !strings.Contains(text, want) {
							t.Errorf("%s (%s) is not to be read:\n%s", want, z, text)
						}
					}
					if want := at.In(here).Format("2 Jan"); !strings.Contains(text, want) && !strings.Contains(text, at.In(here).Format("Mon")) {
						t.Errorf("neither %s nor its weekday is to be read:\n%s", want, text)
					}
				}
			})
			t.Run("the herd at midnight", func(t *testing.T) {
				b := open(t, address, w)
				b.visit("/")
				b.click(`a[href="/fleet"]`)
				// Midnight of UTC, in the zone of who looks.
				midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
				clock := midnight.In(zone(t, "Europe/Berlin")).Format("15:04")
				if w.noScripts {
					clock = midnight.In(time.Local).Format("15:04")
				}
				herd := regexp.MustCompile(`(?s)` + clock + `.{0,80}\b1[4-9]\b|\b1[4-9]\b.{0,80}` + clock)
				until(t, "the herd at "+clock, func() bool { return herd.MatchString(b.text()) })
			})
		})
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// A link that somebody has kept leads to what it led to, and one to what is not there says so, with a name that is
// nearly it.
func TestAddresses(t *testing.T) {
	b := open(t, page(t), desk)
	for at, want := range map[string]string{
		"/schedule/cronjob/ops/bakcup":                       "backup",
		"/schedule/sandwich/ops/backup":                      "sandwich",
		"/run/ops/never-was":                                 "never-was",
		"/nothing":                                           "no such page",
		"/timeline?zoom=1w":                                  "backup",
		"/schedules?q=" + url.QueryEscape(`<script>"'`):      `<script>"'`,
		"/why/cronjob/ops/backup?at=" + url.QueryEscape("?"): "?",
	} {
		b.visit(at)
		if text := b.text() + evaluate[string](b, `[...document.querySelectorAll("input")].map((i) => i.value).join("\n")`); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q:\n%s", at, want, text)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, fault := range b.faults {
		t.Error(fmt.Sprint("on an address that leads nowhere: ", fault))
	}
	b.faults = nil
}
