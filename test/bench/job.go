// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jobTable prints each row as soon as it is measured.
type jobTable struct{ *tabwriter.Writer }

func (t jobTable) row(round, side, rate string, total, cpu time.Duration, writes string) {
	took, used := "–", "–"
	if total > 0 {
		took, used = short(total), short(cpu)
	}
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", round, side, rate, took, used, writes)
	_ = t.Flush() // shows the row at once; the last Flush tells whether stdout works
}

func job(ctx context.Context, o options, dir string, b binaries) (err error) {
	table := jobTable{tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)}
	defer func() { err = firstOf(err, table.Flush()) }()
	fmt.Fprintln(table, "round\tside\tresult\ttotal\tCPU of the controller\twrites")
	for _, round := range []struct {
		name string
		run  func(context.Context, options, string, binaries, jobTable) error
	}{{"jobs", manyJobs}, {"backlog", waitingJobs}, {"big", bigJobs}, {"latency", idleLatency}, {"memory", finishedMemory}} {
		if !o.round(round.name) {
			continue
		}
		for range o.repeat {
			if err := round.run(ctx, o, dir, b, table); err != nil {
				return fmt.Errorf("round %s: %w", round.name, err)
			}
		}
	}
	return nil
}

// manyJobs is many Jobs of one Pod at once.
func manyJobs(ctx context.Context, o options, dir string, b binaries, table jobTable) error {
	for _, n := range o.jobs {
		for _, name := range sides(o) {
			err := jobRound(ctx, o, name, dir, b, 0, func(ctx context.Context, s *side, k *kubelet) error {
				total, cpu, writes, err := measure(ctx, s, func() error {
					if err := createJobs(ctx, s.client, name, "one", n, 16, false); err != nil {
						return err
					}
					return k.wait(ctx, n)
				})
				table.row(fmt.Sprintf("%d one-pod Jobs", n), name,
					fmt.Sprintf("%.0f Jobs/s (first third %.0f, last third %.0f)", float64(n)/total.Seconds(), k.rate("one", 0, .33), k.rate("one", .67, 1)),
					total, cpu, perRun(without(writes, "POST jobs", "PATCH pods/status"), n)+" a Job")
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// waitingJobs is many Jobs of one Pod that were there before the controller, as after an outage: nothing but the
// controller and the ends of Pods takes the machine's time. It counts from the first Pod on, so that the start of the
// process is left out.
func waitingJobs(ctx context.Context, o options, dir string, b binaries, table jobTable) error {
	for _, n := range o.jobs {
		for _, name := range sides(o) {
			if err := waitingRound(ctx, o, n, name, dir, b, table); err != nil {
				return err
			}
		}
	}
	return nil
}

func waitingRound(ctx context.Context, o options, n int, name, dir string, b binaries, table jobTable) (err error) {
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	defer stop()
	if err := createJobs(ctx, s.client, name, "one", n, 16, false); err != nil {
		return err
	}
	k, err := playKubelet(ctx, o, s, 0)
	if err != nil {
		return err
	}
	earlier, err := s.settled(ctx)
	if err != nil {
		return err
	}
	if err := s.start(ctx, b, "job"); err != nil {
		return err
	}
	if err := k.wait(ctx, n); err != nil {
		return fmt.Errorf("%s: %w; its log ends: %s", name, err, s.tail())
	}
	total := time.Since(k.born[0])
	later, err := s.settled(ctx)
	if err != nil {
		return err
	}
	used, err := s.usage()
	if err != nil {
		return err
	}
	table.row(fmt.Sprintf("%d one-pod Jobs that were waiting", n), name, fmt.Sprintf("%.0f Jobs/s", float64(n)/total.Seconds()),
		total, used.cpu, perRun(without(minus(later, earlier), "PATCH pods/status"), n)+" a Job")
	return nil
}

// bigJobs is one Job of many Pods, and a Job of one Pod beside it.
func bigJobs(ctx context.Context, o options, dir string, b binaries, table jobTable) error {
	for _, n := range o.big {
		for _, mode := range []batchv1.CompletionMode{batchv1.IndexedCompletion, batchv1.NonIndexedCompletion} {
			for _, name := range sides(o) {
				err := jobRound(ctx, o, name, dir, b, 0, func(ctx context.Context, s *side, k *kubelet) error {
					small := time.Duration(0)
					total, cpu, writes, err := measure(ctx, s, func() error {
						if _, err := s.client.BatchV1().Jobs(namespace).Create(ctx, oneJob(name, "big", int32(n), mode), metav1.CreateOptions{}); err != nil {
							return err
						}
						began := time.Now()
						if _, err := s.client.BatchV1().Jobs(namespace).Create(ctx, oneJob(name, "small", 1, batchv1.NonIndexedCompletion), metav1.CreateOptions{}); err != nil {
							return err
						}
						err := k.wait(ctx, 2)
						small = k.ended["small"].Sub(began)
						return err
					})
					table.row(fmt.Sprintf("one %s Job of %d pods", mode, n), name,
						fmt.Sprintf("%.0f pods/s (a one-pod Job beside it: %s)", float64(n)/total.Seconds(), short(small)),
						total, cpu, perRun(without(writes, "POST jobs", "PATCH pods/status"), n)+" a pod")
					return err
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func idleLatency(ctx context.Context, o options, dir string, b binaries, table jobTable) error {
	for _, name := range sides(o) {
		after, err := latency(ctx, o, name, dir, b)
		if err != nil {
			return err
		}
		table.row("idle: from the end of a pod to the next pod, or to the end of the Job", name, after.String(), 0, 0, "–")
	}
	return nil
}

// latency runs some Pods of one Job, one after the other on an idle plane, and tells how long after the end of each
// the next one is seen, or the Job's own end.
func latency(ctx context.Context, o options, name, dir string, b binaries) (after durations, err error) {
	n := o.latency
	err = jobRound(ctx, o, name, dir, b, 300*time.Millisecond, func(ctx context.Context, s *side, k *kubelet) error {
		job := oneJob(name, "chain", int32(n), batchv1.IndexedCompletion)
		job.Spec.Parallelism = new(int32(1))
		if _, err := s.client.BatchV1().Jobs(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := k.wait(ctx, 1); err != nil {
			return err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		if len(k.born) != n || len(k.died) != n {
			return fmt.Errorf("%d Pods appeared and %d ended, expected %d", len(k.born), len(k.died), n)
		}
		for i, died := range k.died {
			next := k.ended["chain"]
			if i+1 < n {
				next = k.born[i+1]
			}
			after = append(after, next.Sub(died))
		}
		return nil
	})
	return after, err
}

// finishedMemory is what a controller process holds that has seen many finished Jobs.
func finishedMemory(ctx context.Context, o options, dir string, b binaries, table jobTable) error {
	for _, name := range sides(o) {
		u, err := jobMemory(ctx, name, o.finished, dir, b)
		if err != nil {
			return err
		}
		table.row(fmt.Sprintf("%d finished Jobs", o.finished), name,
			fmt.Sprintf("memory: %d MiB anonymous, %d MiB resident", u.anon>>20, u.rss>>20), 0, 0, "–")
	}
	return nil
}

func jobMemory(ctx context.Context, name string, n int, dir string, b binaries) (u processUsage, err error) {
	fmt.Fprintf(os.Stderr, "%s: %d finished Jobs\n", name, n)
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return u, err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	if err := createJobs(ctx, s.client, name, "old", n, 32, true); err != nil {
		return u, err
	}
	if err := s.start(ctx, b, "job"); err != nil {
		return u, err
	}
	if err := sleepUntil(ctx, time.Now().Add(30*time.Second)); err != nil {
		return u, err
	}
	return s.usage()
}

// without leaves out the writes that this program makes itself.
func without(writes map[string]int, own ...string) map[string]int {
	for _, k := range own {
		delete(writes, k)
	}
	return writes
}

func jobRound(ctx context.Context, o options, name, dir string, b binaries, runs time.Duration, do func(context.Context, *side, *kubelet) error) (err error) {
	fmt.Fprintln(os.Stderr, name)
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	defer stop()
	k, err := playKubelet(ctx, o, s, runs)
	if err != nil {
		return err
	}
	if err := s.start(ctx, b, "job"); err != nil {
		return err
	}
	if err := sleepUntil(ctx, time.Now().Add(5*time.Second)); err != nil {
		return err
	}
	return do(ctx, s, k)
}

func measure(ctx context.Context, s *side, do func() error) (total, cpu time.Duration, writes map[string]int, err error) {
	before, err := s.usage()
	if err != nil {
		return 0, 0, nil, err
	}
	earlier, err := s.writes(ctx)
	if err != nil {
		return 0, 0, nil, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, 0, nil, fmt.Errorf("%s: %w; its log ends: %s", s.name, err, s.tail())
	}
	total = time.Since(began)
	later, err := s.settled(ctx) // trailing writes belong to the work
	if err != nil {
		return 0, 0, nil, err
	}
	after, err := s.usage()
	if err != nil {
		return 0, 0, nil, err
	}
	return total, after.cpu - before.cpu, minus(later, earlier), nil
}
