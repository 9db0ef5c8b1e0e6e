// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package browser

import (
	"os"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/network"
)

// CARILLON_PAGE=URL go test ./test/browser -run TestFirstPaint -v measures the first contentful paint of a page that is
// served elsewhere, and how many bytes it takes, with nothing kept by the browser. It measures time: so it fails for
// none.
func TestFirstPaint(t *testing.T) {
	address := os.Getenv("CARILLON_PAGE")
	if address == "" {
		t.Skip("measures only where CARILLON_PAGE names a page")
	}
	needsBrowser(t)
	b := open(t, address, desk)
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	for _, at := range []string{"/", "/timeline", "/timeline?zoom=1mo", "/fleet", "/schedules", "/simulate"} {
		var paints, bytes []float64
		for range 7 {
			b.visit(at)
			until(t, "the first paint of "+at, func() bool {
				return evaluate[int](b, `performance.getEntriesByName("first-contentful-paint").length`) > 0
			})
			paints = append(paints, evaluate[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`))
			bytes = append(bytes, evaluate[float64](b, `performance.getEntriesByType("navigation")[0].transferSize + performance.getEntriesByType("resource").reduce((n, e) => n + e.transferSize, 0)`))
		}
		slices.Sort(paints)
		slices.Sort(bytes)
		elements := evaluate[int](b, `document.querySelectorAll("*").length`)
		t.Logf("%-20s first paint %4.0f ms (%.0f to %.0f), %4.0f KB with all that belongs to it, %d elements", at, paints[3], paints[0], paints[6], bytes[3]/1000, elements)
	}
}
