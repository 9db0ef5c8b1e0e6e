// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"
)

// What follows the start of the last controller is watched for a shorter time than in the round daily of cron, and of
// all sides at once: each process is counted by itself.
const idleFrom, idleTo = 20 * time.Second, 70 * time.Second

// dailyTimetables gives each side very many objects of which none is due for hours, and starts its controller.
func dailyTimetables(ctx context.Context, o options, dir string, b binaries) (err error) {
	sides, end, err := newTurns(ctx, o, dir, b)
	defer func() { err = firstOf(err, end()) }()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d daily objects of each side are put into its store\n", o.daily)
	if err := together(len(sides), len(sides), func(i int) error { return sides[i].store(ctx, o.daily) }); err != nil {
		return err
	}
	results, written := make([]dailyResult, len(sides)), make([]map[string]int, len(sides))
	for i, t := range sides {
		fmt.Fprintf(os.Stderr, "%s: %d daily %s\n", t.name, o.daily, t.objects)
		if written[i], err = t.writes(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := t.start(ctx, b, t.controller); err != nil {
			return err
		}
		r := &results[i]
		if r.start, r.startCPU, r.peak, err = t.started(ctx, began, o.daily); err != nil {
			return err
		}
		after, err := t.writes(ctx)
		if err != nil {
			return err
		}
		written[i] = minus(after, written[i])
	}
	idle := time.Now()
	for _, at := range []time.Duration{idleFrom, idleTo} {
		if err := sleepUntil(ctx, idle.Add(at)); err != nil {
			return err
		}
		for i, t := range sides {
			results[i].early = results[i].late
			if results[i].late, err = t.usage(); err != nil {
				return err
			}
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(table, "%d daily\tstart\tCPU of it\twrites of it\tmemory at most\tmemory idle\tof which per object\tCPU idle\n", o.daily)
	for i, t := range sides {
		r := results[i]
		fmt.Fprintf(table, "%s, %s\t%s\t%s\t%d\t%s\t%s\t%.1f KB\t%.2f %%\n", t.name, t.objects, short(r.start), short(r.startCPU), total(written[i]),
			r.peak, r.late, float64(r.late.anon)/float64(o.daily)/1000, 100*(r.late.cpu-r.early.cpu).Seconds()/(idleTo-idleFrom).Seconds())
	}
	fmt.Fprintln(table)
	return table.Flush()
}

func total(writes map[string]int) (n int) {
	for _, count := range writes {
		n += count
	}
	return n
}
