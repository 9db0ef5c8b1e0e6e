// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cron_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/carillon-dev/carillon/internal/cron"
)

// One decision at a scheduled time, with a time zone and a full history: what each of thousands of CronJobs costs that
// are due in the same minute.
func BenchmarkDecide(b *testing.B) {
	s := fixture("K", "12:10:00", zone("Europe/Rome"), last("12:00"), active("12:00"), has("11:50", complete), has("11:40", complete),
		has("11:30", complete), has("11:20", failed))
	slices.SortFunc(s.in.Children, func(a, b cron.Child) int { return cmp.Compare(a.Name, b.Name) }) // as the shell does
	b.ReportAllocs()
	for b.Loop() {
		if len(cron.Decide(s.in).Starts) == 0 {
			b.Fatal("nothing starts")
		}
	}
}

// TT-048: the decision after an outage of 400 days, in each minute of which a time was missed.
func BenchmarkOutage(b *testing.B) {
	s := fixture("G", "2026-05-04T12:10:30Z", schedule("* * * * *"), made("2025-01-01T00:00:00Z"), cursor("2025-03-30T12:10:00Z"))
	b.ReportAllocs()
	for b.Loop() {
		if len(cron.Decide(s.in).Starts) != 1 {
			b.Fatal("nothing starts, or several")
		}
	}
}

// The same with what makes it dearer.
func BenchmarkDearOutage(b *testing.B) {
	const start = "2025-03-30T12:00:00Z"
	for name, givens := range map[string][]given{
		"all":      {limit(1), catchUp(cron.CatchUpAll, 100)},
		"excluded": {limit(1), excluded("01-01/03-31"), jitter(time.Minute)},
		"edited":   {limit(1), schedule("*/7 * * * *")},
	} {
		b.Run(name, func(b *testing.B) {
			s := fixture("G", "2026-05-04T12:00:00Z", append([]given{schedule("* * * * *"), made(start), cursor(start)}, givens...)...)
			b.ReportAllocs()
			for b.Loop() {
				if len(cron.Decide(s.in).Starts) == 0 {
					b.Fatal("nothing starts")
				}
			}
		})
	}
}
