// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// world is a Job, its pods, and a controller that carries plans out and sees at once what became of them. Time stands
// still unless it is moved. Caches that lag, and what is expected of them, are for the simulation of the shell
// (internal/controller/job).
type world struct {
	now time.Time
	// clockAhead is by how much the clock of the nodes is ahead.
	clockAhead time.Duration
	options    Options
	job        *batchv1.Job
	pods       map[types.UID]*corev1.Pod
	order      []types.UID // of creation
	// version is the last resource version given to a pod.
	version      int
	expectations Expectations

	// effects counts API calls that changed something; crashAfter stops the controller right after that many (-1:
	// never).
	effects, crashAfter int
	// refuse makes a call fail; lose makes a call succeed without an answer.
	refuse, lose func(call string) bool

	log, broken, events []string
	calls, mostRunning  int
	everMade            map[string]int // pods by index
}

type crash struct{}

var errRefused = fmt.Errorf("refused")

func newWorld(job *batchv1.Job) *world {
	return &world{
		now: now, job: job, pods: map[types.UID]*corev1.Pod{}, options: Options{Standalone: true}, crashAfter: -1,
		everMade: map[string]int{},
	}
}

// effect remembers an effect and crashes if this was the one to crash after.
func (w *world) effect(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
	if w.effects++; w.effects == w.crashAfter {
		panic(crash{})
	}
}

func (w *world) refused(call string) bool {
	w.calls++
	return w.refuse != nil && w.refuse(call)
}

func (w *world) lost(call string) bool { return w.lose != nil && w.lose(call) }

func (w *world) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// sync runs the controller once; crashed says that it did not come to the end, and another one begins.
func (w *world) sync() (wake time.Time, err error, crashed bool) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case crash:
			crashed, w.crashAfter, w.expectations = true, -1, Expectations{}
		default:
			panic(r)
		}
	}()
	var pods []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		pods = append(pods, w.pods[uid].DeepCopy())
	}
	plan := Decide(Snapshot{Job: w.job.DeepCopy(), Pods: pods, PodsCurrent: true, Now: w.now, Expectations: w.expectations, Options: w.options})
	if plan.Forget {
		w.expectations = Expectations{}
	}
	status, err := w.apply(plan)
	for _, at := range []time.Time{plan.Wake, status.Wake} {
		if wake = Earlier(wake, at); !at.IsZero() && !at.After(w.now) {
			w.breaks("wake-up in the past")
		}
	}
	return wake, err, false
}

func (w *world) apply(plan Plan) (status StatusPlan, failed error) {
	for _, ref := range plan.Claim.Adopt {
		w.patch(ref, "adopt", func(pod *corev1.Pod) {
			pod.OwnerReferences, pod.Finalizers = []metav1.OwnerReference{OwnerReference(w.job)}, []string{Finalizer}
		})
	}
	for _, ref := range plan.Claim.Release {
		w.patch(ref, "release", func(pod *corev1.Pod) { pod.OwnerReferences, pod.Finalizers = nil, nil })
	}
	for _, ref := range plan.Cleanup {
		failed = w.unfinalize(ref)
	}
	var results Results
	for _, d := range plan.Delete {
		outcome := w.delete(d)
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
	status = plan.PlanStatus(results)
	for _, n := range status.Events {
		w.events = append(w.events, n.Reason)
	}
	if err := w.write(status.Write); err != nil {
		return status, err
	}
	for _, ref := range status.Unfinalize {
		if err := w.unfinalize(ref); err != nil {
			failed = err
		}
	}
	return status, failed
}

// settle syncs until nothing changes any more, moving time to the wake-ups that come within the given span.
func (w *world) settle(within time.Duration) {
	until := w.now.Add(within)
	for range 1000 {
		before := w.effects
		wake, err, crashed := w.sync()
		if crashed || w.effects != before {
			continue
		}
		if err != nil {
			wake = Earlier(wake, w.now.Add(time.Second))
		}
		if wake.IsZero() || wake.After(until) {
			return
		}
		w.now = wake
	}
	w.breaks("the controller does not come to rest: %s", strings.Join(w.log[max(0, len(w.log)-20):], "; "))
}

// What the API server does.

func (w *world) create(c Creation) CreateOutcome {
	for _, other := range w.pods {
		if other.Name == c.Pod.Name {
			w.breaks("%s was asked for although it can be seen", c.Pod.Name)
		}
	}
	if w.refused("create") {
		return CreateFailed
	}
	pod := c.Pod.DeepCopy()
	pod.UID = types.UID(fmt.Sprintf("u%03d", len(w.order)+1))
	pod.CreationTimestamp = metav1.NewTime(w.now)
	pod.Status.Phase = corev1.PodPending
	w.pods[pod.UID] = pod
	w.order = append(w.order, pod.UID)
	w.everMade[pod.Annotations[indexKey]]++
	w.mostRunning = max(w.mostRunning, w.running())
	w.changed(pod.UID)
	w.effect("create %s as %s", pod.Name, pod.UID)
	if w.lost("create") {
		return CreateUnknown
	}
	return Created
}

func (w *world) delete(d Deletion) DeleteOutcome {
	if d.Unfinalize {
		if w.refused("evict") {
			return DeleteFailed
		}
		w.dropFinalizer(d.UID)
		w.effect("remove finalizer of %s to delete it", d.UID)
	}
	if w.refused("delete") {
		return DeleteFailed
	}
	if w.pods[d.UID] == nil {
		return Vanished
	}
	w.remove(d.UID)
	w.effect("delete %s", d.UID)
	return Deleted
}

// remove is DELETE: what never ran or has ended goes at once, unless a finalizer holds it.
func (w *world) remove(uid types.UID) {
	if pod := w.pods[uid]; pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now.Add(30 * time.Second)))
		pod.DeletionGracePeriodSeconds = ptr.To[int64](30)
	}
	w.changed(uid)
}

func (w *world) unfinalize(ref PodRef) error {
	if w.refused("unfinalize") {
		return errRefused
	}
	if w.pods[ref.UID] != nil {
		w.dropFinalizer(ref.UID)
		w.effect("remove finalizer of %s", ref.UID)
	}
	return nil
}

func (w *world) dropFinalizer(uid types.UID) {
	w.pods[uid].Finalizers = nil
	w.changed(uid)
}

// changed gives a pod a new version, or ends it.
func (w *world) changed(uid types.UID) {
	pod := w.pods[uid]
	w.version++
	pod.ResourceVersion = strconv.Itoa(w.version)
	if pod.DeletionTimestamp != nil && (PodFinished(pod) || pod.Spec.NodeName == "") && len(pod.Finalizers) == 0 {
		delete(w.pods, uid)
	}
}

func (w *world) patch(ref PodRef, what string, edit func(*corev1.Pod)) {
	if w.refused(what) {
		return
	}
	edit(w.pods[ref.UID])
	w.changed(ref.UID)
	w.effect("%s %s", what, ref.UID)
}

func (w *world) write(write StatusWrite) error {
	if write.Status != nil {
		if w.refused("status") {
			return errRefused
		}
		next := w.job.DeepCopy()
		next.Status = *write.Status.DeepCopy()
		for _, v := range CheckStatus(w.job, next) {
			w.breaks("%s", v)
		}
		w.job = next
		w.effect("write %s", statusText(write.Status))
		if w.lost("status") {
			return errRefused
		}
	}
	w.expectations.Backoff = write.Backoff
	w.expectations.Finished = w.expectations.Finished || write.Finished
	for _, n := range write.Events {
		w.events = append(w.events, n.Reason)
	}
	return nil
}

// What the kubelet and users do.

func (w *world) start(uid types.UID) {
	if pod := w.pods[uid]; pod.Status.Phase == corev1.PodPending {
		pod.Spec.NodeName = "node"
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.now)}}
		w.changed(uid)
	}
}

// restartContainer starts the container of a running pod anew.
func (w *world) restartContainer(uid types.UID) {
	pod := w.pods[uid]
	if len(pod.Status.ContainerStatuses) == 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
	}
	c := &pod.Status.ContainerStatuses[0]
	c.RestartCount++
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(w.now)}
	w.changed(uid)
}

func (w *world) end(uid types.UID, code int32) {
	pod := w.pods[uid]
	if PodFinished(pod) {
		return
	}
	pod.Spec.NodeName = "node"
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.Conditions = nil
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(w.now.Add(w.clockAhead))}}}}
	w.changed(uid)
}

// finishDeletions lets every pod that is being deleted end.
func (w *world) finishDeletions() {
	for _, uid := range w.order {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp != nil {
			w.end(uid, 143)
		}
	}
}

// alive are the pods that exist and have not ended, oldest first.
func (w *world) alive() (uids []types.UID) {
	for _, uid := range w.order {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp == nil && !PodFinished(pod) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// running is how many pods have not ended.
func (w *world) running() (n int) {
	for _, pod := range w.pods {
		if !PodFinished(pod) {
			n++
		}
	}
	return n
}

func (w *world) edit(spec func(*batchv1.Job)) {
	w.job = w.job.DeepCopy()
	spec(w.job)
	w.job.Generation++
}

// holders are the pods that hold the finalizer.
func (w *world) holders() (n int) {
	for _, pod := range w.pods {
		if HasFinalizer(pod) {
			n++
		}
	}
	return n
}
