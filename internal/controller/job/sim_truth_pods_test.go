// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/carillon-dev/carillon/internal/interval"
	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

func (t *truth) podChanged(old, pod *corev1.Pod, c *sim.Change) {
	p := t.pods[pod.UID]
	if p == nil {
		p = &podTruth{index: -1, made: t.world.Now()}
		if ref := jobRef(pod); ref != nil {
			p.job = ref.UID
		}
		if index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil {
			p.index = index
		}
		t.pods[pod.UID] = p
	}
	p.last, p.gone = pod, c.Gone
	p.dying = p.dying || pod.DeletionTimestamp != nil && !job.PodFinished(pod)
	if !ours(c.By) {
		return
	}
	j := t.owner(p)
	if jt := t.jobs[p.job]; jt != nil && jt.foreign && !jt.gone && (old == nil || jobRef(old) != nil) {
		t.breaks("%s touched %s, whose Job is managed by somebody else", c.By, pod.Name)
		return
	}
	switch {
	case old == nil:
		t.podMade(p, j, c.By)
	case job.HasFinalizer(old) && !job.HasFinalizer(pod):
		t.podFreed(p, old, pod, j)
	case old.DeletionTimestamp == nil && pod.DeletionTimestamp != nil && job.HasFinalizer(pod):
		// It will count as failed, so the Job has to fail whatever happens next.
		if p.stopped = !job.PodFinished(pod); j != nil && !outcomeStored(j) && !p.claimed && !t.overlap && !t.stale {
			t.breaks("%s stops %s for good before the outcome of %s is stored", c.By, pod.Name, j.Name)
		}
	}
}

// owner is the Job for which a pod was made, nil if it is gone.
func (t *truth) owner(p *podTruth) *batchv1.Job {
	jt := t.jobs[p.job]
	if jt == nil {
		return nil
	}
	j, _ := t.server.Get("Job", ns, jt.name).(*batchv1.Job)
	if j == nil || j.UID != p.job {
		return nil
	}
	return j
}

func (t *truth) podsOf(uid types.UID) []*podTruth {
	var of []*podTruth
	for i := range len(t.pods) {
		if p := t.pods[types.UID("pod-"+strconv.Itoa(i+1))]; p != nil && p.job == uid {
			of = append(of, p)
		}
	}
	return of
}

// podMade judges that a pod was wanted.
func (t *truth) podMade(made *podTruth, j *batchv1.Job, by string) {
	jt := t.jobs[made.job]
	jt.made++
	t.names[made.last.Name]++
	switch {
	case j == nil, t.overlap, t.stale:
		return
	case job.Finished(j) && jt.by == by:
		t.breaks("%s makes %s for %s, which it has seen to its end", by, made.last.Name, j.Name)
	case outcomeStored(j):
		t.breaks("%s makes %s for %s, of which the outcome is stored", by, made.last.Name, j.Name)
	case jt.suspended:
		t.breaks("%s makes %s for %s, which is suspended", by, made.last.Name, j.Name)
	case j.Spec.Completions == nil && int(j.Status.Succeeded)+countOf(recordedBy(j), "succeeded") > 0:
		t.breaks("%s makes %s for %s, a work queue of which a pod succeeded", by, made.last.Name, j.Name)
	case made.index >= 0:
		t.indexTried(made, j, jt, by)
	}
	alive, succeeded, sameIndex := 0, 0, 0
	for _, p := range t.podsOf(j.UID) {
		switch pod := p.last; {
		case p.claimed, p.freed:
		case p.dying && !onlyFailed(j): // replaced before its end is known, and it may yet succeed
		case pod.Status.Phase == corev1.PodSucceeded && p.recordedAs != "failed" && !p.evicted:
			succeeded++
		case job.PodFinished(pod), p.gone:
		case pod.DeletionTimestamp == nil || onlyFailed(j):
			alive++
			if p.index == made.index && p.index >= 0 {
				sameIndex++
			}
		}
	}
	switch {
	case alive > int(jt.most):
		t.breaks("%s makes %s for %s: %d pods are alive, parallelism %d", by, made.last.Name, j.Name, alive, jt.most)
	case sameIndex > 1:
		t.breaks("%s makes %s for %s: another pod of this index is alive", by, made.last.Name, j.Name)
	case job.CompletionMode(j) != batchv1.IndexedCompletion && alive+succeeded > int(jt.completions) && j.Spec.Completions != nil:
		t.breaks("%s makes %s for %s: %d pods are alive and %d have succeeded, completions %d", by, made.last.Name, j.Name, alive, succeeded, jt.completions)
	}
}

// indexTried judges that a pod was made for an index that the Job has, that has not ended, and that may fail once more.
func (t *truth) indexTried(made *podTruth, j *batchv1.Job, jt *jobTruth, by string) {
	name, bound := made.last.Name, int(jt.completions)
	if made.index >= bound {
		t.breaks("%s makes %s for %s: its index is %d of %d", by, name, j.Name, made.index, bound)
	}
	if jt.shrunk {
		return // what was forgotten with the index may be done again
	}
	if interval.Parse(j.Status.CompletedIndexes, bound).Has(made.index) || failedIndexes(j, bound).Has(made.index) {
		t.breaks("%s makes %s for %s: its index has ended", by, name, j.Name)
	}
	failures := 0
	for _, p := range t.podsOf(j.UID) {
		switch {
		case p.index != made.index:
		case p.claimed, p.freed, p.evicted, p.dying, p.last.DeletionTimestamp != nil:
			return // with such a pod the count may go
		case p.last.Status.Phase == corev1.PodFailed && !ignored(j, p.last):
			failures++
		}
	}
	if limit := j.Spec.BackoffLimitPerIndex; limit != nil && failures > int(*limit) {
		t.breaks("%s makes %s for %s: its index failed %d times, limit %d", by, name, j.Name, failures, *limit)
	}
}

// podFreed judges that a pod may go: it is accounted for, or is not to be.
func (t *truth) podFreed(p *podTruth, old, pod *corev1.Pod, j *batchv1.Job) {
	switch {
	case j == nil, j.DeletionTimestamp != nil, job.Finished(j), p.recordedAs != "", p.claimed:
		return
	case !job.PodFinished(old):
		p.evicted = true
		return
	case condition(j.Status, batchv1.JobSuccessCriteriaMet) && old.DeletionTimestamp != nil && old.Status.Phase == corev1.PodFailed:
		return // it was stopped because the Job succeeds
	case ignored(j, old):
		return
	}
	if job.CompletionMode(j) == batchv1.IndexedCompletion {
		bound := int(*j.Spec.Completions)
		if p.index >= bound || old.Status.Phase == corev1.PodSucceeded && interval.Parse(j.Status.CompletedIndexes, bound).Has(p.index) {
			return
		}
	}
	t.breaks("%s is let go, %s, and is not recorded by %s", pod.Name, old.Status.Phase, j.Name)
}
