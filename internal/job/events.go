// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"regexp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Every event of the Job controller (job.md 2.11). Their source is "job-controller", whoever runs this.

func normal(reason, message string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: message}
}

func warning(reason, message string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}

func createdPod(name string) Event { return normal("SuccessfulCreate", "Created pod: "+name) }

func createdMore(n int) Event {
	return normal("SuccessfulCreate", fmt.Sprintf("Created %d more pods", n))
}

func createFailed(message string) Event {
	return warning("FailedCreate", "Error creating: "+quotaAdvice(message))
}

func deletedPod(name string) Event { return normal("SuccessfulDelete", "Deleted pod: "+name) }

func deletedMore(n int) Event {
	return normal("SuccessfulDelete", fmt.Sprintf("Deleted %d more pods", n))
}

func deleteFailed(message string) Event { return warning("FailedDelete", "Error deleting: "+message) }

func jobSuspended() Event { return normal("Suspended", "Job suspended") }

func jobResumed() Event { return normal("Resumed", "Job resumed") }

func jobCompleted() Event { return normal("Completed", "Job completed") }

func jobFailed(v Verdict) Event { return warning(v.Reason, v.Message) }

func tooManySucceeded() Event {
	return warning("TooManySucceededPods", "Too many succeeded pods running after completion count reached")
}

func unknownMode() Event {
	return warning("UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")
}

func missingCompletions() Event {
	return warning("MissingCompletions", "Skipped Job sync because an Indexed Job needs spec.completions")
}

// succeededKept says why status.succeeded is larger than the number of completed indexes.
func succeededKept(kept, real int) Event {
	return warning("SucceededNotDecreased", fmt.Sprintf(
		"status.succeeded stays %d although only %d indexes are completed: the API accepts a smaller number only while parallelism equals completions", kept, real))
}

// invalidIndex says why a pod of an Indexed Job does not count. Only the annotation matters, and we wrote it, so
// somebody has changed it.
func invalidIndex(pod *corev1.Pod) Event {
	return warning("InvalidCompletionIndex", fmt.Sprintf(
		"Pod %s does not count, and is deleted if it runs: its annotation %s is %q, which is no completion index. Leave that annotation as it is",
		pod.Name, indexKey, pod.Annotations[indexKey]))
}

// invalidCount says that retries of an index begin anew.
func invalidCount(pod *corev1.Pod, key, text string) Event {
	return warning("InvalidFailureCount", fmt.Sprintf(
		"The annotation %s of pod %s is %q, which is no count: the failures of its completion index are counted from 0 again. Leave that annotation as it is",
		key, pod.Name, text))
}

// quotaExceeded is how the API server refuses a pod for which a ResourceQuota has no room. Facts: CheckRequest in
// pkg/admission/plugin/resourcequota/controller.go of k8s.io/apiserver.
var quotaExceeded = regexp.MustCompile(`exceeded quota: ([^,\s]+)(?:, (requested: .*), used: .*?, (limited: .*))?`)

// quotaAdvice adds what to do about a refusal by quota. It leaves out the name of the pod and how much is used at the
// moment, so that all tries together are one event.
func quotaAdvice(message string) string {
	found := quotaExceeded.FindStringSubmatch(message)
	if found == nil {
		return message
	}
	quota, details := found[1], ""
	if found[2] != "" {
		details = ", " + found[2] + ", " + found[3]
	}
	return fmt.Sprintf("exceeded quota: %s%s; raise the quota %s or delete what counts for it, the Job then goes on by itself", quota, details, quota)
}

// podEvents says what became of the pods that a plan created or deleted. Beyond a number of events one more stands for
// the rest, and refusals that differ by nothing but the name of the pod are one event.
func podEvents(p Plan, r Results, limit int) []Event {
	var events []Event
	created, deleted := 0, 0
	reported := map[string]bool{}
	refused := func(pod, message string) bool {
		reason := strings.ReplaceAll(quotaAdvice(message), pod, "")
		again := reported[reason]
		reported[reason] = true
		return !again
	}
	for i, c := range p.Create {
		result := resultOf(r.Create, i)
		switch result.Outcome {
		case Created:
			if created++; created <= limit {
				name := result.Name
				if name == "" {
					name = c.Pod.Name
				}
				events = append(events, createdPod(name))
				events = append(events, c.events...)
			}
		case CreateFailed, CreateUnknown:
			if refused(c.Pod.Name, result.Message) {
				events = append(events, createFailed(result.Message))
			}
		}
	}
	if created > limit {
		events = append(events, createdMore(created-limit))
	}
	for i, d := range p.Delete {
		result := resultOf(r.Delete, i)
		switch result.Outcome {
		case Deleted:
			if deleted++; deleted <= limit {
				events = append(events, deletedPod(d.Name))
				events = append(events, d.events...)
			}
		case DeleteFailed:
			if refused(d.Name, result.Message) {
				events = append(events, deleteFailed(result.Message))
			}
		}
	}
	if deleted > limit {
		events = append(events, deletedMore(deleted-limit))
	}
	return events
}

// finishEvents are published after the write that ends the Job. A Job that is being deleted fails because the garbage
// collector takes its pods, which is no news to anybody.
func finishEvents(job *batchv1.Job, v Verdict, succeeded int32) []Event {
	if v.Outcome == Failure {
		if job.DeletionTimestamp != nil {
			return nil
		}
		return []Event{jobFailed(v)}
	}
	var events []Event
	if c := job.Spec.Completions; c != nil && succeeded > *c {
		events = append(events, tooManySucceeded())
	}
	return append(events, jobCompleted())
}
