// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/plan/duration"
	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// explainJob answers a question about a Job: what made it, and why it is in its state.
func (b *builder) explainJob() {
	j := b.Job
	b.explainOrigin(j)
	end := b.tellJob(j, "It")
	b.conclude(end.verdict, end.reason, "%s", end.summary)
	if end.verdict != Succeeded {
		b.next("describe job/"+Quoted(j.Name), "all that the Job shows, with its events")
	}
}

// explainOrigin says what made a Job, and whether that was in time.
func (b *builder) explainOrigin(j *batchv1.Job) {
	by := "Job " + j.Name
	run := b.runOf(j)
	ref := metav1.GetControllerOf(j)
	switch {
	case run != nil:
		b.answer.Run = run.facts()
		b.describe(run)
		b.explainOriginOfRun(run)
	case ref != nil && b.Scheduled == nil:
		b.show(by, j.CreationTimestamp.Time, "ownerReferences: %s %s", ref.Kind, ref.Name)
		b.say("It was made by %s %s, which is not there any more, or was not looked at.", ref.Kind, ref.Name)
		b.answer.Run = &RunFacts{Kind: "Job", Name: j.Name, StartTime: optional(j.CreationTimestamp.Time)}
	default:
		b.show(by, j.CreationTimestamp.Time, "created %s, without an owner", b.clock(j.CreationTimestamp.Time))
		b.say("No schedule made it: it was created at %s on its own.", b.when(j.CreationTimestamp.Time))
		b.whoCreated(j)
		b.answer.Run = &RunFacts{Kind: "Job", Name: j.Name, StartTime: optional(j.CreationTimestamp.Time), Trigger: "Manual"}
	}
}

// whoCreated infers who made an object from the oldest of what managed fields tell: whoever wrote it first, and is
// still named.
func (b *builder) whoCreated(j *batchv1.Job) {
	var first *metav1.ManagedFieldsEntry
	for i := range j.ManagedFields {
		if entry := &j.ManagedFields[i]; entry.Subresource == "" && (first == nil || timeOf(entry.Time).Before(timeOf(first.Time))) {
			first = entry
		}
	}
	if first == nil {
		b.lack("who created it: no managed fields tell")
		return
	}
	b.show("managedFields", timeOf(first.Time), "written by %s", first.Manager)
	b.infer("Most likely %s created it: no older writer is named.", first.Manager)
}

func (e *Evidence) runOf(j *batchv1.Job) *Run {
	for i := range e.Runs {
		if r := &e.Runs[i]; r.Job != nil && r.Name == j.Name {
			return r
		}
	}
	return nil
}

func (b *builder) explainOriginOfRun(r *Run) {
	owner := b.resource()
	t := r.ScheduledTime
	switch {
	case r.ByHand:
		b.say("Somebody started it by hand from %s, at %s.", owner, b.when(r.Created))
		return
	case t.IsZero():
		b.say("%s controls it; it does not tell for which scheduled time.", owner)
		return
	}
	b.answer.ScheduledTime = optional(t)
	late := r.Created.Sub(b.plannedStart(t))
	switch {
	case r.Attempt > 1:
		b.say("%s started it as attempt %d of the run of %s (spec.retry).", owner, r.Attempt, b.clock(t))
	case late > punctual:
		b.say("%s started it for %s, %s late.", owner, b.clock(t), duration.Short(late))
		reason := b.answer.Reason
		b.whyLate(t, b.plannedStart(t), r)
		b.answer.Reason = reason
	default:
		b.say("%s started it for %s, on time.", owner, b.clock(t))
	}
}

// jobEnd is the state of a Job.
type jobEnd struct {
	verdict Verdict
	reason  string
	summary string
}

// failureWords are what the reasons of failed Jobs mean.
var failureWords = map[string]string{
	batchv1.JobReasonBackoffLimitExceeded:     "its Pods failed more often than spec.backoffLimit allows",
	batchv1.JobReasonDeadlineExceeded:         "it took longer than spec.activeDeadlineSeconds",
	batchv1.JobReasonPodFailurePolicy:         "a rule of spec.podFailurePolicy ended it",
	batchv1.JobReasonFailedIndexes:            "some of its indexes failed",
	batchv1.JobReasonMaxFailedIndexesExceeded: "more of its indexes failed than spec.maxFailedIndexes allows",
}

// FailureWords says what the reason of a failed Job means, "its Pods failed more often than spec.backoffLimit allows";
// "" of a reason that the Job API does not define.
func FailureWords(reason string) string { return failureWords[reason] }

// tellJob explains the state of a Job, of which it speaks as subject.
func (b *builder) tellJob(j *batchv1.Job, subject string) jobEnd {
	by := "Job " + j.Name
	finished := job.FinishedCondition(j.Status.Conditions)
	switch {
	case finished != nil && finished.Type == batchv1.JobComplete:
		end := finished.LastTransitionTime.Time
		b.show(by, end, "condition Complete since %s%s", b.clock(end), reasonText(finished.Reason, finished.Message))
		b.say("%s succeeded at %s%s.", subject, b.when(end), b.tookText(j, end))
		return jobEnd{Succeeded, "", "at " + b.when(end)}
	case finished != nil:
		return b.tellFailedJob(j, finished, subject)
	case j.DeletionTimestamp != nil:
		b.show(by, j.DeletionTimestamp.Time, "deletionTimestamp %s, finalizers: %s", b.clock(j.DeletionTimestamp.Time), wordOr(listed(j.Finalizers), "none"))
		b.say("%s is being deleted; what its finalizers stand for has to be done first.", subject)
		return jobEnd{Deleting, "", "since " + b.when(j.DeletionTimestamp.Time)}
	}
	return b.tellUnfinishedJob(j, subject)
}

func reasonText(reason, message string) string {
	text := ""
	if reason != "" {
		text = ", reason " + reason
	}
	if message != "" {
		text += ": " + firstLine(message)
	}
	return text
}

func (b *builder) tookText(j *batchv1.Job, end time.Time) string {
	if start := timeOf(j.Status.StartTime); !start.IsZero() && !end.Before(start) {
		return ", after " + duration.Short(end.Sub(start))
	}
	return ""
}

func (b *builder) tellFailedJob(j *batchv1.Job, c *batchv1.JobCondition, subject string) jobEnd {
	at := c.LastTransitionTime.Time
	b.show("Job "+j.Name, at, "condition Failed since %s%s", b.clock(at), reasonText(c.Reason, c.Message))
	why := failureWords[c.Reason]
	if why == "" {
		why = wordOr(firstLine(c.Message), "its condition does not tell why")
	}
	b.say("%s failed at %s%s: %s.", subject, b.when(at), b.tookText(j, at), why)
	if c.Reason == batchv1.JobReasonPodFailurePolicy && c.Message != "" {
		b.quote(c.Message)
	}
	reason := wordOr(c.Reason, "Failed")
	pod, state := b.lastFailedPod(j)
	switch {
	case pod != nil:
		b.say("Its last failed Pod %s %s.", pod.Name, state.text)
		b.podCommands(pod, state)
		if state.reason == "OOMKilled" {
			reason = "OOMKilled"
		}
	case !b.Read.Pods:
		b.lack("the Pods of %s were not looked at", j.Name)
	default:
		b.lack("the Pods of %s: none is left whose end tells more", j.Name)
	}
	return jobEnd{Failed, reason, why}
}

// lastFailedPod is the newest Pod of a Job that failed, or one that is stuck; nil if there is none.
func (b *builder) lastFailedPod(j *batchv1.Job) (*corev1.Pod, podState) {
	var found *corev1.Pod
	for _, pod := range b.podsOf(j) {
		if pod.Status.Phase == corev1.PodFailed || found == nil && stateOf(pod).stuck {
			found = pod
		}
	}
	if found == nil {
		return nil, podState{}
	}
	return found, b.showPod(found)
}

// tellUnfinishedJob explains why a Job has not ended.
func (b *builder) tellUnfinishedJob(j *batchv1.Job, subject string) jobEnd {
	by := "Job " + j.Name
	s := &j.Spec
	switch {
	case s.ManagedBy != nil && *s.ManagedBy != batchv1.JobControllerName:
		b.show(by, time.Time{}, "spec.managedBy: %s", *s.ManagedBy)
		b.say("%s is left to the controller %s; the Job controller does nothing about it.", subject, *s.ManagedBy)
		return jobEnd{NotServed, "ManagedBy", "spec.managedBy leaves it to " + *s.ManagedBy}
	case s.Suspend != nil && *s.Suspend:
		b.show(by, time.Time{}, "spec.suspend: true")
		for _, c := range j.Status.Conditions {
			if c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue {
				b.show(by, c.LastTransitionTime.Time, "condition Suspended since %s%s", b.clock(c.LastTransitionTime.Time), reasonText(c.Reason, c.Message))
			}
		}
		b.say("%s is suspended: it has no Pods until spec.suspend is false.", subject)
		b.next("patch job/"+Quoted(j.Name)+` --type=merge -p '{"spec":{"suspend":false}}'`, "to let it run")
		return jobEnd{Suspended, "Suspended", "it has no Pods until spec.suspend is false"}
	case s.Parallelism != nil && *s.Parallelism == 0:
		b.show(by, time.Time{}, "spec.parallelism: 0")
		b.say("%s may have no Pods at a time, because spec.parallelism is 0.", subject)
		b.next("patch job/"+Quoted(j.Name)+` --type=merge -p '{"spec":{"parallelism":1}}'`, "to let it run")
		return jobEnd{Pending, "ParallelismZero", "spec.parallelism is 0"}
	}
	return b.tellActiveJob(j, subject)
}

// tellActiveJob explains a Job that may have Pods, by the worst of them.
func (b *builder) tellActiveJob(j *batchv1.Job, subject string) jobEnd {
	by := "Job " + j.Name
	var worst *corev1.Pod
	var state podState
	for _, pod := range b.podsOf(j) {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		is := stateOf(pod)
		if worst == nil || is.stuck && !state.stuck {
			worst, state = pod, is
		}
	}
	if worst != nil {
		b.showPod(worst)
		b.podCommands(worst, state)
		b.say("%s has not ended: its Pod %s %s.", subject, worst.Name, state.text)
		if state.reason == "Running" {
			return jobEnd{Running, "", "its Pod " + worst.Name + " " + state.text}
		}
		return jobEnd{Pending, state.reason, "its Pod " + worst.Name + " " + shortState(state)}
	}
	if events := b.about("Job", j.Name, "FailedCreate"); len(events) > 0 {
		event := events[len(events)-1]
		b.tells(event)
		b.quotas(event.Message)
		b.say("%s has no Pod, because none can be created: %s.", subject, firstLine(event.Message))
		return jobEnd{Pending, "FailedCreate", "its Pods cannot be created"}
	}
	switch {
	case j.Status.StartTime == nil && j.Status.Active == 0:
		b.show(by, time.Time{}, "no status.startTime: no Job controller has looked at it")
		b.infer("No Job controller has seen %s: none may work, or the Job is only just made.", by)
		b.controllers()
		return jobEnd{NotServed, "NoController", "no Job controller has looked at it"}
	case j.Status.Active > 0 && !b.Read.Pods:
		b.show(by, time.Time{}, "status.active: %d", j.Status.Active)
		b.say("%s is active.", subject)
		b.lack("the Pods of %s were not looked at: whether they run is not known", j.Name)
		return jobEnd{Running, "", quantity.Count(int(j.Status.Active), "Pod") + " active"}
	case j.Status.Failed > 0 && j.Status.Active == 0:
		b.show(by, time.Time{}, "status.failed: %d, status.active: 0", j.Status.Failed)
		b.say("%s has no Pod at the moment: %s failed, and the next one comes after a delay that doubles each time.", subject, quantity.Count(int(j.Status.Failed), "Pod"))
		if pod, state := b.lastFailedPod(j); pod != nil {
			b.say("Its last failed Pod %s %s.", pod.Name, state.text)
			b.podCommands(pod, state)
		}
		return jobEnd{Pending, "Backoff", "it waits to try again after " + quantity.Count(int(j.Status.Failed), "failed Pod")}
	}
	b.show(by, timeOf(j.Status.StartTime), "status.active: %d", j.Status.Active)
	b.say("%s has not ended, and no Pod of it was found.", subject)
	return jobEnd{Pending, "NoPods", "no Pod of it was found"}
}

// shortState is the state of a Pod without the messages of others.
func shortState(state podState) string {
	if words := waitingWords[state.reason]; words != "" {
		return "waits: " + words + " (" + state.reason + ")"
	}
	if state.reason == corev1.PodReasonUnschedulable {
		return "is not placed on a node (Unschedulable)"
	}
	return state.text
}

// quotas shows the quotas that a message names.
func (b *builder) quotas(message string) {
	for i := range b.Quotas {
		quota := &b.Quotas[i]
		for _, word := range words(message) {
			if word != quota.Name {
				continue
			}
			for _, resource := range sortedResources(quota.Status.Hard) {
				used, hard := quota.Status.Used[resource], quota.Status.Hard[resource]
				if used.Cmp(hard) >= 0 {
					b.show("ResourceQuota "+quota.Name, time.Time{}, "%s: %s used of %s", resource, used.String(), hard.String())
				}
			}
			b.next("describe resourcequota/"+Quoted(quota.Name), "what is counted; raise it, or delete what counts for it")
		}
	}
}
