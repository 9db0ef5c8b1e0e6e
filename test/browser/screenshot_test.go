// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// pictures are what TestScreenshots looks at: the name of the file, and the address. Those of the documentation show
// one window each.
var pictures = []struct {
	name, address string
	documented    bool
}{
	{"now", "/", true},
	{"timeline", "/timeline?zoom=1d", true},
	{"timeline-month", "/timeline?zoom=1mo", false},
	{"fleet", "/fleet", true},
	{"schedules", "/schedules", true},
	{"schedule", "/schedule/cronjob/ops/backup", true},
	{"timetable", "/schedule/timetable/data/warehouse", false},
	{"failure", "", true},
	{"why", "/why/cronjob/ops/cleanup", false},
	{"edit", "/act/edit?kind=cronjob&namespace=ops&name=backup", false},
	{"run-now", "/act/run-now?kind=cronjob&namespace=ops&name=backup", true},
	{"simulate", "/simulate?schedule=30+2+*+*+*&zone=Europe/Berlin", true},
	{"missing", "/schedule/cronjob/ops/bakcup", false},
	{"settings", "/settings", false},
}

// CARILLON_SCREENSHOTS=DIR go test ./test/browser -run TestScreenshots takes pictures of whole pages, to look at. With
// CARILLON_DOCUMENTATION=1 they are those of the documentation: fewer, each as large as the window.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("CARILLON_SCREENSHOTS")
	if dir == "" {
		t.Skip("takes pictures only where CARILLON_SCREENSHOTS names a directory for them")
	}
	documentation := os.Getenv("CARILLON_DOCUMENTATION") != ""
	address := page(t)
	// Something runs.
	kubectl(t, dataDir(), "create", "job", "recommendations-now", "-n", "shop", "--from=cronjob/recommendations")
	defer kubectl(t, dataDir(), "delete", "job", "recommendations-now", "-n", "shop", "--wait=false")
	for suffix, w := range map[string]window{"": desk, "-dark": night, "-phone": phone} {
		b := open(t, address, w)
		take := chromedp.FullScreenshot(100)
		if documentation {
			take = chromedp.CaptureScreenshot()
		}
		for _, p := range pictures {
			if documentation && !p.documented {
				continue
			}
			at := p.address
			if p.name == "failure" {
				b.visit("/schedule/cronjob/shop/sync-stock")
				at = evaluate[string](b, `document.querySelector('main a[href^="/run/"]').getAttribute("href")`)
			}
			b.visit(at)
			time.Sleep(300 * time.Millisecond) // for the eye: charts that scripts draw
			picture, err := chromedp.Run(b.ctx, take)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, p.name+suffix+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
