// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// world is a Job, its pods, an API server that keeps the rules, a kubelet, and a controller that carries plans out.
// Time stands still unless it is moved. The controller sees the pods through a cache that may lag behind.
type world struct {
	now time.Time
	// clockAhead is by how much the clock of the nodes is ahead.
	clockAhead time.Duration
	options    Options
	job        *batchv1.Job
	pods       map[types.UID]*corev1.Pod
	// last is every pod as it was last, also of pods that are gone.
	last   map[types.UID]*corev1.Pod
	order  []types.UID // of creation
	serial int
	// version is the last resource version given to a pod.
	version int

	// cache is what the controller sees of the pods; events are what it has not seen yet, per pod in order.
	cache        map[types.UID]*corev1.Pod
	unseen       map[types.UID][]*corev1.Pod // nil element: deleted
	lagging      bool
	expectations Expectations

	// effects counts API calls that changed something; crashAfter stops the controller right after that many (-1:
	// never).
	effects, crashAfter int
	// crashOn stops the controller right after the effect that it says yes to.
	crashOn func(effect string) bool
	// refuse makes a call fail; lose makes a call succeed without an answer.
	refuse, lose func(call string) bool

	log, broken       []string
	writes, calls     int
	mostRunning       int
	released, evicted sets.Set[types.UID] // finalizer removed by accounting, by deletion
	stoppedByFailure  sets.Set[types.UID]
	stoppedBySuccess  sets.Set[types.UID]
	stoppedRunning    sets.Set[types.UID]           // of those two: they had not ended by themselves
	ended             map[types.UID]corev1.PodPhase // of pods that held the finalizer when they ended
	events            []string
	shrunk            bool           // completions were reduced at some time
	everMade          map[string]int // pods by slot (index) ever created
}

type crash struct{}

func newWorld(job *batchv1.Job) *world {
	return &world{
		now: now, job: job, pods: map[types.UID]*corev1.Pod{}, last: map[types.UID]*corev1.Pod{},
		cache: map[types.UID]*corev1.Pod{}, unseen: map[types.UID][]*corev1.Pod{},
		options: Options{Standalone: true}, crashAfter: -1,
		released: sets.New[types.UID](), evicted: sets.New[types.UID](),
		stoppedByFailure: sets.New[types.UID](), stoppedBySuccess: sets.New[types.UID](), stoppedRunning: sets.New[types.UID](),
		ended: map[types.UID]corev1.PodPhase{}, everMade: map[string]int{},
	}
}

// note remembers an effect and crashes if this was the one to crash after.
func (w *world) effect(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
	w.effects++
	if w.effects == w.crashAfter || w.crashOn != nil && w.crashOn(w.log[len(w.log)-1]) {
		panic(crash{})
	}
}

func (w *world) refused(call string) bool {
	w.calls++
	return w.refuse != nil && w.refuse(call)
}

// changed publishes a pod's new state (nil: gone).
func (w *world) changed(uid types.UID) {
	pod := w.pods[uid]
	if pod != nil {
		w.version++
		pod.ResourceVersion = strconv.Itoa(w.version)
		pod = pod.DeepCopy()
		w.last[uid] = pod
	}
	w.unseen[uid] = append(w.unseen[uid], pod)
	if !w.lagging {
		w.catchUp(uid, len(w.unseen[uid]))
	}
}

// catchUp shows the controller the next n events of a pod, and works what they prove into its expectations as the
// protocol says.
func (w *world) catchUp(uid types.UID, n int) {
	for range min(n, len(w.unseen[uid])) {
		pod := w.unseen[uid][0]
		w.unseen[uid] = w.unseen[uid][1:]
		if pod == nil {
			delete(w.cache, uid)
			delete(w.expectations.Deleting, uid)
			w.expectations.Unfinalizing.Delete(uid)
			continue
		}
		w.cache[uid] = pod
		delete(w.expectations.Creating, pod.Name)
		if pod.DeletionTimestamp != nil {
			delete(w.expectations.Deleting, uid)
		}
		if !HasFinalizer(pod) {
			w.expectations.Unfinalizing.Delete(uid)
		}
	}
}

func (w *world) catchUpAll() {
	for uid := range w.unseen {
		w.catchUp(uid, len(w.unseen[uid]))
	}
}

// restart loses the expectations and lists everything anew.
func (w *world) restart() {
	w.expectations = Expectations{}
	w.unseen = map[types.UID][]*corev1.Pod{}
	w.cache = map[types.UID]*corev1.Pod{}
	for uid, pod := range w.pods {
		w.cache[uid] = pod.DeepCopy()
	}
}

// sync runs the controller once; crashed says that it did not come to the end.
func (w *world) sync() (plan Plan, err error, crashed bool) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case crash:
			crashed = true
		default:
			panic(r)
		}
	}()
	var pods []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(w.cache)) {
		pods = append(pods, w.cache[uid])
	}
	expectations := Expectations{Creating: maps.Clone(w.expectations.Creating), Deleting: maps.Clone(w.expectations.Deleting), Unfinalizing: w.expectations.Unfinalizing.Clone(), Finished: w.expectations.Finished, Backoff: w.expectations.Backoff}
	var job *batchv1.Job
	if w.job != nil {
		job = w.job.DeepCopy()
	}
	plan = Decide(Snapshot{Job: job, Pods: pods, PodsCurrent: !w.behind(), Now: w.now, Expectations: expectations, Options: w.options})
	if plan.Forget {
		w.expectations = Expectations{}
	}
	if !plan.Wake.IsZero() && !plan.Wake.After(w.now) {
		w.breaks("wake-up in the past")
	}
	err = w.apply(plan)
	return plan, err, false
}

// behind: some pod's deletion is not seen yet, or its existence.
func (w *world) behind() bool {
	for uid, list := range w.unseen {
		if len(list) > 0 && w.cache[uid] == nil {
			return true
		}
	}
	return false
}

func (w *world) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

var errRefused = fmt.Errorf("refused")

func (w *world) apply(plan Plan) error {
	var failed error
	for _, ref := range plan.Claim.Adopt {
		w.patch(ref, func(pod *corev1.Pod) {
			pod.OwnerReferences = append(pod.OwnerReferences, OwnerReference(w.job))
			if !HasFinalizer(pod) {
				pod.Finalizers = append(pod.Finalizers, Finalizer)
			}
		}, "adopt")
	}
	for _, ref := range plan.Claim.Release {
		w.patch(ref, func(pod *corev1.Pod) {
			pod.OwnerReferences = nil
			pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(f string) bool { return f == Finalizer })
		}, "release")
	}
	if len(plan.Claim.Adopt)+len(plan.Claim.Release) > 0 && w.lagging {
		return nil // gathered again with the next sync
	}
	for _, ref := range plan.Cleanup {
		if _, err := w.unfinalize(ref); err != nil {
			failed = err
		}
	}
	var results Results
	for _, d := range plan.Delete {
		outcome := w.delete(d, plan.Verdict)
		if outcome == DeleteFailed {
			failed = errRefused
		}
		results.Delete = append(results.Delete, DeleteResult{Outcome: outcome})
	}
	for _, c := range plan.Create {
		outcome := w.create(c)
		if outcome == CreateFailed || outcome == CreateUnknown {
			failed = errRefused
		}
		results.Create = append(results.Create, CreateResult{Outcome: outcome})
	}
	record := plan.PlanStatus(results)
	if !record.Wake.IsZero() && !record.Wake.After(w.now) {
		w.breaks("wake-up in the past")
	}
	for _, n := range record.Events {
		w.events = append(w.events, n.Reason)
	}
	if err := w.write(record.Write); err != nil {
		return err
	}
	for _, ref := range record.Unfinalize {
		if _, err := w.unfinalize(ref); err != nil {
			failed = err
		}
	}
	return failed
}
