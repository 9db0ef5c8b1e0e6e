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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/interval"
	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// truth is what really happened, as the server saw it, and the judge of what
// the controller makes of it: each write is judged when it happens.
type truth struct {
	*simulation
	jobs map[types.UID]*jobTruth
	pods map[types.UID]*podTruth
	// overlap: two processes led at once. Then two pods may be made where one
	// was wanted, since nothing fences a creation; what is counted is as exact as ever.
	overlap bool
	// stale: a process began with lists that were out of date.
	stale bool
	// mishaps counts the requests that were not answered well, events what was reported.
	mishaps int
	events  map[string]int
	// names counts the pods that were made under a name.
	names map[string]int
	// deletes has the deletions that were answered well, by process and pod, with the time on the process's clock.
	deletes map[string]time.Time
	// befallen is the last request that was not answered well.
	befallen int
}

type jobTruth struct {
	name    string
	quiet   bool
	foreign bool
	// made is how many pods it made, most how many pods it ever wanted at once,
	// completions how many it ever wanted to succeed.
	made              int
	most, completions int32
	// shrunk: it wanted fewer pods at some time than before.
	shrunk bool
	// suspended: it is, and its status says so.
	suspended bool
	// flips counts how often it was suspended, and resumed, in its status.
	flips map[string]int
	ended time.Duration // when it ended or went; 0: not yet
	by    string        // who ended it
	gone  bool
}

type podTruth struct {
	job   types.UID // that it was made for
	index int
	made  time.Duration
	last  *corev1.Pod
	gone  bool
	// recordedAs is the list in which it is or was recorded, or as what it was counted at the end.
	recordedAs string
	// claimed: a user changed whose it is. freed: a user took the finalizer off.
	// evicted: the controller took it off a pod that was not to count.
	claimed, freed, evicted bool
	// dying: it was being deleted before it ended. stopped: by the controller, because its Job ends.
	dying, stopped bool
}

func newTruth(s *simulation) *truth {
	t := &truth{simulation: s, jobs: map[types.UID]*jobTruth{}, pods: map[types.UID]*podTruth{}, events: map[string]int{}, names: map[string]int{}, deletes: map[string]time.Time{}}
	s.server.OnChange(t.changed)
	s.server.OnRequest(t.requested)
	return t
}

func (t *truth) started(_ *sim.Process, stale int) { t.stale = t.stale || stale > 0 }

func (t *truth) breaks(format string, args ...any) { t.world.Break(format, args...) }

// ours reports whether it was a process of the controller.
func ours(by string) bool { return strings.HasPrefix(by, "manager-") }

// requested judges how a request is protected.
func (t *truth) requested(r sim.Request) {
	if !ours(r.By) {
		return
	}
	switch {
	case r.Verb == "status" && r.Version == "":
		t.breaks("%s without a resource version", r)
	case (r.Verb == "delete" || r.Verb == "patch") && r.UID == "":
		t.breaks("%s without a UID", r)
	case r.Verb == "update", r.Kind == "Job" && r.Verb != "status" && r.Verb != "get":
		t.breaks("%s: that is not the business of the controller", r)
	case r.Verb == "delete":
		t.podDeleted(r)
	}
}

// podDeleted judges that a process asks for each deletion once, as long as it may expect to see the effect.
func (t *truth) podDeleted(r sim.Request) {
	key := r.By + " " + string(r.UID)
	i := slices.IndexFunc(t.processes, func(p *sim.Process) bool { return p.Name == r.By })
	now := t.processes[i].Clock.Now()
	if before, again := t.deletes[key]; again && !t.overlap && !t.pods[r.UID].claimed && !now.Before(before) && now.Sub(before) < 10*time.Second {
		t.breaks("%s for the second time within %s", r, now.Sub(before))
	}
	if delete(t.deletes, key); t.befallen != r.Number {
		t.deletes[key] = now
	}
}

func (t *truth) changed(c *sim.Change) {
	switch obj := c.New.(type) {
	case *batchv1.Job:
		old, _ := c.Old.(*batchv1.Job)
		t.jobChanged(old, obj, c)
	case *corev1.Pod:
		old, _ := c.Old.(*corev1.Pod)
		t.podChanged(old, obj, c)
	}
}

func (t *truth) jobChanged(old, j *batchv1.Job, c *sim.Change) {
	now := t.world.Now()
	jt := t.jobs[j.UID]
	if jt == nil {
		jt = &jobTruth{name: j.Name, foreign: foreign(ptr.Deref(j.Spec.ManagedBy, ""), t.plan.cluster), flips: map[string]int{}}
		for _, planned := range t.plan.jobs {
			if planned.obj.Name == j.Name {
				jt.quiet = planned.quiet
			}
		}
		t.jobs[j.UID] = jt
	}
	if completions := ptr.Deref(j.Spec.Completions, 1000); completions < jt.completions || *j.Spec.Parallelism < jt.most {
		jt.shrunk = true
	}
	jt.suspended = ptr.Deref(j.Spec.Suspend, false) && (ours(c.By) && suspension(j) == corev1.ConditionTrue || jt.suspended && old.Generation == j.Generation)
	jt.most = max(jt.most, *j.Spec.Parallelism)
	jt.completions = max(jt.completions, ptr.Deref(j.Spec.Completions, 1000))
	if ours(c.By) {
		t.statusWritten(old, j, jt, c.By)
	}
	if c.Gone {
		jt.gone = true
	}
	if jt.ended == 0 && (c.Gone || job.Finished(j)) {
		jt.ended, jt.by = now, c.By
	}
}

// statusWritten judges a status that the controller wrote.
func (t *truth) statusWritten(old, j *batchv1.Job, jt *jobTruth, by string) {
	switch {
	case jt.foreign:
		t.breaks("%s wrote to %s, which is managed by somebody else", by, j.Name)
		return
	case job.Finished(old):
		t.breaks("%s wrote to %s, which had ended", by, j.Name)
		return
	}
	for kind, flip := range map[string]corev1.ConditionStatus{"Suspended": corev1.ConditionTrue, "Resumed": corev1.ConditionFalse} {
		if suspension(j) == flip && suspension(old) != flip {
			jt.flips[kind]++
		}
	}
	ended := job.Finished(j)
	failing := condition(j.Status, batchv1.JobFailureTarget)
	was, is := recordedBy(old), recordedBy(j)
	if n := len(is); n > t.options.MaxUncounted {
		t.breaks("%s records %d pods at once, limit %d", j.Name, n, t.options.MaxUncounted)
	}
	if n := int(j.Status.Failed) + countOf(is, "failed"); !ended && !outcomeStored(j) && n > int(*j.Spec.BackoffLimit) {
		t.breaks("%s goes on with %d failed pods, limit %d", j.Name, n, *j.Spec.BackoffLimit)
	}
	t.outcomeFound(old, j)
	dropped, free := map[string]int{}, map[string]int{}
	for _, uid := range slices.Sorted(maps.Keys(is)) {
		if was[uid] == "" {
			t.podRecorded(uid, is[uid], j, failing)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(was)) {
		if is[uid] != "" {
			continue
		}
		dropped[was[uid]]++
		if p := t.pods[uid]; !p.gone && job.HasFinalizer(p.last) && !p.claimed && !ended { // nobody recounts the pods of a Job that ended
			t.breaks("%s counts %s, which holds the finalizer", j.Name, p.last.Name)
		}
	}
	indexed := job.CompletionMode(j) == batchv1.IndexedCompletion
	if ended {
		free = t.jobEnded(j, dropped, indexed, t.stale && pristine(old))
	}
	if got := int(j.Status.Failed - old.Status.Failed); got < dropped["failed"] || got > dropped["failed"]+free["failed"] {
		t.breaks("%s: failed grows by %d, and %d failed pods are counted", j.Name, got, dropped["failed"])
	}
	if indexed {
		t.indexesWritten(old, j, jt)
		return
	}
	if got := int(j.Status.Succeeded - old.Status.Succeeded); got < dropped["succeeded"] || got > dropped["succeeded"]+free["succeeded"] {
		t.breaks("%s: succeeded grows by %d, and %d pods that succeeded are counted", j.Name, got, dropped["succeeded"])
	}
}

// recordedBy gives the recorded pods and in which list they are.
func recordedBy(j *batchv1.Job) map[types.UID]string {
	recorded := map[types.UID]string{}
	if u := j.Status.UncountedTerminatedPods; u != nil {
		for _, uid := range u.Succeeded {
			recorded[uid] = "succeeded"
		}
		for _, uid := range u.Failed {
			recorded[uid] = "failed"
		}
	}
	return recorded
}

func countOf(recorded map[types.UID]string, as string) (n int) {
	for _, list := range recorded {
		if list == as {
			n++
		}
	}
	return n
}

// podRecorded judges that a pod is recorded.
func (t *truth) podRecorded(uid types.UID, as string, j *batchv1.Job, failing bool) {
	p := t.pods[uid]
	if p == nil || p.job != j.UID {
		t.breaks("%s records %s, which is not its pod", j.Name, uid)
		return
	}
	pod := p.last
	switch {
	case p.claimed:
		// A pod that a user took from its Job and that is adopted again counts again.
	case p.recordedAs != "":
		t.breaks("%s records %s a second time", j.Name, pod.Name)
	case p.evicted:
		t.breaks("%s records %s, which was not to count", j.Name, pod.Name)
	case !job.HasFinalizer(pod) && !p.freed:
		t.breaks("%s records %s, which was let go", j.Name, pod.Name)
	case as == "succeeded" && pod.Status.Phase != corev1.PodSucceeded:
		t.breaks("%s records %s as succeeded, it is %s", j.Name, pod.Name, pod.Status.Phase)
	case as == "failed" && pod.Status.Phase != corev1.PodFailed && !failing && (pod.DeletionTimestamp == nil || onlyFailed(j)):
		t.breaks("%s records %s as failed, it is %s", j.Name, pod.Name, pod.Status.Phase)
	case as == "failed" && !failing && ignored(j, pod):
		t.breaks("%s records %s as failed, and its failure is to be ignored", j.Name, pod.Name)
	}
	p.recordedAs = as
}

// jobEnded judges the end of a Job: nothing of it is alive, and what was not
// recorded before is counted in this very write. free tells how many more may be; all, when it is unsure which pods a
// process could know of.
func (t *truth) jobEnded(j *batchv1.Job, counted map[string]int, indexed, unsure bool) (free map[string]int) {
	free = map[string]int{}
	for _, p := range t.podsOf(j.UID) {
		pod := p.last
		switch ref := jobRef(pod); {
		case (unsure || p.claimed && !p.gone || p.freed && p.recordedAs == "") && job.PodFinished(pod):
			free[map[bool]string{true: "succeeded", false: "failed"}[pod.Status.Phase == corev1.PodSucceeded]]++
		case p.gone, p.recordedAs != "", ref == nil || ref.UID != j.UID:
		case !job.PodFinished(pod):
			if !t.overlap && !t.stale && !p.claimed {
				t.breaks("%s has ended, and %s is %s", j.Name, pod.Name, pod.Status.Phase)
			}
		case !job.HasFinalizer(pod):
		case indexed && p.index >= int(*j.Spec.Completions):
		case pod.Status.Phase == corev1.PodFailed:
			switch {
			case ignored(j, pod):
			case condition(j.Status, batchv1.JobSuccessCriteriaMet) && pod.DeletionTimestamp != nil:
				free["failed"]++ // it was stopped because the Job succeeds, and failed before that was written
			default:
				p.recordedAs = "failed"
				counted["failed"]++
			}
		case !indexed:
			p.recordedAs = "succeeded"
			counted["succeeded"]++
		}
	}
	return free
}

// outcomeFound judges that there is reason for an outcome that is written for the first time.
func (t *truth) outcomeFound(old, j *batchv1.Job) {
	if outcomeStored(old) {
		return
	}
	successes, failures, restarted := 0, 0, 0
	for _, p := range t.podsOf(j.UID) {
		if p.last.Status.Phase == corev1.PodSucceeded {
			successes++
		}
		switch {
		case p.claimed:
			return // adopted again, it counts again
		case p.recordedAs == "failed", p.dying, p.freed, p.last.Status.Phase == corev1.PodFailed:
			failures++
		}
		restarted += int(restarts(p.last))
	}
	limit, completions := int(*j.Spec.BackoffLimit), int(ptr.Deref(j.Spec.Completions, 1))
	inPlace := j.Spec.Template.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && restarted > 0 && restarted >= limit
	for _, c := range j.Status.Conditions {
		switch {
		case c.Reason == batchv1.JobReasonBackoffLimitExceeded && failures <= limit && !inPlace:
			t.breaks("%s fails with %d failed pods and %d restarts, limit %d", j.Name, failures, restarted, limit)
		case c.Reason == batchv1.JobReasonCompletionsReached && successes < completions:
			t.breaks("%s has reached its completions with %d successes of %d", j.Name, successes, completions)
		}
	}
}

// indexesWritten judges completedIndexes.
func (t *truth) indexesWritten(old, j *batchv1.Job, jt *jobTruth) {
	bound := int(jt.completions)
	was, is := interval.Parse(old.Status.CompletedIndexes, bound), interval.Parse(j.Status.CompletedIndexes, bound)
	for i := range bound {
		switch {
		case is.Has(i) && !was.Has(i):
			if !slices.ContainsFunc(t.podsOf(j.UID), func(p *podTruth) bool { return p.index == i && p.last.Status.Phase == corev1.PodSucceeded }) {
				t.breaks("%s: index %d is completed, and no pod of it succeeded", j.Name, i)
			}
		case was.Has(i) && !is.Has(i) && !jt.shrunk:
			t.breaks("%s: index %d is not completed any more", j.Name, i)
		}
	}
	wasFailed, isFailed := failedIndexes(old, bound), failedIndexes(j, bound)
	if gone := wasFailed.Minus(isFailed); gone.Len() > 0 && !jt.shrunk {
		t.breaks("%s: the indexes %s are not failed any more", j.Name, gone)
	}
	for i := range bound {
		// A pod that is stopped because the Job ends fails no index (JOB-238).
		if isFailed.Has(i) && !wasFailed.Has(i) && !slices.ContainsFunc(t.podsOf(j.UID), func(p *podTruth) bool {
			return p.index == i && !p.stopped && (p.dying || p.last.Status.Phase == corev1.PodFailed)
		}) {
			t.breaks("%s: index %d is failed, and no pod of it failed", j.Name, i)
		}
	}
	if !jt.shrunk && int(j.Status.Succeeded) != is.Len() {
		t.breaks("%s: succeeded is %d, with the indexes %s", j.Name, j.Status.Succeeded, j.Status.CompletedIndexes)
	}
}

// ignored reports whether the failure of a pod is not to count, by the policy drawn for these worlds.
func ignored(j *batchv1.Job, pod *corev1.Pod) bool {
	if j.Spec.PodFailurePolicy == nil || pod.Status.Phase != corev1.PodFailed {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Terminated != nil && s.State.Terminated.ExitCode == exitIgnore {
			return true
		}
	}
	return false
}

// outcomeStored reports whether the Job's status says how it ends.
func outcomeStored(j *batchv1.Job) bool {
	return condition(j.Status, batchv1.JobFailureTarget) || condition(j.Status, batchv1.JobSuccessCriteriaMet)
}

func failedIndexes(j *batchv1.Job, bound int) interval.Set {
	return interval.Parse(ptr.Deref(j.Status.FailedIndexes, ""), bound)
}

func onlyFailed(j *batchv1.Job) bool {
	return j.Spec.PodFailurePolicy != nil || ptr.Deref(j.Spec.PodReplacementPolicy, "") == batchv1.Failed
}

func suspension(j *batchv1.Job) corev1.ConditionStatus {
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobSuspended {
			return c.Status
		}
	}
	return ""
}
