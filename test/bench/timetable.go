// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/carillon-dev/carillon/api/v1alpha1"
)

// allowedLateness is how much later than CronJobs of batch/v1 under our controller Timetables may start.
const allowedLateness = 1.15

const (
	// preparation is how long it takes until all objects are there and all controllers are at work, on a machine that has
	// little else to do; then a controller has as long as settling to come to rest.
	preparation = 25 * time.Second
	settling    = 10 * time.Second
)

// turn is a side of the comparison and the times at which all of its objects are due: each has the machine to itself
// for half a minute at least, the built-in controller for a whole one, which it needs.
type turn struct {
	name, objects string
	controller    string
	annotation    string
	// second is that of the minute, and odd tells of which minutes: those that are odd when counted from the first one.
	second int
	odd    bool
	length time.Duration

	*side
	starts *starts
	first  time.Time // when all were due in its first turn
	result cronResult
	p50s   durations
	p99s   durations
}

// turns are the sides of the comparison, in the order in which they are due.
func turns(o options) []*turn {
	all := []*turn{
		{name: "carillon", objects: "CronJobs", controller: "cronjob", annotation: batchv1.CronJobScheduledTimestampAnnotation, length: 28 * time.Second},
		{name: "timetable", objects: "Timetables", controller: "timetable", annotation: v1alpha1.AnnotationScheduledTime, second: 30, length: 28 * time.Second},
		{name: "builtin", objects: "CronJobs", controller: "cronjob", annotation: batchv1.CronJobScheduledTimestampAnnotation, odd: true, length: 58 * time.Second},
	}
	if o.only != "" {
		all = slices.DeleteFunc(all, func(t *turn) bool { return t.name != o.only })
	}
	return all
}

func (t *turn) create(ctx context.Context, n int, first time.Time) error {
	minutes := "*/2"
	if (first.Minute()%2 == 1) != t.odd {
		minutes = "1-59/2"
	}
	if t.name == "timetable" {
		return createTimetables(ctx, t.kubeconfig, n, fmt.Sprintf("%d %s * * * *", t.second, minutes))
	}
	return createCronJobs(ctx, t.client, n, minutes+" * * * *", false)
}

func timetables(ctx context.Context, o options, dir string, b binaries) error {
	for _, round := range []struct {
		name string
		run  func(context.Context, options, string, binaries) error
	}{{"together", timetablesTogether}, {"daily", dailyTimetables}, {"benchmarks", timeBenchmarks}} {
		if !o.round(round.name) {
			continue
		}
		if err := round.run(ctx, o, dir, b); err != nil {
			return fmt.Errorf("round %s: %w", round.name, err)
		}
	}
	return nil
}

// timetablesTogether has all objects of each side due at one instant, the sides in turns: of what the machine does
// beside, each has its share.
func timetablesTogether(ctx context.Context, o options, dir string, b binaries) (err error) {
	watching, stopWatching := context.WithCancel(ctx)
	sides, end, err := newTurns(ctx, o, dir, b)
	defer func() {
		stopWatching()
		err = firstOf(err, end())
	}()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d objects of each side, due at one instant, %d times\n", o.cronJobs, o.bursts)
	first := time.Now().Add(preparation).Truncate(time.Minute).Add(time.Minute)
	for _, t := range sides {
		if err := t.create(ctx, o.cronJobs, first); err != nil {
			return err
		}
		if t.starts, err = watchStarts(watching, t.client, t.annotation); err != nil {
			return err
		}
		if err := t.start(ctx, b, t.controller); err != nil {
			return err
		}
	}
	for time.Until(first) < settling {
		first = first.Add(2 * time.Minute)
	}
	for burst := range o.bursts {
		for _, t := range sides {
			if t.odd && burst > 0 && burst == o.bursts-1 { // nobody's turn comes after it
				continue
			}
			at := first.Add(time.Duration(burst)*2*time.Minute + time.Duration(t.second)*time.Second)
			if t.odd {
				at = at.Add(time.Minute)
			}
			if err := t.measure(ctx, at, o.cronJobs); err != nil {
				return err
			}
		}
	}
	for _, t := range sides {
		if err := t.end(ctx); err != nil {
			return err
		}
	}
	return printTogether(sides, o)
}

// newTurns starts a control plane for each side; end stops them, and must be called whatever the error.
func newTurns(ctx context.Context, o options, dir string, b binaries) (sides []*turn, end func() error, err error) {
	end = func() error {
		var errs []error
		for _, t := range sides {
			errs = append(errs, t.stop())
		}
		return firstOf(errs...)
	}
	for _, t := range turns(o) {
		if t.side, err = newSide(ctx, t.name, dir, b); err != nil {
			return sides, end, err
		}
		sides = append(sides, t)
		if t.name == "timetable" {
			if err := defineTimetables(ctx, t.kubeconfig); err != nil {
				return sides, end, err
			}
		}
	}
	return sides, end, nil
}

// measure watches what a side does when all of its objects are due at that time, until the next one's turn.
func (t *turn) measure(ctx context.Context, at time.Time, n int) error {
	if err := sleepUntil(ctx, at.Add(-time.Second)); err != nil {
		return err
	}
	if err := t.begin(ctx, at); err != nil {
		return err
	}
	peak := t.watchPeak(ctx)
	err := sleepUntil(ctx, at.Add(t.length))
	most := peak()
	if err != nil {
		return err
	}
	t.starts.mu.Lock()
	late := slices.Clone(t.starts.late[at.UTC()])
	t.starts.mu.Unlock()
	if len(late) != n {
		fmt.Fprintf(os.Stderr, "%s: %d runs of %s, expected %d: the machine has too much else to do\n", t.name, len(late), at.Format(time.TimeOnly), n)
	}
	r := &t.result
	r.late = append(r.late, late...)
	r.peak.anon, r.peak.rss = max(r.peak.anon, most.anon), max(r.peak.rss, most.rss)
	t.p50s, t.p99s = append(t.p50s, late.at(.5)), append(t.p99s, late.at(.99))
	return nil
}

// begin notes, before its first turn, what a side has used and written so far.
func (t *turn) begin(ctx context.Context, at time.Time) error {
	if t.result.writes != nil {
		return nil
	}
	t.first = at
	before, err := t.usage()
	if err != nil {
		return err
	}
	t.result.cpu = before.cpu
	t.result.writes, err = t.writes(ctx)
	return err
}

// end tells what a side has used and written since then, when the last write is done.
func (t *turn) end(ctx context.Context) error {
	writes, err := t.settled(ctx)
	if err != nil {
		return err
	}
	after, err := t.usage()
	if err != nil {
		return err
	}
	t.starts.mu.Lock()
	defer t.starts.mu.Unlock()
	for at, late := range t.starts.late {
		if !at.Before(t.first) {
			t.result.runs += len(late)
		}
	}
	t.result.cpu, t.result.writes = after.cpu-t.result.cpu, minus(writes, t.result.writes)
	return nil
}

// median is the middle one, or the mean of the two in the middle.
func (d durations) median() time.Duration {
	s := slices.Sorted(slices.Values(d))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// statusWrites are those of the objects themselves, for each run.
func (t *turn) statusWrites() float64 {
	n := 0
	for what, count := range t.result.writes {
		if strings.HasSuffix(what, " cronjobs/status") || strings.HasSuffix(what, " timetables/status") {
			n += count
		}
	}
	return float64(n) / float64(max(1, t.result.runs))
}

func printTogether(sides []*turn, o options) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "%d due at one instant, %d times\tp50\tp99\tmax\tp99 of each\tCPU per run\tmemory at most\twrites per run\n", o.cronJobs, o.bursts)
	by := map[string]*turn{}
	for _, t := range sides {
		by[t.name] = t
		r := t.result
		var each []string
		for _, p99 := range t.p99s {
			each = append(each, short(p99))
		}
		fmt.Fprintf(table, "%s, %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.name, t.objects, short(r.late.at(.5)), short(r.late.at(.99)), short(r.late.at(1)),
			strings.Join(each, ", "), (r.cpu / time.Duration(max(1, r.runs))).Round(10*time.Microsecond), r.peak,
			perRun(without(r.writes, "PUT jobs/status"), r.runs)) // the harness ends the Jobs
	}
	fmt.Fprintln(table)
	if ours, k := by["timetable"], by["carillon"]; ours != nil && k != nil {
		for _, q := range []struct {
			name    string
			ours, k durations
		}{{"p50", ours.p50s, k.p50s}, {"p99", ours.p99s, k.p99s}} {
			ratio := q.ours.median().Seconds() / q.k.median().Seconds()
			goal(table, fmt.Sprintf("%s of Timetables at most %.2f of that of CronJobs (medians of %d)", q.name, allowedLateness, o.bursts),
				fmt.Sprintf("%.2f", ratio), ratio <= allowedLateness)
		}
	}
	if t := by["timetable"]; t != nil {
		goal(table, "status writes per run of a Timetable: at most 2", fmt.Sprintf("%.2f", t.statusWrites()), t.statusWrites() <= 2)
	}
	fmt.Fprintln(table)
	return table.Flush()
}

// goal prints what is to be reached, what was, and whether that is enough.
func goal(table *tabwriter.Writer, is, reached string, enough bool) {
	verdict := "no"
	if enough {
		verdict = "yes"
	}
	fmt.Fprintf(table, "%s:\t%s, %s\n", is, verdict, reached)
}
