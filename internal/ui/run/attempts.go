// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

// attempt is an attempt as the page shows it.
type attempt struct {
	*run.Attempt
	Number            int
	Class, Icon, Text string
	Duration          time.Duration
	// Limit is the memory that it may have, 0 if that is not known or there is none.
	Limit int64
	// Why says why it was tried again, or why not; "" if there is nothing to say.
	Why string
	// Index is that of its Pod in an indexed Job, as long as that is there; "" otherwise.
	Index string
	// URL shows its output; Shown tells that it is shown.
	URL   string
	Shown bool
}

// Took writes how long it took.
func (a attempt) Took() string { return short(a.Duration) }

// Used writes the processor time that it used.
func (a attempt) Used() string { return short(a.CPU) }

// Restarts counts the executions before it in its Pod.
func (a attempt) Restarts() int { return int(a.Restart) }

// attemptsPerPage is how many attempts are listed at once.
const attemptsPerPage = 20

// chosen is the index of the attempt whose output is shown if nobody asks for one: of a run that goes on the newest
// that runs, of one that has ended that which tells how it did; -1 if there is none.
func (k *known) chosen() int {
	best := -1
	if !k.run.Outcome.Ended() {
		for i := range k.attempts {
			a := &k.attempts[i]
			if a.Role == run.Sidecar && best >= 0 {
				continue
			}
			if best < 0 || a.Ended.IsZero() || !k.attempts[best].Ended.IsZero() || k.attempts[best].Role == run.Sidecar {
				best = i
			}
		}
		return best
	}
	if told := k.telling(); told != nil {
		for i := range k.attempts {
			if &k.attempts[i] == told {
				return i
			}
		}
	}
	return len(k.attempts) - 1
}

// find gives the index of the attempt with that container; -1 if there is none.
func (k *known) find(container string) int {
	for i := range k.attempts {
		if k.attempts[i].ContainerID == container {
			return i
		}
	}
	return -1
}

// attempt gives an attempt as the page shows it.
func (k *known) attempt(i int, now time.Time) attempt {
	a := &k.attempts[i]
	v := attempt{Attempt: a, Number: k.numbers[i], Limit: k.limits[a.Container]}
	if k.limitsNow {
		v.Limit = 0
	}
	v.Class, v.Icon, v.Text = ended(a)
	if k.stopped && a.Ended.IsZero() {
		v.Class, v.Icon, v.Text = "unknown", "question", run.LeftWords
	}
	end := a.Ended
	if end.IsZero() {
		end = now
	}
	if !a.Started.IsZero() {
		v.Duration = max(0, end.Sub(a.Started))
	}
	if pod := k.pod(a); pod != nil {
		v.Index = pod.Annotations[batchv1.JobCompletionIndexAnnotation]
	}
	v.Why = k.why(i)
	return v
}

// why says why a failed attempt was tried again, or why not.
func (k *known) why(i int) string {
	a := &k.attempts[i]
	if !a.Failed() {
		return ""
	}
	var again, later *run.Attempt
	for j := range k.attempts {
		b := &k.attempts[j]
		switch {
		case b.PodUID == a.PodUID && b.Container == a.Container && b.Restart > a.Restart && again == nil:
			again = b
		case b.PodUID != a.PodUID && b.Container == a.Container && !b.Started.IsZero() && !b.Started.Before(a.Ended.Truncate(time.Second)) && later == nil:
			later = b
		}
	}
	pod := k.pod(a)
	switch {
	case again != nil:
		return "Restarted in the same Pod: its restartPolicy says so."
	case a.Role == run.Sidecar:
		return ""
	case pod != nil && disrupted(pod) != "":
		text := "Its Pod was taken away: " + disrupted(pod) + "."
		if k.job != nil && job.FailureAction(k.job.Spec.PodFailurePolicy, pod) == batchv1.PodFailurePolicyActionIgnore {
			text += " That does not count as a failure."
		}
		return text
	case k.run.Kind != "Job":
		return ""
	case pod != nil && k.job != nil:
		switch job.FailureAction(k.job.Spec.PodFailurePolicy, pod) {
		case batchv1.PodFailurePolicyActionIgnore:
			return "It does not count as a failure, by a rule of podFailurePolicy: a new Pod was made for it."
		case batchv1.PodFailurePolicyActionFailJob:
			return "Not tried again: a rule of podFailurePolicy ends the run at once."
		case batchv1.PodFailurePolicyActionFailIndex:
			return "Not tried again: a rule of podFailurePolicy gives up its index."
		}
	}
	return k.whyByCount(a, later)
}

// whyByCount is about an attempt that failed and counts.
func (k *known) whyByCount(a, later *run.Attempt) string {
	limit := k.backoffLimit()
	switch {
	case later != nil && limit > 0 && !k.parallel():
		return fmt.Sprintf("Tried again in a new Pod: backoffLimit allows %d, and this was failure %d.", limit, k.failuresUntil(a))
	case later != nil && !k.parallel():
		return "Tried again in a new Pod."
	case !k.run.Outcome.Ended() && !k.stopped && k.stopping.IsZero() && limit != 0 && later == nil:
		return "A new Pod comes after a delay that doubles with each failure."
	case k.run.Reason == batchv1.JobReasonBackoffLimitExceeded && later == nil && limit >= 0:
		return fmt.Sprintf("No new Pod: backoffLimit is %d.", limit)
	case k.run.Reason == batchv1.JobReasonBackoffLimitExceeded && later == nil:
		return "No new Pod: backoffLimit allows no more failures."
	}
	return ""
}

// parallel tells whether several Pods work on the run, so that a later one may be no further try.
func (k *known) parallel() bool {
	return k.run.Completions > 1 || k.job != nil && k.job.Spec.Parallelism != nil && *k.job.Spec.Parallelism > 1
}

// failuresUntil counts the Pods that failed until an attempt did, with its own.
func (k *known) failuresUntil(a *run.Attempt) int {
	failed := map[string]bool{}
	for i := range k.attempts {
		b := &k.attempts[i]
		if b.Failed() && b.Role != run.Sidecar && !b.Ended.After(a.Ended) {
			failed[string(b.PodUID)] = true
		}
	}
	return len(failed)
}

// pod is the live Pod of an attempt; nil if it is gone.
func (k *known) pod(a *run.Attempt) *corev1.Pod {
	for i := range k.pods {
		if k.pods[i].UID == a.PodUID {
			return &k.pods[i]
		}
	}
	return nil
}

// disrupted says why a Pod was taken away from outside; "" if it was not.
func disrupted(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			if c.Message != "" {
				return c.Message
			}
			return c.Reason
		}
	}
	return ""
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
