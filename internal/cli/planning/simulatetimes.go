// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/client/exitcode"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// simulateTimes are the flags that say when.
type simulateTimes struct {
	from, to, lasts string
	outages         []string
}

const (
	defaultSpan = 24 * time.Hour
	// longestSpan keeps a typing mistake from taking hours.
	longestSpan = 10 * 366 * 24 * time.Hour
)

// span reads what is simulated.
func (t *simulateTimes) span(now time.Time, zone *time.Location) (simulation.Span, error) {
	s := simulation.Span{From: now.UTC().Truncate(time.Second)}
	var err error
	if t.from != "" {
		if s.From, err = simulateTime("--from", t.from, s.From, zone); err != nil {
			return s, err
		}
	}
	switch {
	case t.to != "" && t.lasts != "":
		return s, exitcode.UsageError("--to and --for both say when it ends; leave one out")
	case t.to != "":
		if s.To, err = simulateTime("--to", t.to, s.From, zone); err != nil {
			return s, err
		}
	default:
		lasts := defaultSpan
		if t.lasts != "" {
			if lasts, err = simulation.ParseDuration(t.lasts); err != nil {
				return s, exitcode.UsageError("--for: %w", err)
			}
		}
		s.To = s.From.Add(lasts)
	}
	end := "--for"
	if t.to != "" {
		end = "--to"
	}
	switch lasts := s.To.Sub(s.From); {
	case lasts <= 0:
		return s, exitcode.UsageError("it ends (%s) before it begins (%s)", s.To.Format(time.RFC3339), s.From.Format(time.RFC3339))
	case lasts < time.Minute:
		return s, exitcode.UsageError("from %s to %s is less than a minute", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	case lasts > longestSpan:
		return s, exitcode.UsageError("from %s to %s is more than ten years", s.From.Format(time.RFC3339), s.To.Format(time.RFC3339))
	}
	return s, withinYears("--from", s.From, end, s.To)
}

// outagesIn reads the outages.
func (t *simulateTimes) outagesIn(span simulation.Span, zone *time.Location) ([]simulation.Span, error) {
	var outages []simulation.Span
	for _, text := range t.outages {
		from, to, found := strings.Cut(text, "..")
		if !found {
			return nil, exitcode.UsageError("--outage %q: write FROM..TO, such as 2027-03-01T02:00..2027-03-01T04:00 or +2h..+4h", text)
		}
		var o simulation.Span
		var err error
		if o.From, err = simulateTime("--outage", from, span.From, zone); err != nil {
			return nil, err
		}
		if o.To, err = simulateTime("--outage", to, span.From, zone); err != nil {
			return nil, err
		}
		if !o.To.After(o.From) {
			return nil, exitcode.UsageError("--outage %q: it ends before it begins", text)
		}
		if !o.To.After(span.From) || !o.From.Before(span.To) {
			return nil, exitcode.UsageError("--outage %q lies outside of what is simulated, %s to %s", text, span.From.Format(time.RFC3339), span.To.Format(time.RFC3339))
		}
		outages = append(outages, o)
	}
	return outages, nil
}

// simulateTime reads an instant of a flag.
func simulateTime(flag, text string, begins time.Time, zone *time.Location) (time.Time, error) {
	t, err := simulation.ParseInstant(text, begins, zone)
	if err != nil {
		return t, exitcode.UsageError("%s %w", flag, err)
	}
	return t, nil
}
