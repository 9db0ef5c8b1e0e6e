// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/kube/fanout"
	"github.com/carillon-dev/carillon/internal/manager"
	build "github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/plane"
)

// keep is a finalizer of somebody else.
const keep = "acme.io/keep"

// protect lets nobody delete the Job of this name, which must exist.
func (w *world) protect(name string) (lift func()) {
	w.Helper()
	return w.refuse(refusal{name: "delete", group: "batch", resource: "jobs", operation: admissionv1.Delete, object: fmt.Sprintf("oldObject.metadata.name == %q", name)}, func(ctx context.Context) error {
		return w.client.BatchV1().Jobs(w.namespace).Delete(ctx, name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	})
}

// release takes the foreign finalizer away.
func (w *world) release(name string) {
	w.Helper()
	if _, err := w.client.BatchV1().Jobs(w.namespace).Patch(w.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

// gone waits until a Job is gone.
func (w *world) gone(name string) {
	w.Helper()
	w.eventually(name+" is gone", func(ctx context.Context) error {
		_, err := w.client.BatchV1().Jobs(w.namespace).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is there"), err)
		}
		return nil
	})
}

// One Job that cannot be deleted, for somebody else's finalizer or because an admission policy refuses it, delays the
// time to live of no other Job, is not tried in a storm, and goes by itself when it may (A8, TTL-001).
func TestTimeToLiveWithUndeletableJobs(t *testing.T) {
	t.Parallel()
	const others = 60
	var seen traffic
	j := newJobs(t)
	held := j.create(build.Job("", "held").TTL(0).Finalizer(keep))
	j.create(build.Job("", "protected").TTL(0))
	lift := j.protect("protected")
	j.control(seenBy(&seen))
	begun := time.Now()
	for i := range others {
		j.create(build.Job("", fmt.Sprintf("other-%d", i)).TTL(0))
	}
	j.eventually("only the two are left", func(ctx context.Context) error {
		list, err := j.client.BatchV1().Jobs(j.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != 2 {
			return fmt.Errorf("%d Jobs", len(list.Items))
		}
		return nil
	})
	deletes := func(name string) []write {
		return seen.in(j.namespace, func(w write) bool { return w.verb == "delete" && w.resource == "jobs" && w.name == name })
	}
	j.eventually("both were tried", func(context.Context) error {
		if len(deletes("held")) == 0 || len(deletes("protected")) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	if job := j.get(t.Context(), "held"); job.DeletionTimestamp == nil || job.UID != held.UID {
		t.Errorf("the held Job is %+v", job.ObjectMeta)
	}
	if job := j.get(t.Context(), "protected"); job.DeletionTimestamp != nil || !has(&job.Status, batchv1.JobComplete) {
		t.Errorf("the protected Job is %+v", job)
	}
	j.eventually("no pod but that of the protected Job", func(ctx context.Context) error {
		for _, pod := range j.pods(ctx) {
			if !strings.HasPrefix(pod.Name, "protected-") {
				return fmt.Errorf("pod %s", pod.Name)
			}
		}
		return nil
	})
	if n := len(deletes("held")); n != 1 {
		t.Errorf("a Job on its way out was deleted %d times", n)
	}
	if n, most := len(deletes("protected")), retries(5*time.Millisecond, 1000*time.Second, time.Since(begun)); n > most {
		t.Errorf("%d tries to delete the protected Job, want at most %d", n, most)
	}
	j.release("held")
	lift()
	j.gone("held")
	j.gone("protected")
	j.noFinalizers()
}

// The same for the history of a CronJob: whatever cannot be deleted is told once, tried again now and then, and delays
// neither other deletions nor runs (A8, CJ-115).
func TestHistoryWithUndeletableJobs(t *testing.T) {
	var seen traffic
	w := newWorld(t, manager.Options{Controllers: []string{manager.CronJob}, Config: seen.on(plane.Start(t).Config())})
	cj := w.createCronJob(build.CronJob(w.namespace, "tick").Schedule("* * * * *").History(50, 50))
	const finished = 20
	name := func(i int) string { return fmt.Sprintf("past-%02d", i) }
	for i := range finished {
		b := build.Job(w.namespace, name(i)).Of(cj)
		if i == 3 {
			b = b.Finalizer(keep)
		}
		job, err := w.client.BatchV1().Jobs(w.namespace).Create(t.Context(), b.New(), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		job.Status.StartTime = new(metav1.NewTime(time.Now().Add(time.Duration(i-100) * time.Minute).Truncate(time.Second)))
		w.complete(job)
	}
	lift := w.protect(name(0))
	if _, err := w.client.BatchV1().CronJobs(w.namespace).Patch(t.Context(), "tick", types.MergePatchType, []byte(`{"spec":{"successfulJobsHistoryLimit":2}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.runs(cj, 4, 0) // the protected one, the held one and the last two
	e := w.said(cj, "FailedDelete")
	if !strings.Contains(e.Message, name(0)) || !strings.Contains(e.Message, "refused by the test") {
		t.Errorf("told is %q", e.Message)
	}
	const ticks = 3
	for i := range ticks {
		w.pass(1)
		w.runs(cj, 5+i, 1+i)
	}
	tries := func(i int) int {
		return len(seen.in(w.namespace, func(w write) bool { return w.verb == "delete" && w.resource == "jobs" && w.name == name(i) }))
	}
	if n := tries(3); n != 1 {
		t.Errorf("a Job on its way out was deleted %d times", n)
	}
	// A pass for each thing that happens to the CronJob, of which there are two for each tick, and for each edit.
	if n, most := tries(0), 4*(ticks+1); n > most {
		t.Errorf("%d tries to delete the protected Job, want at most %d", n, most)
	}
	if got, _, err := w.events(t.Context(), cj.UID); err != nil || got["FailedDelete"] != 1 {
		t.Errorf("FailedDelete was told %d times, %v", got["FailedDelete"], err)
	}
	w.release(name(3))
	lift()
	w.gone(name(3))
	w.pass(1)
	w.gone(name(0))
	w.runs(cj, 2+ticks+1, ticks+1)
}

// watched are the Jobs of the namespace, as a watch tells of them: lists would be too slow for thousands.
func (j *jobs) watched() cache.Store {
	j.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(j.client, 0, informers.WithNamespace(j.namespace))
	informer := factory.Batch().V1().Jobs().Informer()
	factory.Start(j.Context().Done())
	j.Cleanup(factory.Shutdown)
	if !cache.WaitForCacheSync(j.Context().Done(), informer.HasSynced) {
		j.Fatal("the Jobs cannot be watched")
	}
	return informer.GetStore()
}

// scale is how many finished Jobs TestManyDeletes deletes: few in an ordinary run, 10,000 with CARILLON_SCALE=1, and n
// with CARILLON_SCALE=n.
func scale(t *testing.T) int {
	t.Helper()
	text := os.Getenv("CARILLON_SCALE")
	if text == "" {
		return 150
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("CARILLON_SCALE is %q and has to be 1 or a number of Jobs", text)
	}
	if n == 1 {
		return 10_000
	}
	return n
}

// Many Jobs, finished and running, deleted together in all three ways, whether or not the controller is there to see
// it, leave no Job behind and no Pod with our finalizer, though half of the finished ones still had it, as after a
// crash; Pods are left by orphaning alone (A6, CP-15, JOB-112).
func TestManyDeletes(t *testing.T) {
	for name, absent := range map[string]bool{"the controller sees it": false, "the controller is away": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finished := scale(t) / 2
			running := min(finished/10, 60)
			modes := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
			mode := func(i int) metav1.DeletionPropagation { return modes[i%len(modes)] }
			p := plane.Start(t)
			namespace := p.Namespace(t)
			managedBy := "test.carillon.dev/" + namespace
			ended := time.Now().Add(-time.Minute).Truncate(time.Second)
			for i := range finished {
				job := build.Job(namespace, fmt.Sprintf("finished-%d", i)).ManagedBy(managedBy).Started(ended).Counts(0, 1, 0).Complete(ended).Obj()
				pod := build.Pod(namespace, job.Name+"-pod").Of(job).Succeeded(ended)
				if i%2 == 0 {
					pod = pod.NoFinalizers()
				}
				p.Implant(t, schema.GroupResource{Group: "batch", Resource: "jobs"}, job)
				p.Implant(t, schema.GroupResource{Resource: "pods"}, pod.Obj())
			}
			var seen traffic
			w := &world{T: t, plane: p, client: p.Client(), namespace: namespace, patience: patience + time.Duration(finished)*200*time.Millisecond}
			j := &jobs{world: w, managedBy: managedBy, kubelet: startKubelet(w)}
			j.kubelet.change(func() {
				j.kubelet.direct = true
				j.kubelet.ends = func(*corev1.Pod) (corev1.PodPhase, int32) { return corev1.PodRunning, 0 }
			})
			stop := j.control(seenBy(&seen))
			store := j.watched()
			for i := range running {
				j.create(build.Job("", fmt.Sprintf("running-%d", i)))
			}
			j.eventually("all Jobs and Pods are there", func(context.Context) error {
				active := 0
				for _, obj := range store.List() {
					active += int(obj.(*batchv1.Job).Status.Active)
				}
				if jobs, pods := len(store.ListKeys()), len(j.kubelet.store.ListKeys()); jobs != finished+running || pods != finished+running || active != running {
					return fmt.Errorf("%d Jobs, %d Pods, %d active", jobs, pods, active)
				}
				return nil
			})
			if absent {
				stop()
			}
			begun := time.Now()
			for _, err := range fanout.Each(t.Context(), 16, finished+running, func(ctx context.Context, i int) error {
				name, how := fmt.Sprintf("finished-%d", i), mode(i)
				if i >= finished {
					name, how = fmt.Sprintf("running-%d", i-finished), mode(i-finished)
				}
				return j.client.BatchV1().Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &how})
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if absent {
				j.control(seenBy(&seen))
			}
			j.eventually("no Job is left", func(context.Context) error {
				if n := len(store.ListKeys()); n > 0 {
					return fmt.Errorf("%d Jobs", n)
				}
				return nil
			})
			orphans := 0
			for _, n := range []int{finished, running} {
				for i := range n {
					if mode(i) == metav1.DeletePropagationOrphan {
						orphans++
					}
				}
			}
			j.eventually("only orphaned pods are left, without the finalizer", func(context.Context) error {
				pods, held := j.kubelet.store.List(), 0
				for _, obj := range pods {
					if tracked(obj.(*corev1.Pod)) {
						held++
					}
				}
				if held > 0 || len(pods) != orphans {
					return fmt.Errorf("%d pods, want %d, and %d with the finalizer", len(pods), orphans, held)
				}
				return nil
			})
			t.Logf("%d finished and %d running Jobs were cleaned up in %v; we wrote %s", finished, running, time.Since(begun), verbs(seen.in(j.namespace, nil)))
			// One patch frees a pod. A second one is sent in vain when the garbage collector or the kubelet was faster.
			held := (finished+1)/2 + running
			if patches := seen.count(j.namespace, "patch", "pods"); patches > 2*held {
				t.Errorf("%d patches to free %d pods, want at most %d", patches, held, 2*held)
			}
			if failed := seen.in(j.namespace, func(w write) bool { return w.code >= http.StatusInternalServerError }); len(failed) > 0 {
				t.Errorf("calls failed: %s", verbs(failed))
			}
		})
	}
}
