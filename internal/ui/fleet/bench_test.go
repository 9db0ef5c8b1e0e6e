// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// many are so many schedules of all kinds, a tenth of them at midnight, with ten runs each.
func many(schedules int) uitest.World {
	var manifests strings.Builder
	w := uitest.World{}
	for n := range schedules {
		schedule := fmt.Sprintf("%d %d * * *", n%60, n%24)
		switch n % 10 {
		case 0:
			schedule = "0 0 * * *"
		case 1:
			schedule = fmt.Sprintf("*/%d * * * *", 15+n%15)
		}
		manifests.WriteString(cronJob(fmt.Sprintf("team-%02d", n%50), fmt.Sprintf("job-%06d", n), schedule))
		for r := range 10 {
			w.Runs = append(w.Runs, aRun(fmt.Sprintf("team-%02d", n%50), fmt.Sprintf("job-%06d", n), time.Duration(r*24)*time.Hour+time.Duration(n%1440)*time.Minute, run.Succeeded, time.Duration(n%600)*time.Second))
		}
	}
	w.Manifests = manifests.String()
	return w
}

// BenchmarkFleet is a page of 10,000 schedules and 100,000 runs: the first, with all that it waits for, and any later
// one.
func BenchmarkFleet(b *testing.B) {
	w := many(10_000)
	site := uitest.Site(b, w, onTheSite)
	show := func(s *page.Site, target string) int {
		r := httptest.NewRecorder()
		s.ServeHTTP(r, httptest.NewRequest("GET", target, nil))
		if r.Code != 200 || r.Header().Get("Refresh") != "" {
			b.Fatal(r.Code, r.Header())
		}
		return r.Body.Len()
	}
	b.Run("forecast", func(b *testing.B) {
		f := &fleet{site: site}
		for b.Loop() {
			if _, err := f.forecast(b.Context(), choice{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, target := range map[string]string{"fleet": "/fleet", "the fullest minute": "/fleet/minute?at=2026-11-03T00:00Z", "a day": "/fleet/day?date=2026-11-01"} {
		b.Run(name, func(b *testing.B) {
			bytes := show(site, target)
			for b.Loop() {
				show(site, target)
			}
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}
