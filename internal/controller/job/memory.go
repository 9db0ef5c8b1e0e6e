// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"maps"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/job"
)

// memories hold what this process did to each Job and what the caches may not
// show yet. They are keyed by the UID of the Job, so a Job that was deleted and
// made again under the same name begins with nothing. A crash loses
// them, which costs at most calls that change nothing.
//
// Events and the sync of the Job meet here; every method may be called by
// several goroutines at once.
type memories struct {
	mu   sync.Mutex
	byID map[types.UID]*memory
}

// memory is about one Job. Its fields belong to the mutex of memories, except
// those marked: only the sync of the Job, of which there is one at a time,
// touches these.
type memory struct {
	creating     map[string]expected // by name
	deleting     map[types.UID]time.Time
	unfinalizing sets.Set[types.UID]
	finished     bool
	// doomed: the namespace takes no more pods.
	doomed bool
	// doubted: another process has worked on the Job, so that it may be newer than the one at hand.
	doubted bool
	retired bool // the cache shows the Job as finished
	backoff job.Backoff

	// size is how many pods the last sync found.
	size int
	// unreported is since when a write is put off; zero: none is.
	unreported time.Time
	// unreleased is since when finalizers that may go stand back; zero: none does.
	unreleased time.Time
	// blocked: a decision was held back, or was not complete, because of
	// creating; the pod that ends the wait has to wake the Job.
	blocked bool

	// floor is the resource version that the pod cache must reach before it is
	// believed about this Job; "" once it did (sync only).
	floor string
	// known is the status as this process last found or wrote it; nil: it never did (sync only).
	known *batchv1.JobStatus
	// window is the size of the next batch of creations (sync only).
	window int
	// complaint is the last complaint about a status that cannot be written (sync only).
	complaint string
	// refusals counts the syncs in a row in which the server refused pods (sync only).
	refusals int
}

// expected is a pod that was asked for and not seen yet. Names are used again
// (package internal/job, PodName), and what is heard of the last pod of a name
// may come late, so it matters which pod it is.
type expected struct {
	sent time.Time
	// uid of the pod; "" until the server told it.
	uid types.UID
	// floor is a resource version that the pods had reached before the call: what is not newer is another pod.
	floor string
}

// is reports whether pod, of that name, is the one that was asked for.
func (e expected) is(pod *corev1.Pod) bool {
	if e.uid != "" {
		return pod.UID == e.uid
	}
	order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, e.floor)
	return err != nil || order > 0
}

func newMemories() *memories { return &memories{byID: map[types.UID]*memory{}} }

// of returns the memory about a Job, making it.
func (m *memories) of(uid types.UID) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(uid)
}

func (m *memories) get(uid types.UID) *memory {
	mem := m.byID[uid]
	if mem == nil {
		mem = &memory{
			creating:     map[string]expected{},
			deleting:     map[types.UID]time.Time{},
			unfinalizing: sets.New[types.UID](),
		}
		m.byID[uid] = mem
	}
	return mem
}

// forget drops the memory about a Job that is gone.
func (m *memories) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byID, uid)
}

// recall copies the memory for a decision. It must be read before the pods are
// listed: a pod that enters the cache in between then only causes caution.
func (m *memories) recall(uid types.UID) job.Expectations {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	creating := make(map[string]time.Time, len(mem.creating))
	for name, e := range mem.creating {
		creating[name] = e.sent
	}
	return job.Expectations{
		Creating:     creating,
		Deleting:     maps.Clone(mem.deleting),
		Unfinalizing: mem.unfinalizing.Clone(),
		Finished:     mem.finished,
		Backoff:      mem.backoff,

		NamespaceTerminating: mem.doomed,
	}
}

// settle forgets what the listed pods show to have arrived. Events do the same
// one by one; this makes a lost event harmless. pods are all pods that the cache
// has of the Job, listed after the memory was recalled as before.
func (m *memories) settle(uid types.UID, before job.Expectations, pods []*corev1.Pod) {
	if len(before.Creating) == 0 && len(before.Deleting) == 0 && len(before.Unfinalizing) == 0 {
		return
	}
	listed := make(map[types.UID]*corev1.Pod, len(pods))
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	for _, pod := range pods {
		listed[pod.UID] = pod
		if e, ok := mem.creating[pod.Name]; ok && e.is(pod) {
			delete(mem.creating, pod.Name)
		}
	}
	// Only what is listed proves anything: a pod that is not may be one that the
	// server was asked for and that the cache has yet to show. When it goes, it
	// goes with an event.
	for pod := range before.Deleting {
		if p := listed[pod]; p != nil && p.DeletionTimestamp != nil {
			delete(mem.deleting, pod)
		}
	}
	for pod := range before.Unfinalizing {
		if p := listed[pod]; p != nil && !held(p) {
			mem.unfinalizing.Delete(pod)
		}
	}
}

// seen notes what a watch shows of a pod of this Job; gone: the pod is no more.
// own tells that it is nothing but an effect of our own write, wake that the
// Job was waiting for it.
func (m *memories) seen(uid types.UID, pod *corev1.Pod, gone bool) (own, wake bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.byID[uid]
	if mem == nil {
		return false, false
	}
	if e, ok := mem.creating[pod.Name]; ok && e.is(pod) {
		delete(mem.creating, pod.Name)
		own = true
		if mem.blocked && len(mem.creating) == 0 {
			mem.blocked, wake = false, true
		}
	}
	if gone || pod.DeletionTimestamp != nil {
		delete(mem.deleting, pod.UID)
	}
	if gone || !held(pod) {
		if mem.unfinalizing.Has(pod.UID) {
			mem.unfinalizing.Delete(pod.UID)
			own = true
			m.release(uid, mem)
		}
	}
	return own, wake
}

// block marks that the Job waits for its creations to be seen. It reports
// false if there is nothing to wait for any more: then look again.
func (m *memories) block(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	mem.blocked = len(mem.creating) > 0
	return mem.blocked
}

// doubt notes that another process has worked on the Job.
func (m *memories) doubt(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).doubted = true
}

func (m *memories) isDoubted(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(uid).doubted
}

func (m *memories) notDoubted(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).doubted = false
}

// doom notes that the namespace of the Job takes no more pods.
func (m *memories) doom(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).doomed = true
}

// creating notes that a pod of this name is being created; notCreating takes it
// back. The pairs below work the same.
func (m *memories) creating(uid types.UID, name string, e expected) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).creating[name] = e
}

// created notes which pod it became, unless it was seen meanwhile.
func (m *memories) created(uid types.UID, name string, pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	if e, ok := mem.creating[name]; ok {
		e.uid = pod
		mem.creating[name] = e
	}
}

func (m *memories) notCreating(uid types.UID, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.get(uid).creating, name)
}

func (m *memories) deleting(uid, pod types.UID, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).deleting[pod] = now
}

func (m *memories) notDeleting(uid, pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.get(uid).deleting, pod)
}

func (m *memories) unfinalizing(uid, pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).unfinalizing.Insert(pod)
}

func (m *memories) notUnfinalizing(uid, pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).unfinalizing.Delete(pod)
}

// wrote notes what a successful status write decided.
func (m *memories) wrote(uid types.UID, backoff job.Backoff, finished bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	mem.backoff = backoff
	mem.finished = mem.finished || finished
}

// resize notes how many pods the Job has; size tells it.
func (m *memories) resize(uid types.UID, pods int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).size = pods
}

func (m *memories) size(uid types.UID) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.byID[uid]; mem != nil {
		return mem.size
	}
	return 0
}

// unreported notes that there is something to write that can wait, and returns since when.
func (m *memories) unreported(uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	if mem.unreported.IsZero() {
		mem.unreported = now
	}
	return mem.unreported
}

// reported notes that nothing is left to write.
func (m *memories) reported(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).unreported = time.Time{}
}

// releasing notes that finalizers stand back, and returns since when.
func (m *memories) releasing(uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.get(uid)
	if mem.unreleased.IsZero() {
		mem.unreleased = now
	}
	return mem.unreleased
}

// released notes that none does any more.
func (m *memories) released(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.get(uid).unreleased = time.Time{}
}

func (m *memories) isUnfinalizing(uid, pod types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.byID[uid]
	return mem != nil && mem.unfinalizing.Has(pod)
}

// retire drops the memory about a Job that the cache shows as finished, except
// for finalizers that are being removed; those go one by one.
func (m *memories) retire(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mem := m.byID[uid]; mem != nil {
		mem.retired = true
		m.release(uid, mem)
	}
}

func (m *memories) release(uid types.UID, mem *memory) {
	if mem.retired && len(mem.unfinalizing) == 0 {
		delete(m.byID, uid)
	}
}

// sameCounts reports whether two statuses say the same about what is accounted for.
func sameCounts(a, b *batchv1.JobStatus) bool {
	return a.Succeeded == b.Succeeded && a.Failed == b.Failed && a.CompletedIndexes == b.CompletedIndexes &&
		ptr.Equal(a.FailedIndexes, b.FailedIndexes) &&
		equality.Semantic.DeepEqual(a.UncountedTerminatedPods, b.UncountedTerminatedPods)
}

// pristine reports whether no controller has ever written about the Job: then no
// pods of it can have been accounted for.
func pristine(j *batchv1.Job) bool {
	s := &j.Status
	return s.StartTime == nil && s.UncountedTerminatedPods == nil && len(s.Conditions) == 0 &&
		s.Succeeded == 0 && s.Failed == 0 && s.CompletedIndexes == ""
}
