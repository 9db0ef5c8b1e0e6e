// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
)

// Text is the report for people. It may hold what users wrote: control characters are to be escaped before it is shown.
func (r *Report) Text() string {
	var b strings.Builder
	for i, result := range r.Results {
		if i > 0 {
			b.WriteString("\n")
		}
		r.object(&b, result)
	}
	b.WriteString("\n")
	for _, line := range r.assumptions() {
		b.WriteString(wrapped("", line, r.width()))
	}
	return b.String()
}

func (r *Report) object(b *strings.Builder, result *simulation.Result) {
	zone := zoneOf(result)
	fmt.Fprintf(b, "%s\n", joined("  ", result.Object.Reference(), describe(result)))
	b.WriteString(wrapped("  ", fmt.Sprintf("%s to %s (%s)", instant(result.Span.From, zone), instant(result.Span.To, zone), shortDuration(result.Span.To.Sub(result.Span.From))),
		r.width()))
	if why := result.Object.Hindrance(); why != "" {
		b.WriteString(wrapped("  cannot be served: ", why, r.width()))
		if len(result.Runs) == 0 && len(result.NotStarted) == 0 && len(result.Changes) <= 1 {
			return
		}
	}
	if why := result.Hindrance; why != "" && why != result.Object.Hindrance() {
		b.WriteString(wrapped("  ", "cannot be served at the end: "+why, r.width()))
	}
	b.WriteString("\n")
	r.summary(b, result)
	b.WriteString("\n" + r.lanes(result))
	if list := r.happened(result); list != "" {
		b.WriteString("\n  what happens\n" + list)
	}
}

func (r *Report) summary(b *strings.Builder, result *simulation.Result) {
	s, zone := result.Summarize(), zoneOf(result)
	line := func(label, format string, args ...any) {
		b.WriteString(wrapped(fmt.Sprintf("  %-12s", label), fmt.Sprintf(format, args...), r.width()))
	}
	ended := joined(", ", some(s.Succeeded, "succeeded"), some(s.Failed, "failed"), some(s.Replaced, "stopped for a later one"), some(s.Running, "still running at the end"))
	if before := len(result.Runs) - s.Started; before > 0 {
		ended += fmt.Sprintf(" (%d of them ran before)", before)
	}
	if s.Started == 0 && ended == "" {
		line("started", "none")
	} else {
		line("started", "%s: %s", quantity.CountGrouped(s.Started, "run"), ended)
	}
	if s.Retries > 0 {
		line("retries", "%s", quantity.CountGrouped(s.Retries, "further attempt"))
	}
	if s.Late > 0 {
		also := ""
		if s.CatchUps > 0 {
			also = fmt.Sprintf("; %s made up for %s", quantity.Grouped(s.CatchUps), madeUpFor(result))
		}
		line("late", "%s, the longest by %s (%s)%s", quantity.CountGrouped(s.Late, "run"), shortDuration(s.LongestWait), instant(s.WaitedAt, zone), also)
	}
	if s.MostAtOnce > 0 {
		share := 100 * s.Busy.Seconds() / result.Span.To.Sub(result.Span.From).Seconds()
		line("at once", "%d at most; something runs %.0f%% of the time", s.MostAtOnce, share)
	}
	if s.LongestRun > 0 {
		line("longest", "%s (%s)", shortDuration(s.LongestRun), instant(s.LongestAt, zone))
	}
	if s.Waiting > 0 {
		line("waiting", "%s at the end", quantity.CountGrouped(s.Waiting, "time"))
	}
	if h := result.Held; h != nil {
		line("held", "%s, of which nothing is decided at the end: %s", quantity.CountGrouped(h.Count, "time"), h.Why)
	}
	if s.Skipped+s.Missed > 0 {
		line("not started", "%s: %s", quantity.CountGrouped(s.Skipped+s.Missed, "time"), joined(", ", some(s.Skipped, "skipped, as it asks"), some(s.Missed, "missed")))
		for _, reason := range s.Reasons {
			if reason.Count > 0 {
				b.WriteString(wrapped(fmt.Sprintf("    %8s  ", quantity.Grouped(reason.Count)), simulation.ReasonWord(reason.Reason)+": "+simulation.ReasonText(reason.Reason), r.width()))
			}
		}
	}
}

// madeUpFor says what runs make up for, if it is one thing.
func madeUpFor(result *simulation.Result) string {
	paused := slices.ContainsFunc(result.Changes, func(c simulation.Change) bool { return c.Kind == simulation.Resumed })
	switch down := len(result.Outages) > 0; {
	case down && !paused:
		return "what no controller saw"
	case paused && !down:
		return "what passed in a pause"
	}
	return "later"
}

func some(n int, what string) string {
	if n == 0 {
		return ""
	}
	return quantity.Grouped(n) + " " + what
}

// assumptions say what the simulation took for granted.
func (r *Report) assumptions() []string {
	m := r.Model
	overhead := ""
	if m.Overhead > 0 {
		overhead = fmt.Sprintf(" and %s more until it runs and its end is seen (--overhead)", shortDuration(m.Overhead))
	}
	lines := []string{fmt.Sprintf("Assumed: a run takes %s%s, and %s.", durations(m.Durations), overhead, failures(m.Fail))}
	stopped := false
	for _, result := range r.Results {
		stopped = stopped || result.Summarize().Replaced > 0
		if result.Limit > 0 && m.Durations.At(99) > result.Limit {
			lines = append(lines, fmt.Sprintf("A run of %s fails after %s, as it asks (%s).", result.Object.Reference(), shortDuration(result.Limit), result.LimitField))
		}
	}
	if stopped {
		lines = append(lines, fmt.Sprintf("A run that is stopped goes on for %s (--stopping).", zeroDuration(m.Stopping)))
	}
	begins := "Objects begin as if they had just been created"
	if r.FromStatus {
		begins = "Objects begin with the status that they have"
	}
	return append(lines, begins+"; creates succeed.")
}

func durations(d simulation.Durations) string {
	if short, long := d.At(50), d.At(99); short != long {
		return fmt.Sprintf("%s in half of the cases and more than %s in one of 100 (log-normal; --duration)", shortDuration(short), shortDuration(long))
	}
	return shortDuration(d.At(50)) + " (--duration)"
}

func failures(p float64) string {
	if p == 0 {
		return "none fails (--fail)"
	}
	return fmt.Sprintf("%.3g%% of them fail (--fail)", 100*p)
}

func zeroDuration(d time.Duration) string {
	if d == 0 {
		return "no time"
	}
	return shortDuration(d)
}

// describe says what an object asks for, in short: its schedules, zone and policy.
func describe(result *simulation.Result) string {
	spec, _, _ := unstructured.NestedMap(result.Object.Content.Object, "spec")
	var schedules []string
	if text, ok := spec["schedule"].(string); ok {
		schedules = append(schedules, fmt.Sprintf("%q", text))
	}
	list, _ := spec["schedules"].([]any)
	for _, item := range list {
		fields, _ := item.(map[string]any)
		for _, name := range []string{"cron", "every"} {
			if text, ok := fields[name].(string); ok {
				schedules = append(schedules, joined(" ", map[string]string{"every": "every"}[name], fmt.Sprintf("%q", text)))
			}
		}
		if at, ok := fields["at"].([]any); ok {
			schedules = append(schedules, quantity.CountGrouped(len(at), "single time"))
		}
	}
	zone, _ := spec["timeZone"].(string)
	policy, _ := spec["concurrencyPolicy"].(string)
	if concurrency, ok := spec["concurrency"].(map[string]any); ok {
		policy, _ = concurrency["policy"].(string)
	}
	if zone == "" {
		zone = zoneOf(result).String()
	}
	if policy == "" {
		policy = "Allow"
		if result.Object.Timetable() != nil {
			policy = "Forbid"
		}
	}
	if len(schedules) > 3 {
		schedules = append(schedules[:2], fmt.Sprintf("and %d more schedules", len(schedules)-2))
	}
	return joined(", ", strings.Join(schedules, " "), zone, policy)
}
