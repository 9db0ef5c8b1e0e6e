// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// many is as many Jobs as the contract names.
const many = 10000

func manyJobs(of make.JobBuilder) (jobs []*batchv1.Job) {
	for i := range many {
		j := of.Obj()
		j.Name, j.UID, j.ResourceVersion = fmt.Sprintf("j%d", i), types.UID(fmt.Sprintf("uid-%d", i)), "1"
		jobs = append(jobs, j)
	}
	return jobs
}

// Ten thousand Jobs that have finished cost no call when the process starts, and nothing at all after that (JOB-377).
func TestManyFinishedJobsCostNothing(t *testing.T) {
	w := newWorld(t)
	for _, j := range manyJobs(make.Job(ns, "j").Started(start).Complete(start)) {
		must(t, w.caches.jobs.Add(j))
		w.ctl.jobAdded(j, w.main)
	}
	w.drain(w.main, w.ctl.Reconcile)
	if len(w.calls) > 0 || w.syncs != many {
		t.Errorf("%d syncs and %d calls, want one sync each and no call: %v", w.syncs, len(w.calls), w.calls)
	}
	if at := w.next(); !at.IsZero() || len(w.main.at)+len(w.orphans.at) > 0 {
		t.Errorf("there is something to do at %v, %d Jobs and %d pods are enqueued", at, len(w.main.at), len(w.orphans.at))
	}
}

// Ten thousand Jobs of one pod cost at most five writes each, their events are handled in less than a millisecond, and
// no cache is read from end to end, for which see unscanned (JOB-375).
func TestManyOnePodJobs(t *testing.T) {
	w := newWorld(t)
	w.blindJobs, w.blindPods = true, true // the server below delivers by itself
	var took []time.Duration
	var unseen []func()
	handle := func(event func()) {
		began := time.Now()
		event()
		took = append(took, time.Since(began))
	}
	version, writes := 1, 0
	write := func(obj client.Object) {
		version++
		writes++
		obj.SetResourceVersion(strconv.Itoa(version))
	}
	changed := func(old, pod *corev1.Pod) {
		unseen = append(unseen, func() {
			must(t, w.caches.pods.Update(pod))
			handle(func() { w.ctl.podChanged(old, pod, false, w.main) })
		})
	}
	cached := func(namespace, name string) *corev1.Pod {
		obj, _, _ := w.caches.pods.GetByKey(namespace + "/" + name)
		return obj.(*corev1.Pod)
	}
	server := interceptor.NewClient(w.api, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			write(obj)
			obj.SetUID(types.UID("pod-" + obj.GetName()))
			changed(nil, obj.(*corev1.Pod).DeepCopy())
			return nil
		},
		Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
			old := cached(obj.GetNamespace(), obj.GetName())
			pod := old.DeepCopy()
			pod.Finalizers = nil
			write(pod)
			changed(old, pod)
			return nil
		},
		SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, obj client.Object, _ ...client.SubResourceUpdateOption) error {
			write(obj)
			j := obj.(*batchv1.Job).DeepCopy()
			unseen = append(unseen, func() {
				old := w.caches.job(keyOf(j))
				must(t, w.caches.jobs.Update(j))
				handle(func() { w.ctl.jobUpdated(old, j, w.main) })
			})
			return nil
		},
	})
	w.ctl.client = server
	w.afterSync = func() {
		for _, deliver := range unseen {
			deliver()
		}
		unseen = nil
	}
	for _, j := range manyJobs(make.Job(ns, "j")) {
		must(t, w.caches.jobs.Add(j))
		handle(func() { w.ctl.jobAdded(j, w.main) })
	}
	w.pass(time.Minute)
	for _, obj := range everything(w.caches.pods) {
		pod := obj.(*corev1.Pod).DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		version++
		pod.ResourceVersion = strconv.Itoa(version)
		changed(obj.(*corev1.Pod), pod)
	}
	w.afterSync()
	w.pass(time.Minute)
	for _, obj := range everything(w.caches.jobs) {
		if j := obj.(*batchv1.Job); !condition(j.Status, batchv1.JobComplete) || j.Status.Succeeded != 1 {
			t.Fatalf("Job %s is not complete: %+v", j.Name, j.Status)
		}
	}
	if writes > 5*many || len(w.calls) > 0 {
		t.Errorf("%d writes for %d Jobs, and %d reads", writes, many, len(w.calls))
	}
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; p99 >= time.Millisecond {
		t.Errorf("one event in a hundred takes %v or more to handle", p99)
	}
	t.Logf("%d writes, %d events, of which one in a hundred took %v or more", writes, len(took), took[len(took)*99/100])
}
