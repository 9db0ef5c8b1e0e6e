// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/status"
	"github.com/carillon-dev/carillon/internal/plan/workload"
	"github.com/carillon-dev/carillon/internal/ui/page"
	"github.com/carillon-dev/carillon/internal/ui/uitest"
)

// atOnce gives what is known without finding it out.
type atOnce struct {
	page.Cache
	schedules []*workload.Scheduled
	status    *status.Status
}

func (c *atOnce) Schedules(context.Context) ([]*workload.Scheduled, error) { return c.schedules, nil }
func (c *atOnce) Status(context.Context) (*status.Status, error)           { return c.status, nil }

// bigSite has 10,000 schedules, most of them hourly, and a journal of 100,000 runs of the last days: the first page has
// ten schedules that run each minute.
func bigSite(b *testing.B) *page.Site {
	b.Helper()
	const schedules, runs, minutely = 10_000, 100_000, 10
	var manifests strings.Builder
	for n := range schedules {
		expression := fmt.Sprintf("%d * * * *", n%60)
		if n < minutely {
			expression = "* * * * *"
		}
		manifests.WriteString(cronJob("team", fmt.Sprintf("report-%05d", n), `schedule: "`+expression+`"`))
	}
	dir := b.TempDir()
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var batch []run.Run
	put := func(n, of int, before time.Duration) {
		r := aRun("team", fmt.Sprintf("report-%05d", of), fmt.Sprintf("report-%05d-%d", of, n), before, time.Duration(n%50)*time.Second, run.Succeeded)
		r.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
		if n%50 == 0 {
			r.Outcome, r.Reason = run.Failed, "BackoffLimitExceeded"
		}
		if batch = append(batch, r); len(batch) == 1000 {
			if err := j.Record(b.Context(), batch, nil); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	for n := range runs {
		if n < runs/2 {
			put(n, n%minutely, time.Duration(n/minutely+1)*time.Minute)
		} else {
			put(n, n%schedules, time.Duration(n/schedules+1)*time.Hour)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	reader, err := journal.OpenReader(dir)
	if err != nil {
		b.Fatal(err)
	}
	source := lookup.NewJournal(reader, "the journal of a test", "")
	b.Cleanup(func() { _ = source.Close() })
	s := uitest.Site(b, uitest.World{Manifests: manifests.String()}, Register)
	all, err := s.Cache.Schedules(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	s.Cache, s.Source = &atOnce{Cache: s.Cache, schedules: all, status: status.Of(&status.Input{Now: uitest.Now, Schedules: all, Served: true})}, source
	return s
}

// BenchmarkPage is a page of 10,000 schedules and 100,000 runs.
func BenchmarkPage(b *testing.B) {
	s := bigSite(b)
	for _, query := range []string{"zoom=1h", "zoom=1d", "zoom=1mo", "zoom=1mo&as=table", "zoom=1d&page=200", "zoom=1d&date=2026-10-28", "sort=next", "sort=failure"} {
		b.Run(query, func(b *testing.B) {
			size := 0
			for b.Loop() {
				code, body := uitest.Get(b, s, "/timeline?"+query)
				if code != 200 || !strings.Contains(body, "report-0") {
					b.Fatal(code, body)
				}
				size = len(body)
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}
