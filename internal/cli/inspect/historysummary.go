// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/cli/console"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// mostReasons is how many reasons of failures are told.
const mostReasons = 5

// summaryItems says what runs tell together.
func summaryItems(s *history.Summary, zone *time.Location) []item {
	items := []item{{quantity.CountGrouped(s.Runs, "run"), outcomesText(s)}}
	if s.Runs == 0 {
		items = nil
	}
	add := func(word, text string) {
		if text != "" {
			items = append(items, item{word, text})
		}
	}
	add("took", tookText(s, zone))
	add("trend", trendText(s.Trend))
	for n, r := range s.Reasons {
		word := ""
		if n == 0 {
			word = "failed"
		}
		if n == mostReasons && len(s.Reasons) > mostReasons+1 {
			items = append(items, item{"", fmt.Sprintf("and %d other reasons", len(s.Reasons)-n)})
			break
		}
		items = append(items, item{word, reasonText(r)})
	}
	if s.Late > 0 {
		add("late", fmt.Sprintf("%s started more than %s after its time, the latest %s", quantity.CountGrouped(s.Late, "run"), duration.Short(history.Late), duration.Short(s.Latest)))
	}
	add("not run", omittedText(s))
	add("tries", triesText(s))
	add("used", usedText(s))
	return items
}

func outcomesText(s *history.Summary) string {
	var parts []string
	count := func(n int, word string) {
		if n > 0 {
			parts = append(parts, quantity.Grouped(n)+" "+word)
		}
	}
	succeeded := "succeeded"
	if rate, ok := s.SuccessRate(); ok && s.Failed > 0 {
		succeeded += " (" + percent(rate) + ")"
	}
	count(s.Succeeded, succeeded)
	count(s.Failed, "failed")
	count(s.Cancelled, "cancelled")
	count(s.Unknown, "of unknown end")
	count(s.Active, "not ended")
	return strings.Join(parts, ", ")
}

// percent writes a part of 1: never 100 % or 0 % for what is not all or nothing.
func percent(part float64) string {
	n := math.Round(part*1000) / 10
	switch {
	case part < 1 && n >= 100:
		n = 99.9
	case part > 0 && n <= 0:
		n = 0.1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0") + " %"
}

// leastForPercentile is from how many runs on 95 of 100 say more than the longest does.
const leastForPercentile = 20

func tookText(s *history.Summary, zone *time.Location) string {
	d := &s.Took
	if d.Runs == 0 {
		return ""
	}
	if d.Runs == 1 {
		return took(d.Median)
	}
	text := "median " + took(d.Median)
	if d.Runs >= leastForPercentile {
		text += ", 95 % within " + took(d.Percentile95)
	}
	text += fmt.Sprintf(", shortest %s, longest %s (%s)", took(d.Shortest), took(d.Longest), clockIn(d.LongestAt, zone))
	if s.AllEnded {
		return text + "; of those that ended"
	}
	if s.Failed+s.Cancelled > 0 {
		return text + "; of those that succeeded"
	}
	return text
}

func trendText(t *history.Trend) string {
	if t == nil {
		return ""
	}
	return t.Words()
}

func reasonText(r history.Reason) string {
	reason := r.Reason
	if reason == "" {
		reason = "no reason told"
	}
	text := quantity.Grouped(r.Runs) + " × " + reason
	if r.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	return text
}

func omittedText(s *history.Summary) string {
	var parts []string
	if s.Missed > 0 {
		parts = append(parts, quantity.CountGrouped(int(s.Missed), "time")+" missed")
	}
	if s.Skipped > 0 {
		parts = append(parts, quantity.CountGrouped(int(s.Skipped), "time")+" skipped")
	}
	return strings.Join(parts, ", ")
}

func triesText(s *history.Summary) string {
	var parts []string
	if s.Retries > 0 {
		parts = append(parts, fmt.Sprintf("%s needed more than one try (%s in all)", quantity.CountGrouped(s.Retries, "run"), quantity.Grouped(s.Tries)))
	}
	if s.Restarted > 0 {
		parts = append(parts, quantity.CountGrouped(s.Restarted, "run")+" needed more than one attempt")
	}
	return strings.Join(parts, ", ")
}

func usedText(s *history.Summary) string {
	var parts []string
	if s.MemoryPeak > 0 {
		parts = append(parts, "at most "+quantity.Bytes(s.MemoryPeak)+" of memory")
	}
	if s.CPU > 0 {
		parts = append(parts, console.FormatDuration(s.CPU)+" of CPU time in all")
	}
	if s.OutputBytes > 0 {
		parts = append(parts, quantity.Bytes(s.OutputBytes)+" of output in all")
	}
	return strings.Join(parts, ", ")
}
