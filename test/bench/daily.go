// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

const (
	// sampleEvery is how often a process is looked at.
	sampleEvery = 250 * time.Millisecond
	// quiet is how long a process must have used less than a twentieth of a core to have started.
	quiet = 5 * time.Second
	// early and late are the times after the start at which an idle process is looked at.
	early, late = 30 * time.Second, 3 * time.Minute
)

// dailyResult is what a controller needs for CronJobs of which none is due.
type dailyResult struct {
	// start and startCPU are what passed, and what was used, until it was quiet; peak is the most memory until then.
	start, startCPU time.Duration
	peak            processUsage
	// early and late are the memory then, and idleCPU is the use of a core between the two, in percent.
	early, late processUsage
	idleCPU     float64
}

func (r dailyResult) String() string {
	return fmt.Sprintf("started in %s with %s of CPU, at most %s; idle %s after %s, %s after %s, %.2f %% of a core",
		short(r.start), short(r.startCPU), r.peak, r.early, early, r.late, late, r.idleCPU)
}

// createDaily creates assorted CronJobs that are due once a day, in twelve hours.
func createDaily(ctx context.Context, client kubernetes.Interface, n int) error {
	hour := (time.Now().UTC().Hour() + 12) % 24
	return together(n, 16, func(i int) error {
		cj := make.Assorted(i)
		cj.Namespace, cj.Spec.Schedule = namespace, fmt.Sprintf("%d %d * * *", i%60, hour)
		_, err := client.BatchV1().CronJobs(namespace).Create(ctx, cj, metav1.CreateOptions{})
		return err
	})
}

func daily(ctx context.Context, name string, o options, dir string, b binaries) (r dailyResult, err error) {
	fmt.Fprintf(os.Stderr, "%s: %d daily CronJobs\n", name, o.daily)
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return r, err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	if err := createDaily(ctx, s.client, o.daily); err != nil {
		return r, err
	}
	began := time.Now()
	if err := s.start(ctx, b, "cronjob"); err != nil {
		return r, err
	}
	if r.start, r.startCPU, r.peak, err = s.started(ctx, began, o.daily); err != nil {
		return r, err
	}
	began = began.Add(r.start)
	if err := sleepUntil(ctx, began.Add(early)); err != nil {
		return r, err
	}
	first, err := s.usage()
	if err != nil {
		return r, err
	}
	if err := sleepUntil(ctx, began.Add(late)); err != nil {
		return r, err
	}
	last, err := s.usage()
	r.early, r.late = first, last
	r.idleCPU = 100 * (last.cpu - first.cpu).Seconds() / (late - early).Seconds()
	return r, err
}

// leastCPU is what no controller gets by with for reading an object and looking at it: one that has used less is quiet
// because the API server has not answered yet.
const leastCPU = 20 * time.Microsecond

// started waits until the controller that was started at began, and has n objects, has been quiet for a while, and
// tells what passed until then.
func (s *side) started(ctx context.Context, began time.Time, n int) (start, cpu time.Duration, peak processUsage, err error) {
	lastBusy, lastCPU := began, time.Duration(0)
	for time.Since(lastBusy) < quiet || lastCPU < time.Duration(n)*leastCPU {
		if err := sleepUntil(ctx, time.Now().Add(sampleEvery)); err != nil {
			return 0, 0, peak, err
		}
		u, err := s.usage()
		if err != nil {
			return 0, 0, peak, err
		}
		peak.anon, peak.rss = max(peak.anon, u.anon), max(peak.rss, u.rss)
		if u.cpu-lastCPU > sampleEvery/20 {
			lastBusy, cpu = time.Now(), u.cpu
		}
		lastCPU = u.cpu
	}
	return lastBusy.Sub(began), cpu, peak, nil
}

// watchPeak looks at the memory of the controller until stop is called, which gives the most that it was.
func (s *side) watchPeak(ctx context.Context) (stop func() processUsage) {
	ctx, cancel := context.WithCancel(ctx)
	var peak processUsage
	var watching sync.WaitGroup
	watching.Go(func() {
		for sleepUntil(ctx, time.Now().Add(sampleEvery)) == nil {
			if u, err := s.usage(); err == nil {
				peak.anon, peak.rss = max(peak.anon, u.anon), max(peak.rss, u.rss)
			}
		}
	})
	return func() processUsage {
		cancel()
		watching.Wait()
		return peak
	}
}
