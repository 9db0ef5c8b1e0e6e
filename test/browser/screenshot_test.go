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

// CARILLON_SCREENSHOTS=DIR go test ./test/browser -run TestScreenshots takes the pictures of the documentation.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("CARILLON_SCREENSHOTS")
	if dir == "" {
		t.Skip("takes pictures only where CARILLON_SCREENSHOTS names a directory for them")
	}
	address := page(t)
	// Something runs.
	kubectl(t, dataDir(), "create", "job", "recommendations-now", "-n", "shop", "--from=cronjob/recommendations")
	defer kubectl(t, dataDir(), "delete", "job", "recommendations-now", "-n", "shop", "--wait=false")
	for name, w := range map[string]window{"": desk, "-dark": night, "-phone": phone} {
		b := open(t, address, w)
		for file, at := range map[string]string{
			"now": "/", "timeline": "/timeline?zoom=1d", "timeline-month": "/timeline?zoom=1mo", "fleet": "/fleet", "schedules": "/schedules", "simulate": "/simulate?schedule=30+2+*+*+*&zone=Europe/Berlin",
			"schedule": "/schedule/cronjob/ops/backup", "timetable": "/schedule/timetable/data/warehouse", "why": "/why/cronjob/ops/backup", "edit": "/act/edit?kind=cronjob&namespace=ops&name=backup",
			"run-now": "/act/run-now?kind=cronjob&namespace=ops&name=backup", "failure": "", "missing": "/schedule/cronjob/ops/bakcup", "settings": "/settings",
		} {
			if file == "failure" {
				b.visit("/schedule/cronjob/shop/sync-stock")
				at = evaluate[string](b, `document.querySelector('main a[href^="/run/"]').getAttribute("href")`)
			}
			b.visit(at)
			time.Sleep(300 * time.Millisecond) // for the eye: charts that scripts draw
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file+name+".png"), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
