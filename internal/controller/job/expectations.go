// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"maps"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/ownwrites"
)

// expectations are what this process did and the caches may not show yet. A sync decides on the caches and these
// together ([job.Expectations]).
//
//	expected                     from              met when
//	a pod that is created        before the call   a watch or a list shows this very pod
//	a pod that is deleted        before the call   it is shown with a deletionTimestamp, or is gone
//	a finalizer that is removed  before the call   the pod is shown without it, or is gone
//	a status that was written    after the answer  the cache has the Job as new (ownWrites)
//	the end of the Job           after the answer  the cache shows the Job as finished
//
// What is expected before a call is withdrawn when the call is known to have done nothing. Pods that stay away longer
// than the core waits are looked for on the server (gather.go). All is keyed by the UID of the Job, so a Job that was
// deleted and made again under the same name begins with nothing.
//
// A crash loses all of it. Creations and deletions are then sent again and change nothing, as names are deterministic.
// Pods that were counted could count again, so a process that knows nothing of a Job trusts the pod cache only when it
// has come as far as the Job's status (podCacheCoversStatus). The back-off begins anew, and what was put off is put off again
// from the start.
//
// Events and the sync of the Job meet here; every method may be called by several goroutines at once.
type expectations struct {
	ownWrites *ownwrites.Store[*batchv1.Job]
	// gone has UIDs of Jobs known to exist no more.
	gone *lru.Cache

	mu    sync.Mutex
	byJob map[types.UID]*jobExpectations
}

// jobExpectations are about one Job. Its own fields belong to the mutex of expectations, those of carry to the
// sync.
type jobExpectations struct {
	creating     map[string]expectedPod // by name
	deleting     map[types.UID]time.Time
	unfinalizing sets.Set[types.UID]
	// blocked: a decision was held back, or was not complete, because of creating; the pod that ends the wait has to
	// wake the Job.
	blocked bool
	// namespaceTerminating: no more pods can be created.
	namespaceTerminating bool
	// otherWriter: another process has worked on the Job, so that it may be newer than the one at hand.
	otherWriter bool
	// finished: the cache shows the Job as finished. Only finalizers that are being removed are still expected.
	finished bool

	// pods is how many the last sync found, lastSync when it began.
	pods     int
	lastSync time.Time
	// unwritten is since when there is something to write that can wait; zero: there is nothing.
	unwritten time.Time

	carry
}

// carry is what one sync of a Job leaves to the next. There is one at a time, and nobody else touches it.
type carry struct {
	// ended: this process wrote the end of the Job.
	ended   bool
	backoff job.Backoff
	// status as this process last found or wrote it; nil: it never did.
	status *batchv1.JobStatus
	// minPodVersion is the resource version that the pod cache must reach before it is believed about this Job; "" once
	// it did.
	minPodVersion string
	// batch is the size of the next batch of creations.
	batch int
	// refusals counts the syncs in a row in which the server refused pods.
	refusals int
	// finalizersDeferred is since when finalizers that may go are put off; zero: none is.
	finalizersDeferred time.Time
	// complaint is the last complaint about a status that cannot be written.
	complaint string
}

// expectedPod is a pod that was asked for and not seen yet. Names are used again (package internal/job, PodName), and
// what is heard of the last pod of a name may come late, so it matters which pod it is.
type expectedPod struct {
	sent time.Time
	// uid of the pod; "" until the server told it.
	uid types.UID
	// after is a resource version that the pods had reached before the call: what is not newer is another pod.
	after string
}

// is reports whether pod, of that name, is the one that was asked for.
func (e expectedPod) is(pod *corev1.Pod) bool {
	if e.uid != "" {
		return pod.UID == e.uid
	}
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, e.after)
	return err != nil || order > 0
}

func newExpectations(jobProgress func() string) *expectations {
	return &expectations{
		ownWrites: ownwrites.New[*batchv1.Job](jobProgress),
		gone:      lru.New(1 << 16),
		byJob:     map[types.UID]*jobExpectations{},
	}
}

// update changes what is expected of a Job.
func (e *expectations) update(uid types.UID, change func(*jobExpectations)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e.get(uid))
}

// carry is what the last sync of the Job left, for the next one.
func (e *expectations) carry(uid types.UID) *carry {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &e.get(uid).carry
}

func (e *expectations) get(uid types.UID) *jobExpectations {
	j := e.byJob[uid]
	if j == nil {
		j = &jobExpectations{
			creating:     map[string]expectedPod{},
			deleting:     map[types.UID]time.Time{},
			unfinalizing: sets.New[types.UID](),
		}
		e.byJob[uid] = j
	}
	return j
}

// recall copies what is expected for a decision. It must be read before the pods are listed: a pod that enters the
// cache in between then only causes caution.
func (e *expectations) recall(uid types.UID) job.Expectations {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.get(uid)
	creating := make(map[string]time.Time, len(j.creating))
	for name, pod := range j.creating {
		creating[name] = pod.sent
	}
	return job.Expectations{
		Creating:     creating,
		Deleting:     maps.Clone(j.deleting),
		Unfinalizing: j.unfinalizing.Clone(),
		Finished:     j.ended,
		Backoff:      j.backoff,

		NamespaceTerminating: j.namespaceTerminating,
	}
}

// expectCreation notes that a pod of this name is asked for.
func (e *expectations) expectCreation(uid types.UID, name string, pod expectedPod) {
	e.update(uid, func(j *jobExpectations) { j.creating[name] = pod })
}

// withdrawCreation notes that the call made no pod of this name, or that it is seen already.
func (e *expectations) withdrawCreation(uid types.UID, name string) {
	e.update(uid, func(j *jobExpectations) { delete(j.creating, name) })
}

// observePod takes in what a watch shows of a pod of this Job; gone: the pod is no more. own tells that it is nothing
// but an effect of our own write, wake that the Job was waiting for it.
func (e *expectations) observePod(uid types.UID, pod *corev1.Pod, gone bool) (own, wake bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.byJob[uid]
	if j == nil {
		return false, false
	}
	if expected, ok := j.creating[pod.Name]; ok && expected.is(pod) {
		delete(j.creating, pod.Name)
		own = true
		if j.blocked && len(j.creating) == 0 {
			j.blocked, wake = false, true
		}
	}
	if gone || pod.DeletionTimestamp != nil {
		delete(j.deleting, pod.UID)
	}
	if (gone || !job.HasFinalizer(pod)) && j.unfinalizing.Has(pod.UID) {
		j.unfinalizing.Delete(pod.UID)
		own = true
		e.dropFinished(uid, j)
	}
	return own, wake
}

// observeCache takes in a list of all pods that the cache has of the Job. Events do the same one by one; this makes a
// lost event harmless. Only expectations that were recalled before the list are compared with it.
func (e *expectations) observeCache(uid types.UID, before job.Expectations, pods []*corev1.Pod) {
	if len(before.Creating) == 0 && len(before.Deleting) == 0 && len(before.Unfinalizing) == 0 {
		return
	}
	listed := make(map[types.UID]*corev1.Pod, len(pods))
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.get(uid)
	for _, pod := range pods {
		listed[pod.UID] = pod
		if expected, ok := j.creating[pod.Name]; ok && expected.is(pod) {
			delete(j.creating, pod.Name)
		}
	}
	// Only what is listed proves anything: a pod that is not may be one that the server was asked for and that the
	// cache has yet to show. When it goes, it goes with an event.
	for pod := range before.Deleting {
		if p := listed[pod]; p != nil && p.DeletionTimestamp != nil {
			delete(j.deleting, pod)
		}
	}
	for pod := range before.Unfinalizing {
		if p := listed[pod]; p != nil && !job.HasFinalizer(p) {
			j.unfinalizing.Delete(pod)
		}
	}
}

// observeServer withdraws the overdue calls that a live list of the pods shows to have done nothing, or all that they
// could. Those that the cache has yet to show stay: without them a cache that lags so far would be believed again in
// the next sync.
func (e *expectations) observeServer(uid types.UID, creating []string, deleting []types.UID, live, cached []*corev1.Pod) {
	names, untouched := sets.New[string](), map[types.UID]bool{}
	for _, pod := range cached {
		untouched[pod.UID] = false
	}
	for _, pod := range live {
		names.Insert(pod.Name)
		untouched[pod.UID] = pod.DeletionTimestamp == nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.get(uid)
	for _, name := range creating {
		if !names.Has(name) {
			delete(j.creating, name)
		}
	}
	for _, pod := range deleting {
		if nothing, there := untouched[pod]; nothing || !there {
			delete(j.deleting, pod)
		}
	}
}

// awaitCreations makes the pod that meets the last expected creation wake the Job. It reports false if none is expected
// any more: then nothing wakes it.
func (e *expectations) awaitCreations(uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.get(uid)
	j.blocked = len(j.creating) > 0
	return j.blocked
}

// isUnfinalizing reports whether this process removed the finalizer of the pod, or is removing it.
func (e *expectations) isUnfinalizing(uid, pod types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.byJob[uid]
	return j != nil && j.unfinalizing.Has(pod)
}

// lastSync is when the last sync of the Job began, zero if there was none, and how many pods it found.
func (e *expectations) lastSync(uid types.UID) (began time.Time, pods int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.byJob[uid]; j != nil {
		return j.lastSync, j.pods
	}
	return time.Time{}, 0
}

// finish drops what is expected of a Job that the cache shows as finished, except for finalizers that are being
// removed; those go one by one.
func (e *expectations) finish(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if j := e.byJob[uid]; j != nil {
		j.finished = true
		e.dropFinished(uid, j)
	}
}

func (e *expectations) dropFinished(uid types.UID, j *jobExpectations) {
	if j.finished && len(j.unfinalizing) == 0 {
		delete(e.byJob, uid)
	}
}

// forget drops what is expected of a Job that is gone.
func (e *expectations) forget(uid types.UID) {
	e.ownWrites.Forget(uid)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byJob, uid)
}
