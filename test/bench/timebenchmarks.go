// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"text/tabwriter"
	"time"
)

// benchmarkGoals are the Go benchmarks of what a Timetable asks of its times, and the most that each may take, 0 for no
// such goal.
var benchmarkGoals = []struct {
	pkg, name, is string
	time          time.Duration
	allocs        int
}{
	{"./schedule/timeset", "BenchmarkNext/one_daily", "Next of one schedule", 200 * time.Nanosecond, 0},
	{"./schedule/timeset", "BenchmarkNext/ten_schedules", "Next of ten schedules with exclusions", 2 * time.Microsecond, 0},
	{"./schedule/timeset", "BenchmarkLastBetween", "LastBetween of them", 2 * time.Microsecond, 0},
	{"./schedule/timeset", "BenchmarkCount/minutely", "times missed in 400 days, each minute", 10 * time.Millisecond, -1},
	{"./schedule/timeset", "BenchmarkCount/ten_schedules", "the same, ten schedules with exclusions", 10 * time.Millisecond, -1},
	{"./internal/cron", "BenchmarkOutage", "a decision after 400 days, each minute", 10 * time.Millisecond, -1},
	{"./internal/kind/timetable", "BenchmarkOutage", "a pass after 400 days, each minute", 10 * time.Millisecond, -1},
	{"./internal/kind/timetable", "BenchmarkRead/waiting", "reading a Timetable that waits for its time", 0, -1},
	{"./internal/kind/timetable", "BenchmarkRead/running", "reading one with a run under way", 5 * time.Microsecond, -1},
}

var benchmarkLine = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op(?:.*?(\d+) allocs/op)?`)

// timeBenchmarks runs the benchmarks beside the code.
func timeBenchmarks(ctx context.Context, _ options, _ string, _ binaries) error {
	took := map[string][2]float64{} // ns and allocations
	for pkg, names := range map[string]string{
		"./schedule/timeset": "^(BenchmarkNext|BenchmarkLastBetween|BenchmarkCount)$", "./internal/cron": "^BenchmarkOutage$",
		"./internal/kind/timetable": "^(BenchmarkOutage|BenchmarkRead)$",
	} {
		fmt.Fprintln(os.Stderr, "benchmarks of", pkg)
		var out bytes.Buffer
		if err := command(ctx, &out, "go", "test", "-run", "^$", "-bench", names, "-benchmem", "-benchtime", "500ms", pkg).Run(); err != nil {
			return fmt.Errorf("benchmarks of %s: %w\n%s", pkg, err, out.String())
		}
		for lines := bufio.NewScanner(&out); lines.Scan(); {
			if m := benchmarkLine.FindStringSubmatch(lines.Text()); m != nil {
				ns, _ := strconv.ParseFloat(m[2], 64)
				allocs, _ := strconv.ParseFloat(m[3], 64)
				took[pkg+" "+m[1]] = [2]float64{ns, allocs}
			}
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "times of a Timetable\ttook\tallocations\tgoal\treached")
	for _, g := range benchmarkGoals {
		r, ran := took[g.pkg+" "+g.name]
		if !ran {
			return fmt.Errorf("%s has no %s", g.pkg, g.name)
		}
		is, verdict, goal := time.Duration(r[0]), "yes", "at most "+g.time.String()
		if g.allocs >= 0 {
			goal += fmt.Sprintf(", %d allocations", g.allocs)
		}
		if g.time == 0 {
			goal, verdict = "", ""
		} else if is > g.time || g.allocs >= 0 && int(r[1]) > g.allocs {
			verdict = "no"
		}
		fmt.Fprintf(table, "%s\t%s\t%.0f\t%s\t%s\n", g.is, is, r[1], goal, verdict)
	}
	fmt.Fprintln(table)
	return table.Flush()
}
