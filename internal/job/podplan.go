// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"cmp"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// deleteAll are the deletions of a Job whose end is decided and stored. The pods keep their finalizer: those of a
// failed Job count as failed.
func (s *syncState) deleteAll() []Deletion {
	why := "the Job succeeded: " + s.verdict.Reason
	if s.verdict.Outcome == Failure {
		why = "the Job failed: " + s.verdict.Reason
	}
	deletions := make([]Deletion, 0, len(s.pods.active))
	for _, v := range s.pods.active {
		deletions = append(deletions, Deletion{PodRef: refOf(v.pod), Why: why, ready: v.ready})
	}
	return deletions
}

// managePods fills in which pods to delete or create so that as many run as the Job wants now (job.md 2.6). A sync
// either deletes or creates.
func (s *syncState) managePods(p *Plan) {
	p.Action = ActionTracking
	if suspended(s.job) {
		p.Action = ActionPodsDeleted
		p.Delete = deleteUncounted(s.pods.active, "the Job is suspended")
		return
	}
	want := s.wantActive()
	if p.Delete = s.surplus(want); len(p.Delete) > 0 {
		p.Action = ActionPodsDeleted
		return
	}
	missing := want - len(s.pods.active)
	if s.replacesOnlyFailed {
		missing -= s.pods.terminating
	}
	if missing <= 0 || s.namespaceTerminating {
		return
	}
	p.Action = ActionPodsCreated
	s.createPods(p, min(missing, s.options.MaxPodChanges))
}

// wantActive is how many pods should run. A work queue starts none once a pod succeeded; the others drain.
func (s *syncState) wantActive() int {
	parallelism := int(ptr.Deref(s.job.Spec.Parallelism, 1))
	if s.job.Spec.Completions == nil {
		if s.succeeded > 0 {
			return len(s.pods.active)
		}
		return parallelism
	}
	return max(0, min(parallelism, int(*s.job.Spec.Completions)-s.succeeded))
}

// surplus are the pods that must go: those that can do no good (no usable index, an index that a better pod works on),
// and as many more as there are too many.
func (s *syncState) surplus(want int) []Deletion {
	useless, useful := s.uselessPods()
	tooMany := max(0, len(s.pods.active)-want)
	deletions := deleteUncounted(useless, "its completion index is not wanted, or another pod has it")
	for i, v := range useless {
		if v.index == unknownIndex {
			deletions[i].events = []Event{invalidIndex(v.pod)}
		}
	}
	if more := tooMany - len(useless); more > 0 {
		// A work queue of which all pods are wanted, and any Job with just enough, comes here not at all.
		slices.SortStableFunc(useful, byDeletionPreference(s.now))
		deletions = append(deletions, deleteUncounted(useful[:min(more, len(useful))], "more pods than wanted")...)
	}
	return deletions[:min(len(deletions), s.options.MaxPodChanges)]
}

// uselessPods splits the active pods of an Indexed Job; a NonIndexed Job has no useless ones.
func (s *syncState) uselessPods() (useless, useful []*podView) {
	if s.indexes == nil {
		return nil, slices.Clone(s.pods.active)
	}
	best := make(map[int]*podView, len(s.pods.active))
	less := byDeletionPreference(s.now)
	for _, v := range s.pods.active {
		if !s.indexes.valid(v) {
			continue
		}
		if b := best[v.index]; b == nil || less(b, v) < 0 {
			best[v.index] = v
		}
	}
	for _, v := range s.pods.active {
		if s.indexes.valid(v) && best[v.index] == v {
			useful = append(useful, v)
		} else {
			useless = append(useless, v)
		}
	}
	return useless, useful
}

// deleteUncounted are deletions of pods that lose their finalizer first, so that they never count as failed.
func deleteUncounted(pods []*podView, why string) []Deletion {
	deletions := make([]Deletion, 0, len(pods))
	for _, v := range pods {
		deletions = append(deletions, Deletion{PodRef: refAtVersion(v.pod), Unfinalize: v.tracked, Why: why, ready: v.ready})
	}
	return deletions
}

// createPods plans up to n pods, unless the backoff after failures says to wait.
func (s *syncState) createPods(p *Plan, n int) {
	if s.indexes == nil || !s.indexes.perIndex {
		if wait := s.backoff.remaining(s.now, s.options); wait > 0 {
			p.Wake = Earlier(p.Wake, s.now.Add(wait))
			return
		}
	}
	names := namer{job: s.job, taken: namesOf(s.allPods, s.job.Namespace), next: map[int]int{}}
	if s.indexes == nil {
		from := s.attempts()
		for range n {
			p.Create = append(p.Create, Creation{
				Pod:   newPod(s.job, unknownIndex, names.name(unknownIndex, from), nil),
				Index: unknownIndex,
			})
		}
		return
	}
	wanted := s.pending(n)
	if s.indexes.perIndex {
		ready, next := s.readyIndexes(wanted)
		if len(ready) == 0 {
			p.Wake = Earlier(p.Wake, next)
		}
		wanted = ready
	}
	for _, index := range wanted {
		var failures *indexFailures
		var events []Event
		attempt := 0
		if s.indexes.perIndex {
			replaced := s.indexes.delayed[index]
			failures, events = s.failuresAfter(replaced), invalidCounts(replaced)
			attempt = failures.counted + failures.ignored
		}
		p.Create = append(p.Create, Creation{
			Pod:    newPod(s.job, index, names.name(index, attempt), failures),
			Index:  index,
			events: events,
		})
	}
}

// attempts is a number of pods of a NonIndexed Job that surely were made before: those counted in the status. Their
// names are free again if the pods are gone, and trying them all anew would take longer with every pod.
func (s *syncState) attempts() int {
	return max(0, int(s.job.Status.Succeeded)) + max(0, int(s.job.Status.Failed))
}

// creationReason is the label of the pod creation metric.
func (s *syncState) creationReason() string {
	onlyFailedPolicy := ptr.Deref(s.job.Spec.PodReplacementPolicy, "") == batchv1.Failed
	switch {
	case onlyFailedPolicy && s.failed > 0:
		return "recreate_failed"
	case s.failed > 0 || s.pods.terminating > 0:
		return "recreate_terminating_or_failed"
	default:
		return "new"
	}
}

// byDeletionPreference orders active pods: the ones that lose least by being deleted come first (job.md 2.8). Facts:
// ActivePods in pkg/controller/controller_utils.go.
func byDeletionPreference(now time.Time) func(a, b *podView) int {
	return func(a, b *podView) int {
		return cmp.Or(
			cmp.Compare(rank(a.pod.Spec.NodeName != ""), rank(b.pod.Spec.NodeName != "")),
			cmp.Compare(phaseRank(a.pod.Status.Phase), phaseRank(b.pod.Status.Phase)),
			cmp.Compare(rank(a.ready), rank(b.ready)),
			cmp.Compare(readyFor(a, now), readyFor(b, now)),
			-cmp.Compare(maxRestarts(a.pod, false), maxRestarts(b.pod, false)),
			-cmp.Compare(maxRestarts(a.pod, true), maxRestarts(b.pod, true)),
			newerFirst(a.pod, b.pod),
			cmp.Compare(b.pod.Name, a.pod.Name),
		)
	}
}

func rank(good bool) int {
	if good {
		return 1
	}
	return 0
}

func phaseRank(phase corev1.PodPhase) int {
	switch phase {
	case corev1.PodRunning:
		return 2
	case corev1.PodUnknown:
		return 1
	default:
		return 0
	}
}

// readyFor is how long a pod has been ready; 0 for one that is not or does not say since when.
func readyFor(v *podView, now time.Time) time.Duration {
	if !v.ready {
		return 0
	}
	for i := range v.pod.Status.Conditions {
		if c := &v.pod.Status.Conditions[i]; c.Type == corev1.PodReady && !c.LastTransitionTime.IsZero() {
			return now.Sub(c.LastTransitionTime.Time)
		}
	}
	return 0
}

// maxRestarts of the app containers, or of the sidecars.
func maxRestarts(pod *corev1.Pod, sidecars bool) int32 {
	var most int32
	if !sidecars {
		for i := range pod.Status.ContainerStatuses {
			most = max(most, pod.Status.ContainerStatuses[i].RestartCount)
		}
		return most
	}
	for i := range pod.Status.InitContainerStatuses {
		if s := &pod.Status.InitContainerStatuses[i]; isSidecar(pod, s.Name) {
			most = max(most, s.RestartCount)
		}
	}
	return most
}

// newerFirst: a pod without creation time is the newest of all.
func newerFirst(a, b *corev1.Pod) int {
	ta, tb := a.CreationTimestamp, b.CreationTimestamp
	if ta.IsZero() != tb.IsZero() {
		return rank(tb.IsZero()) - rank(ta.IsZero())
	}
	return tb.Time.Compare(ta.Time)
}
