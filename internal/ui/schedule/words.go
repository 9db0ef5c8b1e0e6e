// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/history"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/words"
)

// functions are those of this page's templates.
var functions = template.FuncMap{
	"lasted":    lasted,
	"trend":     func(s history.Summary) string { return wordsOfTrend(&s) },
	"rate":      rateOf,
	"used":      usedText,
	"frequency": frequencyText,
	"failure":   func(r *run.Run) string { why, _, _ := ending(r); return why },
	"half":      func(n float64) float64 { return (n + labelled) / 2 },
	"int":       func(n int64) int { return int(n) },
	"add":       func(a, b int64) int64 { return a + b },
	"minus":     func(a, b float64) float64 { return a - b },
}

// rate is how many runs succeeded.
type rate struct {
	Text, Class string
	Of          int
}

// rateOf is nil if none ended well or badly.
func rateOf(s history.Summary) *rate {
	part, ok := s.SuccessRate()
	if !ok {
		return nil
	}
	r := &rate{Of: s.Succeeded + s.Failed, Class: "good"}
	if s.Failed > 0 {
		r.Class = ""
	}
	if part < 0.5 {
		r.Class = "bad"
	}
	percent := math.Round(part*1000) / 10
	switch { // all or nothing is said of all or nothing alone
	case part < 1 && percent >= 100:
		percent = 99.9
	case part > 0 && percent <= 0:
		percent = 0.1
	}
	r.Text = strings.TrimSuffix(fmt.Sprintf("%.1f", percent), ".0") + " %"
	return r
}

// usedText says what the runs used, how late they were, and how many were tried again; "" for nothing of it.
func usedText(s history.Summary) string {
	var parts []string
	if s.MemoryPeak > 0 {
		parts = append(parts, "at most "+quantity.Bytes(s.MemoryPeak)+" of memory")
	}
	if s.CPU > 0 {
		parts = append(parts, lasted(s.CPU)+" of CPU time in all")
	}
	if s.OutputBytes > 0 {
		parts = append(parts, quantity.Bytes(s.OutputBytes)+" of output in all")
	}
	var sentences []string
	if len(parts) > 0 {
		sentences = append(sentences, "They used "+strings.Join(parts, "; ")+".")
	}
	if s.Late > 0 {
		sentences = append(sentences, fmt.Sprintf("%s started more than a minute late, the latest %s.", quantity.CountGrouped(s.Late, "run"), lasted(s.Latest)))
	}
	if s.Retries > 0 {
		sentences = append(sentences, quantity.CountGrouped(s.Retries, "run")+" needed more than one try.")
	}
	return strings.Join(sentences, " ")
}

// frequencyText says how often a schedule runs.
func frequencyText(f *explanation.Frequency) string {
	text := fmt.Sprintf("%s in the next two years", quantity.CountGrouped(f.Runs, "run"))
	if f.PerDay >= 1 {
		text = fmt.Sprintf("About %s a day", quantity.CountGrouped(int(math.Round(f.PerDay)), "run"))
	}
	least, most := seconds(f.SmallestDistanceSeconds), seconds(f.LargestDistanceSeconds)
	switch {
	case f.Runs < 2 || least == 0:
	case least == most:
		text += ", each " + words.Duration(least) + " after the one before"
	default:
		text += fmt.Sprintf("; from one to the next it is %s to %s", words.Duration(least), words.Duration(most))
	}
	return text + "."
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
