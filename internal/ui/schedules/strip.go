// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package schedules

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/client/lookup"
	"github.com/carillon-dev/carillon/internal/client/task"
	"github.com/carillon-dev/carillon/internal/journal"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/ui/page"
)

const (
	// stripRuns is how many runs a strip shows.
	stripRuns = 10
	// stripsAtOnce is how many are looked up side by side, stripsWithin how long that may take: the list is of use
	// without them.
	stripsAtOnce = 4
	stripsWithin = 2 * time.Second
)

// strip are the last runs of a schedule, the newest at the right.
type strip struct {
	Cells []cell
	// Last is the newest run; nil if none is known.
	Last *run.Run
	// Text says it in words: "the last 10 runs: 9 succeeded, 1 failed".
	Text string
}

// cell is one run in a strip.
type cell struct {
	X     int
	Class string
	// Text says how it ended, and when.
	Text string
	At   time.Time
}

// stripOf draws runs, newest first.
func stripOf(runs []run.Run, now time.Time) strip {
	var s strip
	if len(runs) == 0 {
		return s
	}
	s.Last = &runs[0]
	counts, order := map[string]int{}, []string{}
	for n := range runs {
		r := &runs[n]
		o := page.OutcomeOf(r)
		text := o.Text
		if took := r.Duration(now); took > 0 && r.Outcome.Ended() {
			text += " after " + duration.Short(took)
		}
		s.Cells = append(s.Cells, cell{X: (stripRuns - 1 - n) * 8, Class: o.Class, Text: text, At: r.Time()})
		if counts[o.Text]++; counts[o.Text] == 1 {
			order = append(order, o.Text)
		}
	}
	var parts []string
	for _, text := range order {
		parts = append(parts, quantity.Grouped(counts[text])+" "+text)
	}
	s.Text = "The last " + quantity.Count(len(runs), "run") + ": " + strings.Join(parts, ", ")
	return s
}

// fillStrips looks up the last runs of each row that is shown.
func (c *content) fillStrips(ctx context.Context, log *slog.Logger, source lookup.Source, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, stripsWithin)
	defer cancel()
	err := task.Each(log, "the last runs of a schedule", stripsAtOnce, len(c.Rows), func(n int) error {
		r := &c.Rows[n]
		if r.Owner.UID == "" {
			return nil
		}
		runs, err := source.Runs(ctx, journal.Query{Namespace: r.Owner.Namespace, OwnerUID: r.Owner.UID, Limit: stripRuns})
		if err == nil {
			r.Strip = stripOf(r.MarkRetrying(runs), now)
		}
		return err
	})
	if err != nil {
		c.Unread = err.Error()
	}
}
