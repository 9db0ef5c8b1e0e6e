// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/events"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

const ns = "work"

var start = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// world is an API server, the caches of one controller, and its queues, all
// moved by hand: nothing is seen before deliver, nothing runs before run.
type world struct {
	t     *testing.T
	clock *testingclock.FakeClock
	// api is the server without faults and without counting.
	api client.WithWatch
	// faulty is what the controller calls.
	faulty client.WithWatch

	mu    sync.Mutex
	calls []call
	uids  int
	// fault, if set, is asked before each call; lost after it was carried out.
	fault, lost func(call) error

	ctl           *controller
	opts          Options
	caches        caches
	main, orphans *fakeQueue
	timers        *sim.Timers
	said          *speech
	// blind hides pods, or Jobs, from the caches.
	blindPods, blindJobs bool
	syncs                int
	afterSync            func()
}

// call is one write or uncached read of the controller.
type call struct {
	verb, kind, name string
	patch            string
}

func (c call) String() string {
	return strings.TrimSpace(c.verb + " " + c.kind + " " + c.name + " " + c.patch)
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, clock: testingclock.NewFakeClock(start), said: &speech{}}
	w.api = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).
		WithStatusSubresource(&batchv1.Job{}, &corev1.Pod{}).
		WithInterceptorFuncs(w.server()).Build()
	w.faulty = interceptor.NewClient(w.api, w.counting())
	w.opts = Options{Standalone: true, Clock: w.clock, Events: w.said}
	for _, c := range change {
		c(&w.opts)
	}
	w.restart()
	return w
}

// restart is a new process: nothing is remembered, and the caches are empty until the next delivery.
func (w *world) restart() {
	w.main, w.orphans = newFakeQueue(w.clock), newFakeQueue(w.clock)
	w.caches = caches{
		jobs: unscanned{toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, jobIndexers()), w.t},
		pods: unscanned{toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, podIndexers()), w.t},
	}
	w.timers = &sim.Timers{}
	w.ctl = newController(w.opts.withDefaults(), w.faulty, w.faulty, w.timers, w.caches)
}

// unscanned is a cache that must be read through its indexes (JOB-375, OPT-14).
type unscanned struct {
	toolscache.Indexer
	t *testing.T
}

func (u unscanned) List() []any {
	u.t.Error("a cache was read from end to end")
	return u.Indexer.List()
}

func (u unscanned) ListKeys() []string {
	u.t.Error("a cache was read from end to end")
	return u.Indexer.ListKeys()
}

// everything in a cache, for the test itself.
func everything(in toolscache.Indexer) []any { return in.(unscanned).Indexer.List() }

// count tells how often the controller made calls of this verb and kind.
func (w *world) count(verb, kind string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if (verb == "" || c.verb == verb) && (kind == "" || c.kind == kind) {
			n++
		}
	}
	return n
}

func (w *world) writes() int {
	return w.count("create", "") + w.count("delete", "") + w.count("patch", "") + w.count("status", "") + w.count("update", "")
}

func (w *world) resetCalls() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = nil
}

// deliver lets the caches catch up, and the handlers hear of it: pods first, as
// nothing says in which order the two watches arrive, and this one is harder.
func (w *world) deliver() {
	w.t.Helper()
	ctx := context.Background()
	if !w.blindPods {
		var pods corev1.PodList
		must(w.t, w.api.List(ctx, &pods))
		deliver(w.caches.pods, pods.Items, func(old, obj *corev1.Pod, gone bool) {
			w.ctl.podChanged(old, obj, gone, w.main)
			if !gone && w.ctl.mayBeOrphan(obj) {
				w.orphans.Add(reconcile.Request{NamespacedName: keyOf(obj)})
			}
		})
	}
	if !w.blindJobs {
		var jobs batchv1.JobList
		must(w.t, w.api.List(ctx, &jobs))
		deliver(w.caches.jobs, jobs.Items, func(old, obj *batchv1.Job, gone bool) {
			switch {
			case gone:
				w.ctl.jobDeleted(obj)
				w.ctl.enqueuePodsOf(obj, w.orphans)
			case old == nil:
				w.ctl.jobAdded(obj, w.main)
			default:
				w.ctl.jobUpdated(old, obj, w.main)
				w.ctl.orphanJobUpdated(old, obj, w.orphans)
			}
		})
	}
}

func deliver[T any, P interface {
	*T
	client.Object
}](into toolscache.Indexer, items []T, tell func(old, obj P, gone bool)) {
	listed := map[string]bool{}
	for i := range items {
		obj := P(&items[i])
		key, _ := toolscache.MetaNamespaceKeyFunc(obj)
		listed[key] = true
		was, ok, _ := into.GetByKey(key)
		switch {
		case !ok:
			_ = into.Add(obj)
			tell(nil, obj, false)
		case was.(P).GetResourceVersion() != obj.GetResourceVersion() || was.(P).GetUID() != obj.GetUID():
			_ = into.Update(obj)
			tell(was.(P), obj, false)
		}
	}
	for _, was := range everything(into) {
		if key, _ := toolscache.MetaNamespaceKeyFunc(was); !listed[key] {
			_ = into.Delete(was)
			tell(nil, was.(P), true)
		}
	}
}

// run delivers and syncs until nothing is due at this instant.
func (w *world) run() {
	w.t.Helper()
	for range 1000 {
		w.deliver()
		w.ringDue()
		ran := w.drain(w.main, w.ctl.Reconcile)
		if w.drain(w.orphans, w.ctl.reconcileOrphan) || ran {
			continue
		}
		w.deliver()
		if len(w.main.due()) == 0 && len(w.orphans.due()) == 0 {
			return
		}
	}
	w.t.Fatal("the controller spins")
}

func (w *world) ringDue() {
	for _, obj := range everything(w.caches.jobs) {
		key := keyOf(obj.(*batchv1.Job))
		if w.timers.Due(key, w.clock.Now()) {
			w.main.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

func (w *world) drain(q *fakeQueue, do func(context.Context, reconcile.Request) (reconcile.Result, error)) bool {
	due := q.due()
	for _, request := range due {
		q.take(request)
		w.sync(q, request, do)
	}
	return len(due) > 0
}

func (w *world) sync(q *fakeQueue, request reconcile.Request, do func(context.Context, reconcile.Request) (reconcile.Result, error)) error {
	w.syncs++
	result, err := do(context.Background(), request)
	if w.afterSync != nil {
		w.afterSync()
	}
	switch {
	case err != nil:
		q.AddRateLimited(request)
	case result.RequeueAfter > 0:
		q.Forget(request)
		q.AddAfter(request, result.RequeueAfter)
	default:
		q.Forget(request)
	}
	return err
}

// syncJob runs one sync of the Job out of turn.
func (w *world) syncJob(name string) error {
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}}
	w.main.take(request)
	return w.sync(w.main, request, w.ctl.Reconcile)
}

// pass lets time go by, running what becomes due at its instant.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	end := w.clock.Now().Add(d)
	for {
		w.run()
		next := w.next()
		if next.IsZero() || next.After(end) {
			break
		}
		w.clock.SetTime(next)
	}
	w.clock.SetTime(end)
	w.run()
}

// next is when something becomes due; zero: never.
func (w *world) next() (at time.Time) {
	for _, q := range []*fakeQueue{w.main, w.orphans} {
		for _, t := range q.at {
			at = job.Earlier(at, t)
		}
	}
	for _, obj := range everything(w.caches.jobs) {
		if t, ok := w.timers.Next(keyOf(obj.(*batchv1.Job))); ok {
			at = job.Earlier(at, t)
		}
	}
	return at
}

// Objects.

func (w *world) add(objs ...client.Object) {
	w.t.Helper()
	for _, obj := range objs {
		obj.SetResourceVersion("")
		status := obj.DeepCopyObject().(client.Object)
		must(w.t, w.api.Create(context.Background(), obj))
		status.SetResourceVersion(obj.GetResourceVersion())
		status.SetUID(obj.GetUID())
		must(w.t, w.api.Status().Patch(context.Background(), status, client.MergeFrom(blank(status))))
	}
}

func blank(obj client.Object) client.Object {
	switch o := obj.DeepCopyObject().(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{}
		return o
	case *batchv1.Job:
		o.Status = batchv1.JobStatus{}
		return o
	}
	panic("no such type here")
}

func (w *world) job(name string) *batchv1.Job {
	w.t.Helper()
	var j batchv1.Job
	must(w.t, w.api.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: name}, &j))
	return &j
}

func (w *world) pods() []corev1.Pod {
	w.t.Helper()
	var pods corev1.PodList
	must(w.t, w.api.List(context.Background(), &pods))
	return pods.Items
}

// setPod changes the status of a pod, as a kubelet does.
func (w *world) setPod(pod corev1.Pod, change func(*corev1.PodStatus)) {
	w.t.Helper()
	next := pod.DeepCopy()
	change(&next.Status)
	must(w.t, w.api.Status().Patch(context.Background(), next, client.MergeFrom(&pod)))
}

func (w *world) finish(pod corev1.Pod, phase corev1.PodPhase) {
	w.t.Helper()
	code := int32(0)
	if phase == corev1.PodFailed {
		code = 1
	}
	w.setPod(pod, func(s *corev1.PodStatus) {
		s.Phase = phase
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.clock.Now())},
		}}}
	})
}

// finishAll ends every pod that runs.
func (w *world) finishAll(phase corev1.PodPhase) {
	w.t.Helper()
	for _, pod := range w.pods() {
		if !job.PodFinished(&pod) {
			w.finish(pod, phase)
		}
	}
}

// edit changes the spec of a Job as a user does.
func (w *world) edit(name string, change func(*batchv1.Job)) {
	w.t.Helper()
	j := w.job(name)
	change(j)
	j.Generation++
	must(w.t, w.api.Update(context.Background(), j))
}

func (w *world) wantStatus(name string, check func(batchv1.JobStatus) bool, what string) {
	w.t.Helper()
	if s := w.job(name).Status; !check(s) {
		w.t.Errorf("Job %s: want %s, got %+v", name, what, s)
	}
}

func (w *world) wantHeld(n int) {
	w.t.Helper()
	var names []string
	for _, pod := range w.pods() {
		if job.HasFinalizer(&pod) {
			names = append(names, pod.Name)
		}
	}
	if len(names) != n {
		w.t.Errorf("%d pods hold the finalizer, want %d: %v", len(names), n, names)
	}
}

func condition(s batchv1.JobStatus, kind batchv1.JobConditionType) bool {
	return slices.ContainsFunc(s.Conditions, func(c batchv1.JobCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// speech remembers what was said.
type speech struct {
	mu    sync.Mutex
	notes []events.Event
}

func (s *speech) Event(n events.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, n)
}

func (s *speech) Forget(types.UID) {}

func (s *speech) reasons() (reasons []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.notes {
		reasons = append(reasons, n.Reason)
	}
	return reasons
}

// fakeQueue is a queue without goroutines.
type fakeQueue struct {
	clock *testingclock.FakeClock
	at    map[reconcile.Request]time.Time
	fails map[reconcile.Request]int
}

func newFakeQueue(c *testingclock.FakeClock) *fakeQueue {
	return &fakeQueue{clock: c, at: map[reconcile.Request]time.Time{}, fails: map[reconcile.Request]int{}}
}

func (q *fakeQueue) AddAfter(r reconcile.Request, d time.Duration) {
	at := q.clock.Now().Add(d)
	if was, ok := q.at[r]; !ok || at.Before(was) {
		q.at[r] = at
	}
}

func (q *fakeQueue) Add(r reconcile.Request) { q.AddAfter(r, 0) }

func (q *fakeQueue) AddRateLimited(r reconcile.Request) {
	q.AddAfter(r, min(time.Second<<min(q.fails[r], 6), time.Minute))
	q.fails[r]++
}

func (q *fakeQueue) Forget(r reconcile.Request)          { delete(q.fails, r) }
func (q *fakeQueue) NumRequeues(r reconcile.Request) int { return q.fails[r] }
func (q *fakeQueue) Len() int                            { return len(q.at) }
func (q *fakeQueue) Done(reconcile.Request)              {}
func (q *fakeQueue) ShutDown()                           {}
func (q *fakeQueue) ShutDownWithDrain()                  {}
func (q *fakeQueue) ShuttingDown() bool                  { return false }
func (q *fakeQueue) Get() (reconcile.Request, bool)      { panic("not used") }
func (q *fakeQueue) take(r reconcile.Request)            { delete(q.at, r) }

func (q *fakeQueue) due() (due []reconcile.Request) {
	for _, r := range slices.SortedFunc(maps.Keys(q.at), func(a, b reconcile.Request) int { return strings.Compare(a.String(), b.String()) }) {
		if !q.at[r].After(q.clock.Now()) {
			due = append(due, r)
		}
	}
	return due
}
