// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/interval"
)

// world is a Job, its pods, an API server that keeps the rules, a kubelet, and
// a controller that carries plans out. Time stands still unless it is moved.
// The controller sees the pods through a cache that may lag behind.
type world struct {
	now     time.Time
	options Options
	job     *batchv1.Job
	pods    map[types.UID]*corev1.Pod
	// last is every pod as it was last, also of pods that are gone.
	last   map[types.UID]*corev1.Pod
	order  []types.UID // of creation
	serial int

	// cache is what the controller sees of the pods; events are what it has
	// not seen yet, per pod in order.
	cache   map[types.UID]*corev1.Pod
	unseen  map[types.UID][]*corev1.Pod // nil element: deleted
	lagging bool
	memory  Memory

	// effects counts API calls that changed something; crashAfter stops the
	// controller right after that many (-1: never).
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
		stoppedByFailure: sets.New[types.UID](), stoppedBySuccess: sets.New[types.UID](),
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
		pod = pod.DeepCopy()
		w.last[uid] = pod
	}
	w.unseen[uid] = append(w.unseen[uid], pod)
	if !w.lagging {
		w.catchUp(uid, len(w.unseen[uid]))
	}
}

// catchUp shows the controller the next n events of a pod, and works what they
// prove into its memory as the protocol says.
func (w *world) catchUp(uid types.UID, n int) {
	for range min(n, len(w.unseen[uid])) {
		pod := w.unseen[uid][0]
		w.unseen[uid] = w.unseen[uid][1:]
		if pod == nil {
			delete(w.cache, uid)
			delete(w.memory.Deleting, uid)
			w.memory.Unfinalizing.Delete(uid)
			continue
		}
		w.cache[uid] = pod
		delete(w.memory.Creating, pod.Name)
		if pod.DeletionTimestamp != nil {
			delete(w.memory.Deleting, uid)
		}
		if !hasFinalizer(pod) {
			w.memory.Unfinalizing.Delete(uid)
		}
	}
}

func (w *world) catchUpAll() {
	for uid := range w.unseen {
		w.catchUp(uid, len(w.unseen[uid]))
	}
}

// restart loses the memory and lists everything anew.
func (w *world) restart() {
	w.memory = Memory{}
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
	memory := Memory{Creating: maps.Clone(w.memory.Creating), Deleting: maps.Clone(w.memory.Deleting), Unfinalizing: w.memory.Unfinalizing.Clone(), Finished: w.memory.Finished, Backoff: w.memory.Backoff}
	var job *batchv1.Job
	if w.job != nil {
		job = w.job.DeepCopy()
	}
	plan = Decide(Snapshot{Job: job, Pods: pods, PodsCurrent: !w.behind(), Now: w.now, Memory: memory, Options: w.options})
	if plan.Forget {
		w.memory = Memory{}
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
			if !hasFinalizer(pod) {
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
	record := plan.Record(results)
	if !record.Wake.IsZero() && !record.Wake.After(w.now) {
		w.breaks("wake-up in the past")
	}
	for _, n := range record.Notes {
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

func (w *world) create(c Creation) CreateOutcome {
	if w.memory.Creating == nil {
		w.memory.Creating = map[string]time.Time{}
	}
	w.memory.Creating[c.Pod.Name] = w.now
	w.mayCreate(c)
	for _, other := range w.pods {
		if other.Name == c.Pod.Name {
			w.calls++
			if metav1.IsControlledBy(other, w.job) {
				if w.cache[other.UID] != nil {
					w.breaks("%s was asked for although it can be seen", c.Pod.Name)
				}
				return Existed
			}
			delete(w.memory.Creating, c.Pod.Name)
			c.Pod = c.Pod.DeepCopy()
			c.Pod.Name = fmt.Sprintf("%sr%04d", c.Pod.GenerateName, w.serial)
			w.memory.Creating[c.Pod.Name] = w.now
		}
	}
	if w.refused("create") {
		delete(w.memory.Creating, c.Pod.Name)
		return CreateFailed
	}
	pod := c.Pod.DeepCopy()
	w.serial++
	pod.UID = types.UID(fmt.Sprintf("u%03d", w.serial))
	pod.CreationTimestamp = metav1.NewTime(w.now)
	pod.Status.Phase = corev1.PodPending
	w.pods[pod.UID] = pod
	w.order = append(w.order, pod.UID)
	w.everMade[pod.Annotations[indexKey]]++
	w.mostRunning = max(w.mostRunning, w.running())
	w.changed(pod.UID)
	w.effect("create %s as %s", pod.Name, pod.UID)
	if w.lose != nil && w.lose("create") {
		return CreateUnknown
	}
	return Created
}

// mayCreate objects to a pod that nobody wants.
func (w *world) mayCreate(c Creation) {
	status := &w.job.Status
	switch {
	case Finished(w.job):
		w.breaks("%s was asked for by a Job that is finished", c.Pod.Name)
	case w.outcomeStored():
		w.breaks("%s was asked for by a Job of which the outcome is stored", c.Pod.Name)
	case suspended(w.job):
		w.breaks("%s was asked for by a Job that is suspended", c.Pod.Name)
	case w.job.Spec.Completions == nil && (status.Succeeded > 0 || status.UncountedTerminatedPods != nil && len(status.UncountedTerminatedPods.Succeeded) > 0):
		w.breaks("%s was asked for by a work queue of which a pod succeeded", c.Pod.Name)
	}
	patient := w.options.ExpectationTimeout >= time.Hour // otherwise waits are given up, and a pod too many is made and goes again
	succeeded, alive := int(status.Succeeded), len(w.alive())
	if u := status.UncountedTerminatedPods; u != nil {
		succeeded += len(u.Succeeded)
	}
	if patient && alive >= int(*w.job.Spec.Parallelism) {
		w.breaks("%s was asked for although %d pods run, parallelism %d", c.Pod.Name, alive, *w.job.Spec.Parallelism)
	}
	if want := w.job.Spec.Completions; patient && want != nil && CompletionMode(w.job) != batchv1.IndexedCompletion && alive+succeeded >= int(*want) {
		w.breaks("%s was asked for although %d pods run and %d succeeded, completions %d", c.Pod.Name, alive, succeeded, *want)
	}
	if CompletionMode(w.job) != batchv1.IndexedCompletion {
		return
	}
	bound := int(*w.job.Spec.Completions)
	if c.Index < 0 || c.Index >= bound {
		w.breaks("%s was asked for with index %d of %d", c.Pod.Name, c.Index, bound)
	}
	if interval.Parse(status.CompletedIndexes, bound).Has(c.Index) || interval.Parse(ptr.Deref(status.FailedIndexes, ""), bound).Has(c.Index) {
		w.breaks("%s was asked for although its index has ended", c.Pod.Name)
	}
	if !patient {
		return
	}
	if limit := w.job.Spec.BackoffLimitPerIndex; limit != nil {
		if n, sure := w.failuresOf(c.Index); sure && n > int(*limit) {
			w.breaks("%s was asked for although its index failed %d times, limit %d", c.Pod.Name, n, *limit)
		}
	}
	for _, other := range w.pods {
		ended := other.Status.Phase == corev1.PodSucceeded || other.Status.Phase == corev1.PodFailed
		leaves := other.DeletionTimestamp != nil && !replacesOnlyFailed(w.job)
		if indexOf(other) == c.Index && other.Name != c.Pod.Name && !ended && !leaves && !w.evicted.Has(other.UID) {
			w.breaks("%s was asked for although %s has its index", c.Pod.Name, other.Name)
		}
	}
}

// failuresOf an index that count towards its limit. It is not sure when a pod
// of it was removed before it ended, because with such a pod goes the count, or
// when the Job had fewer indexes for a while, because then it forgot the others.
func (w *world) failuresOf(index int) (n int, sure bool) {
	if w.shrunk {
		return 0, false
	}
	for _, pod := range w.last {
		switch {
		case indexOf(pod) != index:
		case pod.DeletionTimestamp != nil, w.evicted.Has(pod.UID):
			return 0, false
		case pod.Status.Phase == corev1.PodFailed && matchFailurePolicy(w.job.Spec.PodFailurePolicy, pod).counts():
			n++
		}
	}
	return n, true
}

// outcomeStored: the Job's status says how it ends.
func (w *world) outcomeStored() bool {
	return hasTrue(w.job.Status.Conditions, batchv1.JobFailureTarget) || hasTrue(w.job.Status.Conditions, batchv1.JobSuccessCriteriaMet)
}

// running is how many pods have not ended.
func (w *world) running() (n int) {
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			n++
		}
	}
	return n
}

func (w *world) delete(d Deletion, v Verdict) DeleteOutcome {
	if w.memory.Deleting == nil {
		w.memory.Deleting = map[types.UID]time.Time{}
	}
	if w.memory.Unfinalizing == nil {
		w.memory.Unfinalizing = sets.New[types.UID]()
	}
	if sent, again := w.memory.Deleting[d.UID]; again && w.now.Sub(sent) < w.options.withDefaults().ExpectationTimeout {
		w.breaks("%s is deleted again before the first time can be seen", d.UID)
	}
	w.memory.Deleting[d.UID] = w.now
	if pod := w.pods[d.UID]; !d.Unfinalize && pod != nil && hasFinalizer(pod) && !w.outcomeStored() {
		w.breaks("%s is stopped for good before the outcome is stored", d.UID)
	}
	if d.Unfinalize {
		w.memory.Unfinalizing.Insert(d.UID)
		if w.refused("evict") {
			delete(w.memory.Deleting, d.UID)
			w.memory.Unfinalizing.Delete(d.UID)
			return DeleteFailed
		}
		if w.pods[d.UID] == nil {
			return Vanished
		}
		if len(w.unseen[d.UID]) > 0 { // another resource version than the one decided upon
			delete(w.memory.Deleting, d.UID)
			w.memory.Unfinalizing.Delete(d.UID)
			return NotDeleted
		}
		w.evicted.Insert(d.UID)
		w.dropFinalizer(d.UID)
		w.effect("remove finalizer of %s to delete it", d.UID)
	}
	if w.refused("delete") {
		delete(w.memory.Deleting, d.UID)
		return DeleteFailed
	}
	if w.pods[d.UID] == nil {
		return Vanished
	}
	if !d.Unfinalize {
		if v.Outcome == Failure {
			w.stoppedByFailure.Insert(d.UID)
		} else {
			w.stoppedBySuccess.Insert(d.UID)
		}
	}
	w.remove(d.UID)
	w.effect("delete %s", d.UID)
	return Deleted
}

// remove is DELETE: what never ran or has ended goes at once, unless a
// finalizer holds it.
func (w *world) remove(uid types.UID) {
	pod := w.pods[uid]
	if pod == nil {
		return
	}
	if pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now.Add(30 * time.Second)))
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
	}
	w.changedOrGone(uid)
}

func (w *world) changedOrGone(uid types.UID) {
	pod := w.pods[uid]
	w.last[uid] = pod.DeepCopy()
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == ""
	if pod.DeletionTimestamp != nil && over && len(pod.Finalizers) == 0 {
		delete(w.pods, uid)
	}
	w.changed(uid)
}

func (w *world) dropFinalizer(uid types.UID) {
	w.pods[uid].Finalizers = nil
	w.changedOrGone(uid)
}

func (w *world) unfinalize(ref PodRef) (bool, error) {
	if w.memory.Unfinalizing == nil {
		w.memory.Unfinalizing = sets.New[types.UID]()
	}
	if w.memory.Unfinalizing.Has(ref.UID) {
		w.breaks("the finalizer of %s is removed again before the first time can be seen", ref.UID)
	}
	w.memory.Unfinalizing.Insert(ref.UID)
	if w.refused("unfinalize") {
		w.memory.Unfinalizing.Delete(ref.UID)
		return false, errRefused
	}
	if w.pods[ref.UID] == nil || !hasFinalizer(w.pods[ref.UID]) {
		if w.pods[ref.UID] == nil && len(w.unseen[ref.UID]) == 0 {
			w.memory.Unfinalizing.Delete(ref.UID)
		}
		return true, nil
	}
	w.released.Insert(ref.UID)
	w.dropFinalizer(ref.UID)
	w.effect("remove finalizer of %s", ref.UID)
	return true, nil
}

func (w *world) patch(ref PodRef, edit func(*corev1.Pod), what string) {
	pod := w.pods[ref.UID]
	if pod == nil || w.refused(what) {
		return
	}
	edit(pod)
	w.changed(ref.UID)
	w.effect("%s %s", what, ref.UID)
}

func (w *world) write(write Write) error {
	if write.Status == nil {
		w.memory.Backoff = write.Backoff
		return nil
	}
	if w.refused("status") {
		return errRefused
	}
	next := w.job.DeepCopy()
	next.Status = *write.Status.DeepCopy()
	for _, v := range CheckStatus(w.job, next) {
		w.breaks("%s", v)
	}
	w.job = next
	if write.Finished && w.options.ExpectationTimeout >= time.Hour && w.running() > 0 {
		w.breaks("the Job is finished and %d pods run", w.running())
	}
	if u := next.Status.UncountedTerminatedPods; u != nil {
		recorded := len(u.Succeeded) + len(u.Failed)
		if limit := w.options.withDefaults().MaxUncounted; recorded > limit {
			w.breaks("%d pods are recorded at once, limit %d", recorded, limit)
		}
		if limit := int(ptr.Deref(next.Spec.BackoffLimit, defaultBackoffLimit)); int(next.Status.Failed)+len(u.Failed) > limit && !w.outcomeStored() && !Finished(next) {
			w.breaks("more failed pods than the limit %d, and the Job goes on", limit)
		}
	}
	w.writes++
	w.effect("write %s", statusText(write.Status))
	if w.lose != nil && w.lose("status") {
		return errRefused
	}
	w.memory.Backoff = write.Backoff
	w.memory.Finished = w.memory.Finished || write.Finished
	for _, n := range write.Notes {
		w.events = append(w.events, n.Reason)
	}
	return nil
}

// What the kubelet and users do.

func (w *world) start(uid types.UID) {
	if pod := w.pods[uid]; pod != nil && pod.Status.Phase == corev1.PodPending {
		pod.Spec.NodeName = "node"
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now)}}
		w.changed(uid)
	}
}

func (w *world) end(uid types.UID, code int32) {
	pod := w.pods[uid]
	if pod == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	pod.Spec.NodeName = "node"
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.Conditions = nil
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.now)}}}}
	if hasFinalizer(pod) {
		w.ended[uid] = pod.Status.Phase
	}
	w.changedOrGone(uid)
}

// finishDeletions lets every pod that is being deleted end.
func (w *world) finishDeletions() {
	for _, uid := range w.order {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp != nil {
			w.end(uid, 143)
			if w.pods[uid] != nil {
				w.changedOrGone(uid)
			}
		}
	}
}

// alive are the pods that exist and have not ended, oldest first.
func (w *world) alive() (uids []types.UID) {
	for _, uid := range w.order {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			uids = append(uids, uid)
		}
	}
	return uids
}

func (w *world) edit(spec func(*batchv1.Job)) {
	before := w.job
	w.job = w.job.DeepCopy()
	spec(w.job)
	w.job.Generation++
	w.shrunk = w.shrunk || ptr.Deref(w.job.Spec.Completions, 0) < ptr.Deref(before.Spec.Completions, 0)
}

// settle syncs until nothing changes any more, moving time to the wake-ups that
// come within the given span.
func (w *world) settle(within time.Duration) {
	until := w.now.Add(within)
	for range 1000 {
		before := w.effects
		plan, err, crashed := w.sync()
		w.catchUpAll()
		if crashed {
			w.crashAfter, w.crashOn = -1, nil
			w.restart()
			continue
		}
		if w.effects != before {
			continue
		}
		wake := plan.Wake
		if record := plan.Record(Results{}); plan.sync != nil {
			wake = earlier(wake, record.Wake)
		}
		if err != nil {
			wake = earlier(wake, w.now.Add(time.Second))
		}
		if wake.IsZero() || wake.After(until) {
			return
		}
		w.now = wake
	}
	w.breaks("the controller does not come to rest: %s", strings.Join(w.log[max(0, len(w.log)-20):], "; "))
}

// holders are the pods that hold the finalizer.
func (w *world) holders() (n int) {
	for _, pod := range w.pods {
		if hasFinalizer(pod) {
			n++
		}
	}
	return n
}
