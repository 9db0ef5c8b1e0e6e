// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A finished Job is deleted when its time is over, not earlier, in the foreground and by UID and resource version; how
// late is observed (TTL-004, TTL-005, TTL-007, TTL-008, TTL-019).
func TestDeletesInTime(t *testing.T) {
	for name, j := range map[string]*batchv1.Job{
		"complete": done(10),
		"failed":   make.Job(ns, "j").UID("first").Started(start).Failed(start, "DeadlineExceeded").TTL(10).Obj(),
		"both Failed entries": func() *batchv1.Job { // TTL-020
			j := make.Job(ns, "j").UID("first").Started(start).Condition(batchv1.JobFailed, corev1.ConditionFalse, "", start.Add(-time.Hour)).Failed(start, "DeadlineExceeded").TTL(10).Obj()
			return j
		}(),
		"managed by somebody": make.Job(ns, "j").UID("first").ManagedBy("acme.io/jobs").Started(start).Complete(start).TTL(10).Obj(), // TTL-021
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{}, j)
			w.clock.Step(10*time.Second - time.Millisecond)
			w.run()
			if !w.exists("j") || w.gets > 0 {
				t.Fatalf("deleted too early, or asked %d times", w.gets)
			}
			count, sum := observed(t)
			w.clock.Step(2*time.Second + time.Millisecond)
			if errs := w.run(); len(errs) > 0 {
				t.Fatal(errs)
			}
			if w.exists("j") || len(w.deletes) != 1 {
				t.Fatalf("not deleted by one call: %v", w.deletes)
			}
			d := w.deletes[0]
			if *d.PropagationPolicy != metav1.DeletePropagationForeground || *d.Preconditions.UID != "first" || d.Preconditions.ResourceVersion == nil {
				t.Errorf("options %+v", d)
			}
			if c, s := observed(t); c != count+1 || s-sum < 1.9 || s-sum > 2.1 {
				t.Errorf("observed %d more, %.2f s more", c-count, s-sum)
			}
			w.deliver()
			if errs := w.run(); len(errs) > 0 || len(w.deletes) != 1 || w.timers.Len() != 0 {
				t.Errorf("it goes on: %v %v", errs, w.deletes)
			}
		})
	}
}

func observed(t *testing.T) (uint64, float64) {
	t.Helper()
	var m dto.Metric
	if err := prometheus.Histogram(deletionDuration).Write(&m); err != nil {
		t.Fatal(err)
	}
	if n := len(m.GetHistogram().GetBucket()); n != 14 || m.GetHistogram().GetBucket()[0].GetUpperBound() != 0.1 {
		t.Errorf("%d buckets", n)
	}
	return m.GetHistogram().GetSampleCount(), m.GetHistogram().GetSampleSum()
}

// What is not to be deleted costs nothing (TTL-002, TTL-003, TTL-013).
func TestKeeps(t *testing.T) {
	deleted := done(0)
	deleted.Finalizers, deleted.DeletionTimestamp = []string{"x/y"}, ptr.To(metav1.NewTime(start))
	for name, j := range map[string]*batchv1.Job{
		"running":       make.Job(ns, "j").Started(start).TTL(0).Obj(),
		"no TTL":        make.Job(ns, "j").Started(start).Complete(start).Obj(),
		"being deleted": deleted,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{}, j)
			w.clock.Step(time.Hour)
			w.run()
			if w.gets > 0 || len(w.deletes) > 0 || w.timers.Len() > 0 {
				t.Errorf("%d reads, deletes %v", w.gets, w.deletes)
			}
		})
	}
}

// An edit that the cache does not show yet is honoured: the live Job decides (TTL-009, TTL-010, TTL-013).
func TestLiveJobDecides(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(*batchv1.Job)
		later bool // deleted at last
	}{
		"TTL raised":  {func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ptr.To[int32](60) }, true},
		"TTL removed": {func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{}, done(10))
			w.clock.Step(10 * time.Second)
			w.edit("j", c.edit)
			w.run()
			if !w.exists("j") || len(w.deletes) > 0 {
				t.Fatalf("deletes %v", w.deletes)
			}
			w.deliver()
			w.clock.Step(50 * time.Second)
			w.run()
			if w.exists("j") == c.later {
				t.Errorf("exists: %v", w.exists("j"))
			}
		})
	}
}

// Edits that the cache shows take effect: added, lowered, raised (TTL-011, TTL-012).
func TestEdits(t *testing.T) {
	w := newWorld(t, Options{}, done(3600))
	w.clock.Step(time.Minute)
	w.edit("j", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil })
	w.deliver()
	w.run()
	w.edit("j", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = ptr.To[int32](90) })
	w.deliver()
	w.run()
	if !w.exists("j") {
		t.Fatal("deleted before its time")
	}
	w.clock.Step(30 * time.Second)
	w.run()
	if w.exists("j") || len(w.deletes) != 1 {
		t.Errorf("deletes %v", w.deletes)
	}
}

// A Job that is replaced or edited between the live read and the delete survives, and is judged on its own (TTL-008).
func TestReplacedJobSurvives(t *testing.T) {
	for name, between := range map[string]func(w *world){
		"replaced": func(w *world) {
			if err := w.api.Delete(context.Background(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "j"}}); err != nil {
				w.t.Fatal(err)
			}
			second := make.Job(ns, "j").UID("second").Obj()
			second.ResourceVersion = ""
			if err := w.api.Create(context.Background(), second); err != nil {
				w.t.Fatal(err)
			}
		},
		"edited": func(w *world) { w.edit("j", func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{}, done(0))
			w.deleting = func() error { between(w); w.deleting = nil; return nil }
			if errs := w.run(); len(errs) != 1 || !apierrors.IsConflict(errs[0]) {
				t.Errorf("errors %v, want a conflict that is tried again", errs)
			}
			w.deliver()
			w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "j"}}) // the retry
			if errs := w.run(); len(errs) > 0 || !w.exists("j") || len(w.deletes) != 1 {
				t.Errorf("errors %v, deletes %v", errs, w.deletes)
			}
		})
	}
}

// Errors are tried again; a Job that is gone is none (TTL-014, TTL-017).
func TestErrors(t *testing.T) {
	w := newWorld(t, Options{}, done(0))
	w.getting = func() error { return apierrors.NewInternalError(errors.New("injected")) }
	if errs := w.run(); len(errs) != 1 {
		t.Errorf("errors %v", errs)
	}
	w.getting = func() error { return apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, "j") }
	w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "j"}})
	if errs := w.run(); len(errs) > 0 {
		t.Errorf("errors %v", errs)
	}
	w.getting = nil
	w.deleting = func() error { return apierrors.NewInternalError(errors.New("injected")) }
	w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "j"}})
	if errs := w.run(); len(errs) != 1 {
		t.Errorf("errors %v", errs)
	}

	timeless := done(0)
	for i := range timeless.Status.Conditions {
		timeless.Status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	w = newWorld(t, Options{}, timeless)
	if errs := w.run(); len(errs) != 1 || len(w.deletes) > 0 {
		t.Errorf("errors %v, deletes %v", errs, w.deletes)
	}
}

// A Job that cannot be read is tried again with back-off, each time twice as late; one that is gone is done with, and
// forgotten (TTL-014).
func TestReadErrorsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := newWorld(t, Options{RetryBase: time.Second, RetryMax: 8 * time.Second}, done(0))
		var mu sync.Mutex
		var reads []time.Duration
		w.getting = func() error {
			mu.Lock()
			defer mu.Unlock()
			if reads = append(reads, time.Since(began).Truncate(time.Second)); len(reads) > 6 {
				return apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, "j")
			}
			return apierrors.NewInternalError(errors.New("injected"))
		}
		stop := w.start(w.cache[types.NamespacedName{Namespace: ns, Name: "j"}])
		time.Sleep(time.Hour)
		stop()
		var want []time.Duration
		for _, s := range []int{0, 1, 3, 7, 15, 23, 31} {
			want = append(want, time.Duration(s)*time.Second)
		}
		if diff := cmp.Diff(want, reads); diff != "" || len(w.deletes) > 0 {
			t.Errorf("%d deletes, read after (-want +got):\n%s", len(w.deletes), diff)
		}
	})
}

// A finish time in the future is waited for, and told in the log (TTL-016).
func TestFinishInTheFuture(t *testing.T) {
	w := newWorld(t, Options{}, make.Job(ns, "j").Started(start).Complete(start.Add(time.Hour)).TTL(10).Obj())
	var logged []string
	w.ctx = log.IntoContext(w.ctx, funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{}))
	w.run()
	if len(logged) != 1 || !strings.Contains(logged[0], "finished in the future") || w.gets > 0 {
		t.Errorf("%d reads, logged %q; want one warning and no read", w.gets, logged)
	}
	w.clock.Step(time.Hour)
	w.run()
	if !w.exists("j") {
		t.Fatal("deleted before it finished")
	}
	w.clock.Step(10 * time.Second)
	w.run()
	if w.exists("j") {
		t.Error("not deleted")
	}
}

// With a restriction only our Jobs are deleted (TTL-018).
func TestOnlyOurs(t *testing.T) {
	job := func(name string, by ...string) *batchv1.Job {
		b := make.Job(ns, name).Started(start).Complete(start).TTL(0)
		for _, m := range by {
			b = b.ManagedBy(m)
		}
		return b.Obj()
	}
	w := newWorld(t, Options{ManagedBy: "carillon.dev/job-controller"}, job("ours", "carillon.dev/job-controller"), job("nobodys"), job("theirs", "acme.io/jobs"))
	// Even when they are enqueued.
	w.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "theirs"}})
	if errs := w.run(); len(errs) > 0 {
		t.Fatal(errs)
	}
	if w.exists("ours") || !w.exists("nobodys") || !w.exists("theirs") {
		t.Errorf("deletes %v", w.deletes)
	}
}

// After a restart all Jobs that expired meanwhile go, one read and one call each, no more than ConcurrentSyncs of them
// at once, and nothing is kept about them (TTL-015).
func TestManyExpired(t *testing.T) {
	const many = 10000
	template := make.Job(ns, "j").Started(start.Add(-time.Hour)).Complete(start.Add(-time.Hour)).TTL(60)
	var jobs []*batchv1.Job
	for i := range many {
		j := template.Obj()
		j.Name, j.UID = fmt.Sprintf("j%d", i), types.UID(fmt.Sprint(i))
		jobs = append(jobs, j)
	}
	w := newWorld(t, Options{})
	var busy, most, reads, deletes atomic.Int64
	call := func(count *atomic.Int64) {
		most.Store(max(most.Load(), busy.Add(1)))
		count.Add(1)
		runtime.Gosched()
		busy.Add(-1)
	}
	live := map[string]*batchv1.Job{}
	for _, j := range jobs {
		live[j.Name] = j
		w.cache[client.ObjectKeyFromObject(j)] = j
	}
	calls := interceptor.NewClient(w.api, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			call(&reads)
			live[key.Name].DeepCopyInto(obj.(*batchv1.Job))
			return nil
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			call(&deletes)
			return nil
		},
	})
	w.ctl.client, w.ctl.live = calls, calls
	stop := w.start(jobs...)
	for deadline := time.Now().Add(time.Minute); deletes.Load() < many && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	stop()
	if reads.Load() != many || deletes.Load() != many || w.timers.Len() != 0 {
		t.Errorf("%d reads, %d deletes, %d timers", reads.Load(), deletes.Load(), w.timers.Len())
	}
	if n := most.Load(); n > 5 {
		t.Errorf("%d calls at once, want 5 at most", n)
	}
}

// One Job that cannot be deleted, or not be read, holds up no other (A8, TTL-014).
func TestOneBrokenJobHoldsUpNothing(t *testing.T) {
	var jobs []*batchv1.Job
	for i := range 20 {
		jobs = append(jobs, make.Job(ns, fmt.Sprintf("j%d", i)).Started(start).Complete(start).TTL(0).Obj())
	}
	for name, breaks := range map[string]func(w *world, broken func(string) error){
		"deleted": func(w *world, broken func(string) error) { w.deletingJob = broken },
		"read":    func(w *world, broken func(string) error) { w.gettingJob = broken },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{}, jobs...)
			breaks(w, func(job string) error {
				if job == "j7" {
					return apierrors.NewInternalError(errors.New("injected"))
				}
				return nil
			})
			if errs := w.run(); len(errs) != 1 {
				t.Errorf("errors %v, want one", errs)
			}
			for i := range 20 {
				if name := fmt.Sprintf("j%d", i); w.exists(name) != (name == "j7") {
					t.Errorf("%s exists: %t", name, w.exists(name))
				}
			}
		})
	}
}

// Zero is the default, and less than that is a mistake that is told before anything runs.
func TestOptions(t *testing.T) {
	if o := (Options{}).withDefaults(); o.ConcurrentSyncs != DefaultConcurrentSyncs || o.Clock == nil {
		t.Errorf("defaults %+v", o)
	}
	for _, wrong := range []Options{{ConcurrentSyncs: -1}, {RetryBase: -1}, {RetryMax: -1}} {
		if err := Add(nil, wrong); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
}
