// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// places are one page of each kind; the walk adds what they lead to.
var places = []string{"/", "/timeline", "/timeline?zoom=1mo", "/fleet", "/schedules", "/simulate", "/settings", "/schedule/cronjob/ops/backup", "/schedule/timetable/data/warehouse",
	"/schedules?namespace=" + longNamespace, "/schedule/cronjob/" + longNamespace + "/" + longName, "/why/cronjob/" + longNamespace + "/" + longName,
	"/timeline?namespace=" + longNamespace, "/act/edit?kind=cronjob&namespace=" + longNamespace + "&name=" + longName, "/run/default/parts"}

// parts is a Job of so many attempts that a phone has no room for all of their tabs.
const parts = `apiVersion: batch/v1
kind: Job
metadata: {name: parts}
spec: {parallelism: 6, completions: 12, completionMode: Indexed, template: {spec: {restartPolicy: Never, containers: [{name: main, image: host, command: [echo, part]}]}}}
`

// kindOf tells pages apart that differ in names and numbers only.
func kindOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	kind := parts[0]
	if kind == "act" || kind == "schedule" || kind == "why" {
		kind = strings.Join(parts[:min(2, len(parts))], "/")
	}
	if kind == "run" && len(parts) > 3 {
		kind += "/" + parts[3]
	}
	var keys []string
	for key := range u.Query() {
		keys = append(keys, key)
	}
	if len(keys) > 0 && (kind == "schedules" || kind == "timeline" || kind == "fleet") {
		return kind + "?" + fmt.Sprint(len(keys))
	}
	return kind
}

// notPages are addresses that give no page: downloads, and streams of events.
var notPages = regexp.MustCompile(`download|/log/|/log\?|/events|^/logout|^/assets/|raw`)

// Every page that links lead to is there, without a fault of a script or refused content, fits its window, and axe
// finds nothing to remark: as one sees it by day, by night, on phones and tablets, and in
// large letters. Long names make no page wider.
func TestEveryPage(t *testing.T) {
	address := page(t)
	apply(t, parts)
	until(t, "the attempts of parts", func() bool {
		return kubectl(t, dataDir(), "get", "job", "parts", "-o", "jsonpath={.status.succeeded}") == "12"
	})
	for name, w := range map[string]window{"by day": desk, "by night": night, "on a phone": phone, "on a narrow phone": narrow, "on a tablet": tablet, "in large letters": near} {
		t.Run(name, func(t *testing.T) {
			b := open(t, address, w)
			seen := map[string]bool{}
			queue := slices.Clone(places)
			for n := 0; n < len(queue); n++ {
				at, kind := queue[n], kindOf(queue[n])
				if seen[kind] && n >= len(places) {
					continue
				}
				seen[kind] = true
				b.visit(at)
				if title := evaluate[string](b, "document.title"); !strings.HasSuffix(title, "Carillon") || title == " · Carillon" {
					t.Errorf("%s has the title %q", at, title)
				}
				if n := evaluate[int](b, `document.querySelectorAll("h1").length`); n != 1 {
					t.Errorf("%s has %d headings of the first rank", at, n)
				}
				b.wantFitting()
				b.wantReadablePictures()
				b.wantAccessible()
				b.wantNoFaults()
				for _, link := range evaluate[[]string](b, `[...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href"))`) {
					if strings.HasPrefix(link, "/") && !notPages.MatchString(link) {
						queue = append(queue, link)
					}
				}
			}
			t.Logf("%d kinds of pages", len(seen))
			if len(seen) < 15 {
				t.Errorf("links lead to %d kinds of pages only: %v", len(seen), seen)
			}
		})
	}
}
