// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures Carillon's controllers beside Kubernetes' own, in one run on one machine:
//
//	go run ./test/bench cron       2,000 CronJobs at one instant, with and without old Jobs, one idle, memory,
//	                               many of which none is due for hours
//	go run ./test/bench timetable  Timetables beside CronJobs at the same times under both controllers, in turns;
//	                               many daily ones; Go benchmarks of their times
//	go run ./test/bench job        one-pod Jobs, new ones and waiting ones, one big Job, a small one beside it,
//	                               latency when idle, memory
//
// Each side gets a control plane of its own as a process, and its controller as another process; this
// process only creates the work, plays the kubelet (kubelet.go) and watches. CPU and memory are those
// of the controller's process alone; API writes are the API server's own count. Both sides run without
// a client-side rate limit. docs/performance.md holds the results.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

// roundsOf are the rounds of each thing to measure.
var roundsOf = map[string]string{
	"cron": "together,old,idle,memory,daily", "timetable": "together,daily,benchmarks", "job": "jobs,backlog,big,latency,memory",
}

type options struct {
	cronJobs int
	bursts   int
	minutes  int
	old      int
	idle     int
	daily    int
	jobs     []int
	big      []int
	latency  int
	finished int
	kubelet  string
	only     string
	rounds   []string
	repeat   int
}

// round reports whether the round of this name is asked for.
func (o options) round(name string) bool { return slices.Contains(o.rounds, name) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || roundsOf[args[0]] == "" {
		return fmt.Errorf("say what to measure: cron, timetable or job")
	}
	o := options{}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.IntVar(&o.cronJobs, "cronjobs", 2000, "CronJobs due at one instant")
	flags.IntVar(&o.minutes, "minutes", 3, "minutes to watch")
	flags.IntVar(&o.old, "old", 10000, "finished Jobs lying around in the round old")
	flags.IntVar(&o.idle, "idle", 10000, "suspended CronJobs of the memory round of cron")
	daily := 50000
	if args[0] == "timetable" {
		daily = 100000
	}
	flags.IntVar(&o.daily, "daily", daily, "CronJobs of the daily round of cron, and objects of a kind in that of timetable")
	flags.IntVar(&o.bursts, "bursts", 3, "times that all objects of timetable are due at one instant, each side in its turn")
	all := roundsOf[args[0]]
	var jobs, big, rounds string
	flags.StringVar(&rounds, "rounds", all, "rounds to run")
	flags.StringVar(&jobs, "jobs", "1000,3000", "numbers of one-pod Jobs")
	flags.StringVar(&big, "big", "2000,10000", "numbers of pods of one Job")
	flags.IntVar(&o.latency, "latency", 50, "Pods of the latency round")
	flags.IntVar(&o.finished, "finished", 50000, "finished Jobs of the memory round of job")
	flags.StringVar(&o.kubelet, "kubelet", "store", "how the simulated kubelet of job writes the end of a Pod: into the store, which leaves the machine to the controllers, or through the api")
	flags.IntVar(&o.repeat, "repeat", 1, "times each round of job is run; the sides take turns, and a machine has its moods")
	flags.StringVar(&o.only, "only", "", "measure one side alone: builtin, carillon or (of timetable) timetable")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	o.rounds = strings.Split(rounds, ",")
	for _, r := range o.rounds {
		if !slices.Contains(strings.Split(all, ","), r) {
			return fmt.Errorf("there is no round %q; the rounds are %s", r, all)
		}
	}
	if o.repeat < 1 || o.bursts < 1 {
		return fmt.Errorf("-repeat and -bursts must be at least 1, not %d and %d", o.repeat, o.bursts)
	}
	if o.kubelet != "store" && o.kubelet != "api" {
		return fmt.Errorf("there is no kubelet %q; there is store and api", o.kubelet)
	}
	var err error
	if o.jobs, err = numbers(jobs); err != nil {
		return err
	}
	if o.big, err = numbers(big); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "carillon-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // temporary
	binaries, err := build(ctx, dir)
	if err != nil {
		return err
	}
	switch args[0] {
	case "cron":
		return cronJobs(ctx, o, dir, binaries)
	case "timetable":
		return timetables(ctx, o, dir, binaries)
	}
	return job(ctx, o, dir, binaries)
}

func numbers(list string) ([]int, error) {
	var out []int
	for f := range strings.SplitSeq(list, ",") {
		if f == "" {
			continue
		}
		var n int
		if _, err := fmt.Sscanf(f, "%d", &n); err != nil || n <= 0 {
			return nil, fmt.Errorf("%q is not a list of positive numbers", list)
		}
		out = append(out, n)
	}
	return out, nil
}

// binaries are the processes that are measured.
type binaries struct{ plane, builtin, carillon string }

func build(ctx context.Context, dir string) (binaries, error) {
	b := binaries{filepath.Join(dir, "plane"), filepath.Join(dir, "kube-controller-manager"), filepath.Join(dir, "carillon-manager")}
	for out, pkg := range map[string]string{b.plane: "./test/bench/plane", b.builtin: "./test/bench/builtin", b.carillon: "./cmd/carillon-manager"} {
		fmt.Fprintln(os.Stderr, "building", pkg)
		if err := command(ctx, nil, "go", "build", "-o", out, pkg).Run(); err != nil {
			return b, fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	return b, nil
}
