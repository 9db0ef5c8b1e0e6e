// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kube/events"
)

// once are the events that report the end of a Job.
var once = sets.New("Completed", "TooManySucceededPods", "BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "MaxFailedIndexesExceeded", "FailedIndexes")

// said judges an event.
func (t *truth) said(n events.Event) {
	jt := t.jobs[n.About.UID]
	switch {
	case jt == nil:
		t.breaks("event about a Job that never was: %v", n)
		return
	case jt.foreign:
		t.breaks("event about a Job that is managed by somebody else: %v", n)
	case n.Reason == "InvalidStatus":
		t.breaks("%s: %s", n.About.Name, n.Message)
	}
	what := string(n.About.UID) + " " + n.Reason
	t.events[what]++
	pod, created := strings.CutPrefix(n.Message, "Created pod: ")
	if created {
		t.events[pod]++
	}
	// Of a name that is given back while it is asked for the server tells the truth twice.
	if strings.HasPrefix(n.Reason, "Failed") && n.Type == corev1.EventTypeWarning && !once.Has(n.Reason) && !strings.Contains(n.Message, "existed a moment ago") {
		t.events["failures"]++
	}
	switch {
	case created && t.events[pod] > t.names[pod]:
		t.breaks("%s: that %s was made is reported %d times, and was so %d times", n.About.Name, pod, t.events[pod], t.names[pod])
	case t.events["failures"] > t.mishaps:
		t.breaks("%s: %s, and no request failed", n.About.Name, n.Message)
	case once.Has(n.Reason) && t.events[what] > 1:
		t.breaks("%s: %s is reported a second time", n.About.Name, n.Reason)
	case once.Has(n.Reason) && jt.ended == 0:
		t.breaks("%s: %s is reported before it is so", n.About.Name, n.Reason)
	case (n.Reason == "Suspended" || n.Reason == "Resumed") && t.events[what] > jt.flips[n.Reason]:
		t.breaks("%s: %s is reported %d times, and was so %d times", n.About.Name, n.Reason, t.events[what], jt.flips[n.Reason])
	}
}

// ended reports whether all of our Jobs have ended or are gone, and nothing more is going away.
func (t *truth) ended() bool {
	for _, obj := range t.server.List("Job") {
		if j := obj.(*batchv1.Job); !t.jobs[j.UID].foreign && (!job.Finished(j) || j.DeletionTimestamp != nil) && !t.stuck(j) {
			return false
		}
	}
	return true
}

// stuck reports whether a Job cannot go because a user took its selector's label
// off one of its pods: while the Job goes that pod is not its business any more
// (job.md 1.8), and while the Job exists it is nobody else's.
func (t *truth) stuck(j *batchv1.Job) bool {
	return j.DeletionTimestamp != nil && slices.ContainsFunc(t.podsOf(j.UID), func(p *podTruth) bool {
		return p.claimed && !p.gone && job.HasFinalizer(p.last) && p.last.Labels[batchv1.ControllerUidLabel] == ""
	})
}

// checkFinalizers finds pods that hold the finalizer though their Job has long ended.
func (t *truth) checkFinalizers() {
	for _, obj := range t.server.List("Pod") {
		pod := obj.(*corev1.Pod)
		p := t.pods[pod.UID]
		jt := t.jobs[p.job]
		if !job.HasFinalizer(pod) || jt.ended == 0 || jt.foreign && !jt.gone || metav1.GetControllerOfNoCopy(pod) == nil && jt.foreign {
			continue
		}
		// Delays after errors of the storm are up to a minute long.
		if since := max(jt.ended, storm+time.Minute, p.made); t.world.Now()-since > time.Minute {
			t.breaks("%s holds the finalizer %s after its Job %s ended", pod.Name, t.world.Now()-since, jt.name)
		}
	}
}

// checkEnd judges what is left.
func (t *truth) checkEnd() {
	if t.world.Broken() != "" {
		return
	}
	if !t.ended() {
		for _, obj := range t.server.List("Job") {
			if j := obj.(*batchv1.Job); !t.jobs[j.UID].foreign && !job.Finished(j) && !t.stuck(j) {
				t.breaks("%s does not end", j.Name)
				return
			}
		}
		t.breaks("a Job does not go")
	}
	for _, uid := range slices.Sorted(maps.Keys(t.jobs)) {
		jt := t.jobs[uid]
		if !jt.quiet || jt.foreign || jt.gone && jt.by != "" && !ours(jt.by) {
			continue
		}
		if wanted := int(jt.completions); jt.made != wanted && !t.overlap && !t.stale {
			t.breaks("%s (%s), of which nothing failed, made %d pods, it wanted %d", jt.name, uid, jt.made, wanted)
		}
	}
}
