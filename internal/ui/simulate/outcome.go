// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/explanation"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
	"github.com/carillon-dev/carillon/internal/plan/simulation"
	"github.com/carillon-dev/carillon/internal/plan/upcoming"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// How much is worked out.
const (
	// mostTimes is how many scheduled times are simulated.
	mostTimes = 5000
	// nextTimes is how many are listed.
	nextTimes = 10
)

// outcome is what is answered.
type outcome struct {
	*explanation.Explanation
	// Named says who takes the schedule: "a CronJob", "a Timetable".
	Named string
	Next  []nextTime
	// Zone is that of the schedule; Beside tells whether the viewer's clocks show otherwise.
	Zone   *time.Location
	Beside bool
	// End says why there are fewer times than usual; "" if there are not.
	End string
	// Often says how often it runs.
	Often string

	Summary simulation.Summary
	// Sentence is the summary in words, Points are what is special about it.
	Sentence string
	Points   []string
	Picture  *picture
	Happened list
	// Cut says that less was simulated than was asked for; "" if all was.
	Cut string
	// Span is what was simulated.
	Span simulation.Span
	// Hindrance says why nothing can start as it is written; "" if nothing keeps it.
	Hindrance string
}

// answer works out what is asked. What is wrong with that is in f.Faults then. enough is asked now and then; it ends
// what has taken too long.
func (f *form) answer(base *workload.Scheduled, now time.Time, viewer *time.Location, enough func() bool) *outcome {
	a := f.read(now, viewer)
	if len(f.Faults) > 0 {
		return nil
	}
	object, err := a.object(base)
	if err != nil {
		f.fault("schedule", err)
		return nil
	}
	o := &outcome{Explanation: explanation.OfObject(object, nil, now), Named: "a CronJob", Hindrance: object.Hindrance()}
	if a.timetable {
		o.Named = "a Timetable"
	}
	source := upcoming.Of(object, nil)
	o.Zone = source.Zone
	o.times(source.List(a.span.From, nextTimes), now, viewer)
	o.Often = often(o.Frequency)
	o.simulate(object, &a, f, enough)
	return o
}

// simulate carries it out, as far as that is no great work.
func (o *outcome) simulate(object *workload.Scheduled, a *asked, f *form, enough func() bool) {
	span := a.span
	if times := object.Policy.Timing.Times; times != nil {
		if end, cut := bounded(object, span); cut {
			o.Cut = fmt.Sprintf("There are more than %s times in that span; what comes until %s is simulated.", quantity.Grouped(mostTimes), end.In(o.Zone).Format("2 Jan 2006 15:04:05"))
			span.To = end
		}
	}
	last := span.To
	options := simulation.Options{From: span.From, To: span.To, Model: a.model, Outages: a.outages,
		Progress: func(_ *workload.Scheduled, at time.Time) bool {
			if enough() {
				last = at
				return false
			}
			return true
		}}
	result := simulation.Simulate(object, options)
	if last.Before(span.To) {
		result.Span.To = last
		o.Cut = strings.TrimPrefix(o.Cut+" ", " ") + fmt.Sprintf("That would take long to work out; it was simulated until %s.", last.In(o.Zone).Format("2 Jan 2006 15:04:05"))
	}
	o.Span = result.Span
	o.Summary = result.Summarize()
	o.Sentence, o.Points = inWords(result, &o.Summary, o.Zone)
	o.Picture = pictureOf(result, o.Zone)
	o.Happened = listOf(result, f)
}

// bounded gives where a span with more than mostTimes ends after that many of them. "@every" counts as well.
func bounded(object *workload.Scheduled, span simulation.Span) (end time.Time, cut bool) {
	timing := object.Policy.Timing
	if every := timing.Every; every > 0 {
		end = span.From.Add(every * mostTimes)
		return end, end.After(span.From) && end.Before(span.To)
	}
	if timing.Times.Count(span.From, span.To) <= mostTimes {
		return span.To, false
	}
	// The instant after which there are too many is between these; counting is cheap.
	low, high := span.From, span.To
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2).Truncate(time.Second)
		if !middle.After(low) {
			break
		}
		if timing.Times.Count(span.From, middle) <= mostTimes {
			low = middle
		} else {
			high = middle
		}
	}
	return high, true
}

// often says how often a schedule runs.
func often(f *explanation.Frequency) string {
	if f == nil || f.Runs == 0 {
		return ""
	}
	text := runs(f.PerDay) + " a day"
	switch {
	case f.PerDay < 0.1:
		text = quantity.CountGrouped(f.Runs, "run") + " in the next two years"
	case f.PerDay < 1:
		text = runs(f.PerMonth) + " a month"
	}
	if f.SmallestDistanceSeconds > 0 {
		least, most := time.Duration(f.SmallestDistanceSeconds)*time.Second, time.Duration(f.LargestDistanceSeconds)*time.Second
		if least == most {
			return text + ", always " + duration.Short(least) + " apart"
		}
		return text + ", from " + duration.Short(least) + " to " + duration.Short(most) + " apart"
	}
	return text
}

// runs writes a mean number of them.
func runs(mean float64) string {
	whole := int(math.Round(mean))
	if math.Abs(mean-float64(whole)) < 0.005 || mean >= 100 {
		return quantity.CountGrouped(whole, "run")
	}
	return "about " + strings.TrimSuffix(fmt.Sprintf("%.1f", mean), ".0") + " runs"
}

// inWords says a summary in a sentence, and what is special about it.
func inWords(r *simulation.Result, s *simulation.Summary, zone *time.Location) (sentence string, points []string) {
	sentence = quantity.CountGrouped(s.Started, "run") + " would start"
	var ends []string
	for _, end := range []struct {
		n         int
		one, many string
	}{{s.Succeeded, "succeeds", "succeed"}, {s.Failed, "fails", "fail"}, {s.Replaced, "is stopped for a later one", "are stopped for a later one"},
		{s.Running, "still runs at the end", "still run at the end"}} {
		switch {
		case end.n == 1:
			ends = append(ends, "1 "+end.one)
		case end.n > 1:
			ends = append(ends, quantity.Grouped(end.n)+" "+end.many)
		}
	}
	if len(ends) > 0 {
		sentence += ": " + strings.Join(ends, ", ")
	}
	sentence += "."
	at := func(t time.Time) string { return t.In(zone).Format("Mon 2 Jan 15:04") }
	for _, reason := range s.Reasons {
		word := "skipped"
		if reason.Missed {
			word = "missed"
		}
		points = append(points, fmt.Sprintf("%s %s: %s.", quantity.CountGrouped(reason.Count, "time"), word, simulation.ReasonText(reason.Reason)))
	}
	if s.Late > 0 {
		points = append(points, fmt.Sprintf("%s would start late, the longest wait is %s (%s).", quantity.CountGrouped(s.Late, "run"), duration.Short(s.LongestWait), at(s.WaitedAt)))
	}
	if s.MostAtOnce > 1 {
		points = append(points, fmt.Sprintf("%s would go on at the same time (%s).", quantity.CountGrouped(s.MostAtOnce, "run"), at(s.MostAt)))
	}
	if s.CatchUps > 0 {
		points = append(points, fmt.Sprintf("%s would make up for times that were found late.", quantity.CountGrouped(s.CatchUps, "run")))
	}
	if s.Retries > 0 {
		points = append(points, fmt.Sprintf("%s after a failed one.", quantity.CountGrouped(s.Retries, "further attempt")))
	}
	if s.Waiting > 0 {
		points = append(points, fmt.Sprintf("%s would wait at the end.", quantity.CountGrouped(s.Waiting, "time")))
	}
	if h := r.Held; h != nil {
		points = append(points, fmt.Sprintf("%s would be undecided at the end: %s.", quantity.CountGrouped(h.Count, "time"), h.Why))
	}
	for _, c := range r.Changes {
		points = append(points, fmt.Sprintf("%s: %s, %s.", at(c.At), c.Kind, c.Text))
	}
	const mostPoints = 12
	if more := len(points) - mostPoints; more > 0 {
		points = append(points[:mostPoints], fmt.Sprintf("and %d more.", more))
	}
	return sentence, points
}
