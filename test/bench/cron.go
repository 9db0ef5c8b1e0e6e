// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const namespace = "default"

// together runs do for 0…n-1 on width goroutines and returns the first error.
func together(n, width int, do func(i int) error) error {
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	work := make(chan int)
	for range width {
		wg.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	return first
}

// durations answers questions about a set of measurements.
type durations []time.Duration

func (d durations) at(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func (d durations) String() string {
	return fmt.Sprintf("p50 %s  p99 %s  max %s", short(d.at(.5)), short(d.at(.99)), short(d.at(1)))
}

func short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "c", Image: "host", Command: []string{"true"}}},
	}}
}

// starts measures how late Jobs appear: the moment at which a watch shows a Job less its scheduled
// time. It also ends each Job 3 s after that, as a Pod would.
type starts struct {
	mu   sync.Mutex
	late map[time.Time]durations
}

// watchStarts watches Jobs whose scheduled time is in that annotation.
func watchStarts(ctx context.Context, client kubernetes.Interface, annotation string) (*starts, error) {
	s := &starts{late: map[time.Time]durations{}}
	began := time.Now()
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Batch().V1().Jobs().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		now, job := time.Now(), obj.(*batchv1.Job)
		at, err := time.Parse(time.RFC3339, job.Annotations[annotation])
		if err != nil || at.Before(began) {
			return
		}
		s.mu.Lock()
		s.late[at.UTC()] = append(s.late[at.UTC()], now.Sub(at))
		s.mu.Unlock()
		time.AfterFunc(3*time.Second, func() { end(ctx, client, job) })
	}})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return s, nil
}

// end writes what a Job controller writes when the only Pod succeeded.
func end(ctx context.Context, client kubernetes.Interface, job *batchv1.Job) {
	now := metav1.Now()
	job = job.DeepCopy()
	zero := int32(0)
	job.Status = batchv1.JobStatus{
		StartTime: &job.CreationTimestamp, CompletionTime: &now, Succeeded: 1, Ready: &zero, Terminating: &zero,
		Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: batchv1.JobReasonCompletionsReached},
			{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now, Reason: batchv1.JobReasonCompletionsReached},
		},
	}
	if _, err := client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "end of a Job:", err)
	}
}

func createCronJobs(ctx context.Context, client kubernetes.Interface, n int, schedule string, suspend bool) error {
	return together(n, 16, func(i int) error {
		_, err := client.BatchV1().CronJobs(namespace).Create(ctx, &batchv1.CronJob{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("tick-%05d", i)},
			Spec: batchv1.CronJobSpec{
				Schedule: schedule, Suspend: &suspend,
				JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate()}},
			},
		}, metav1.CreateOptions{})
		return err
	})
}

func createJobs(ctx context.Context, client kubernetes.Interface, side, prefix string, n, width int, finished bool) error {
	return together(n, width, func(i int) error {
		job, err := client.BatchV1().Jobs(namespace).Create(ctx, oneJob(side, fmt.Sprintf("%s-%05d", prefix, i), 1, batchv1.NonIndexedCompletion), metav1.CreateOptions{})
		if err == nil && finished {
			end(ctx, client, job)
		}
		return err
	})
}

// oneJob is a Job that the named side's Job controller takes on: on a cluster Carillon's takes only those
// that name it.
func oneJob(side, name string, pods int32, mode batchv1.CompletionMode) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.JobSpec{Completions: &pods, Parallelism: &pods, CompletionMode: &mode, Template: podTemplate()},
	}
	if side == "carillon" {
		managedBy := "carillon.dev/job-controller"
		job.Spec.ManagedBy = &managedBy
	}
	return job
}

// cronResult is one side's row.
type cronResult struct {
	late    durations
	minutes []string // the p99 of each minute
	runs    int
	cpu     time.Duration
	writes  map[string]int
	peak    processUsage // memory
}

// measureMinutes watches whole minutes, from the next one on that is at least five seconds away.
func measureMinutes(ctx context.Context, s *side, minutes, each int, seen *starts) (cronResult, error) {
	var r cronResult
	next := time.Now().Add(5 * time.Second).Truncate(time.Minute).Add(time.Minute)
	if err := sleepUntil(ctx, next.Add(-2*time.Second)); err != nil {
		return r, err
	}
	before, err := s.usage()
	if err != nil {
		return r, err
	}
	writes, err := s.writes(ctx)
	if err != nil {
		return r, err
	}
	peak := s.watchPeak(ctx)
	last := next.Add(time.Duration(minutes-1) * time.Minute)
	if err := sleepUntil(ctx, last.Add(45*time.Second)); err != nil {
		return r, err
	}
	r.peak = peak()
	after, err := s.usage()
	if err != nil {
		return r, err
	}
	afterWrites, err := s.writes(ctx)
	if err != nil {
		return r, err
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for at := next; !at.After(last); at = at.Add(time.Minute) {
		r.late = append(r.late, seen.late[at.UTC()]...)
		r.minutes = append(r.minutes, short(seen.late[at.UTC()].at(.99)))
	}
	r.runs, r.cpu, r.writes = len(r.late), after.cpu-before.cpu, minus(afterWrites, writes)
	if r.runs != minutes*each {
		fmt.Fprintf(os.Stderr, "%s: %d runs in %d minutes, expected %d\n", s.name, r.runs, minutes, minutes*each)
	}
	return r, nil
}

func sleepUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func cronJobs(ctx context.Context, o options, dir string, b binaries) (err error) {
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	defer func() { err = firstOf(err, table.Flush()) }()
	fmt.Fprintln(table, "round\tside\tstart skew\truns\tCPU per run\tmemory at most\twrites per run")
	for _, round := range []struct {
		key, name     string
		cronJobs, old int
	}{
		{"together", fmt.Sprintf("%d CronJobs at one instant", o.cronJobs), o.cronJobs, 0},
		{"old", fmt.Sprintf("the same, %d finished Jobs lie around", o.old), o.cronJobs, o.old},
		{"idle", "1 CronJob, idle", 1, 0},
	} {
		if !o.round(round.key) {
			continue
		}
		if round.cronJobs > 1 {
			bare, err := bareLoop(ctx, dir, b, round.cronJobs, round.old)
			if err != nil {
				return err
			}
			fmt.Fprintf(table, "%s\tbare loop\t%s\t%d\t\t\t1 POST jobs\n", round.name, bare, round.cronJobs)
		}
		for _, name := range sides(o) {
			r, err := cronRound(ctx, name, o, dir, b, round.cronJobs, round.old)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", round.name, name, err)
			}
			fmt.Fprintf(table, "%s\t%s\t%s (p99 of each minute: %s)\t%d\t%s\t%s\t%s\n", round.name, name, r.late, strings.Join(r.minutes, ", "), r.runs,
				(r.cpu / time.Duration(max(1, r.runs))).Round(10*time.Microsecond), r.peak, perRun(without(r.writes, "PUT jobs/status", "POST cronjobs"), r.runs)) // the harness ends the Jobs
			if err := table.Flush(); err != nil {
				return err
			}
		}
	}
	for _, name := range sides(o) {
		if !o.round("daily") {
			break
		}
		r, err := daily(ctx, name, o, dir, b)
		if err != nil {
			return fmt.Errorf("daily, %s: %w", name, err)
		}
		fmt.Fprintf(table, "%d daily CronJobs\t%s\t%s\t\t\t\t\n", o.daily, name, r)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if !o.round("memory") {
		return nil
	}
	for _, name := range sides(o) {
		u, err := idleMemory(ctx, name, o, dir, b)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%d suspended CronJobs\t%s\tmemory: %s\t\t\t\t\n", o.idle, name, u)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func sides(o options) []string {
	if o.only != "" {
		return []string{o.only}
	}
	return []string{"builtin", "carillon"}
}

// bareLoop is the floor: n Jobs as fast as a simple loop can create them beside so many old ones.
func bareLoop(ctx context.Context, dir string, b binaries, n, old int) (d durations, err error) {
	s, err := newSide(ctx, "bare", dir, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	if err := createJobs(ctx, s.client, s.name, "old", old, 32, true); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	began := time.Now()
	err = together(n, 32, func(i int) error {
		_, err := s.client.BatchV1().Jobs(namespace).Create(ctx, oneJob("bare", fmt.Sprintf("bare-%05d", i), 1, batchv1.NonIndexedCompletion), metav1.CreateOptions{})
		mu.Lock()
		d = append(d, time.Since(began))
		mu.Unlock()
		return err
	})
	return d, err
}

func cronRound(ctx context.Context, name string, o options, dir string, b binaries, cronJobs, old int) (r cronResult, err error) {
	fmt.Fprintf(os.Stderr, "%s: %d CronJobs, %d old Jobs\n", name, cronJobs, old)
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return r, err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := createJobs(ctx, s.client, name, "old", old, 32, true); err != nil {
		return r, err
	}
	if err := createCronJobs(ctx, s.client, cronJobs, "* * * * *", false); err != nil {
		return r, err
	}
	seen, err := watchStarts(ctx, s.client, batchv1.CronJobScheduledTimestampAnnotation)
	if err != nil {
		return r, err
	}
	if err := s.start(ctx, b, "cronjob"); err != nil {
		return r, err
	}
	if err := sleepUntil(ctx, time.Now().Add(20*time.Second)); err != nil { // its own catching up is not measured
		return r, err
	}
	return measureMinutes(ctx, s, o.minutes, cronJobs, seen)
}

func idleMemory(ctx context.Context, name string, o options, dir string, b binaries) (u processUsage, err error) {
	fmt.Fprintf(os.Stderr, "%s: %d suspended CronJobs\n", name, o.idle)
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return u, err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	if err := createCronJobs(ctx, s.client, o.idle, "0 3 * * *", true); err != nil {
		return u, err
	}
	if err := s.start(ctx, b, "cronjob"); err != nil {
		return u, err
	}
	if err := sleepUntil(ctx, time.Now().Add(30*time.Second)); err != nil {
		return u, err
	}
	return s.usage()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func perRun(writes map[string]int, runs int) string {
	var parts []string
	for k, n := range writes {
		if v := float64(n) / float64(max(1, runs)); v >= 0.05 {
			parts = append(parts, fmt.Sprintf("%.1f %s", v, k))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
