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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// succeed is a whole Pod's life as a kubelet reports it, in one write.
var succeed = []byte(`{"status":{"phase":"Succeeded"}}`)

// kubelet ends each Pod as soon as it appears and tells when a Job's finish was seen.
type kubelet struct {
	mu    sync.Mutex
	ended map[string]time.Time
	done  chan string
}

func playKubelet(ctx context.Context, client kubernetes.Interface) (*kubelet, error) {
	k := &kubelet{ended: map[string]time.Time{}, done: make(chan string, 100000)}
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := make(chan *corev1.Pod, 100000)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if pod := obj.(*corev1.Pod); pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			pods <- pod
		}
	}})
	if err != nil {
		return nil, err
	}
	for range 16 {
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case pod := <-pods:
					_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, succeed, metav1.PatchOptions{}, "status")
					if err != nil && ctx.Err() == nil {
						fmt.Fprintln(os.Stderr, "end of a Pod:", err)
					}
				}
			}
		}()
	}
	_, err = factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		job := obj.(*batchv1.Job)
		for _, c := range job.Status.Conditions {
			if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
				k.mu.Lock()
				_, known := k.ended[job.Name]
				if !known {
					k.ended[job.Name] = time.Now()
				}
				k.mu.Unlock()
				if !known {
					k.done <- job.Name
				}
			}
		}
	}})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return k, nil
}

func (k *kubelet) wait(ctx context.Context, n int) error {
	for range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-k.done:
		}
	}
	return nil
}

// rate is ends a second among the ends from fraction a to fraction b of all.
func (k *kubelet) rate(prefix string, a, b float64) float64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	var at []time.Time
	for name, t := range k.ended {
		if strings.HasPrefix(name, prefix) {
			at = append(at, t)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	i, j := int(a*float64(len(at))), int(b*float64(len(at)))-1
	if j <= i {
		return 0
	}
	return float64(j-i) / at[j].Sub(at[i]).Seconds()
}

func job(ctx context.Context, o options, dir string, b binaries) (err error) {
	table := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	defer func() { err = firstOf(err, table.Flush()) }()
	fmt.Fprintln(table, "round\tside\trate\ttotal\tCPU of the controller\twrites")
	row := func(round, name, rate string, total, cpu time.Duration, writes string) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", round, name, rate, short(total), short(cpu), writes)
		_ = table.Flush() // shows the row at once; the last Flush tells whether stdout works
	}
	for _, n := range o.jobs {
		for _, name := range sides(o) {
			err := jobRound(ctx, name, dir, b, func(ctx context.Context, s *side, k *kubelet) error {
				total, cpu, writes, err := measure(ctx, s, func() error {
					if err := createJobs(ctx, s.client, name, "one", n, 16, false); err != nil {
						return err
					}
					return k.wait(ctx, n)
				})
				row(fmt.Sprintf("%d one-pod Jobs", n), name,
					fmt.Sprintf("%.0f Jobs/s (first third %.0f, last third %.0f)", float64(n)/total.Seconds(), k.rate("one", 0, .33), k.rate("one", .67, 1)),
					total, cpu, perRun(without(writes, "POST jobs", "PATCH pods/status"), n)+" a Job")
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	for _, n := range o.big {
		for _, mode := range []batchv1.CompletionMode{batchv1.IndexedCompletion, batchv1.NonIndexedCompletion} {
			for _, name := range sides(o) {
				err := jobRound(ctx, name, dir, b, func(ctx context.Context, s *side, k *kubelet) error {
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
					row(fmt.Sprintf("one %s Job of %d pods", mode, n), name,
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

// without leaves out the writes that this program makes itself.
func without(writes map[string]int, own ...string) map[string]int {
	for _, k := range own {
		delete(writes, k)
	}
	return writes
}

func jobRound(ctx context.Context, name, dir string, b binaries, do func(context.Context, *side, *kubelet) error) (err error) {
	fmt.Fprintln(os.Stderr, name)
	s, err := newSide(ctx, name, dir, b)
	if err != nil {
		return err
	}
	defer func() { err = firstOf(err, s.stop()) }()
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	defer stop()
	k, err := playKubelet(ctx, s.client)
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
	if err := sleepUntil(ctx, time.Now().Add(3*time.Second)); err != nil { // trailing writes belong to the work
		return 0, 0, nil, err
	}
	after, err := s.usage()
	if err != nil {
		return 0, 0, nil, err
	}
	later, err := s.writes(ctx)
	if err != nil {
		return 0, 0, nil, err
	}
	return total, after.cpu - before.cpu, minus(later, earlier), nil
}
