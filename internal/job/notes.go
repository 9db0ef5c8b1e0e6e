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

// Every event of the Job controller (job.md 2.11). Their source is
// "job-controller", whoever runs this.

func normal(reason, message string) Note {
	return Note{Type: corev1.EventTypeNormal, Reason: reason, Message: message}
}

func warning(reason, message string) Note {
	return Note{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}

func createdPod(name string) Note { return normal("SuccessfulCreate", "Created pod: "+name) }

func createdMore(n int) Note {
	return normal("SuccessfulCreate", fmt.Sprintf("Created %d more pods", n))
}

func createFailed(message string) Note {
	return warning("FailedCreate", "Error creating: "+quotaCure(message))
}

func deletedPod(name string) Note { return normal("SuccessfulDelete", "Deleted pod: "+name) }

func deletedMore(n int) Note {
	return normal("SuccessfulDelete", fmt.Sprintf("Deleted %d more pods", n))
}

func deleteFailed(message string) Note { return warning("FailedDelete", "Error deleting: "+message) }

func jobSuspended() Note { return normal("Suspended", "Job suspended") }

func jobResumed() Note { return normal("Resumed", "Job resumed") }

func jobCompleted() Note { return normal("Completed", "Job completed") }

func jobFailed(v Verdict) Note { return warning(v.Reason, v.Message) }

func tooManySucceeded() Note {
	return warning("TooManySucceededPods", "Too many succeeded pods running after completion count reached")
}

func unknownMode() Note {
	return warning("UnknownCompletionMode", "Skipped Job sync because completion mode is unknown")
}

func malformed() Note {
	return warning("MissingCompletions", "Skipped Job sync because an Indexed Job needs spec.completions")
}

// succeededKept tells why status.succeeded is larger than the number of
// completed indexes.
func succeededKept(kept, real int) Note {
	return warning("SucceededNotDecreased", fmt.Sprintf(
		"status.succeeded stays %d although only %d indexes are completed: the API accepts a smaller number only while parallelism equals completions", kept, real))
}

// noIndex tells why a pod of an Indexed Job does not count. Only the annotation
// matters, and we wrote it, so somebody has changed it.
func noIndex(pod *corev1.Pod) Note {
	return warning("InvalidCompletionIndex", fmt.Sprintf(
		"Pod %s does not count, and is deleted if it runs: its annotation %s is %q, which is no completion index. Leave that annotation as it is",
		pod.Name, indexKey, pod.Annotations[indexKey]))
}

// noCount tells that retries of an index begin anew.
func noCount(pod *corev1.Pod, key, text string) Note {
	return warning("InvalidFailureCount", fmt.Sprintf(
		"The annotation %s of pod %s is %q, which is no count: the failures of its completion index are counted from 0 again. Leave that annotation as it is",
		key, pod.Name, text))
}

// quotaExceeded is how the API server refuses a pod for which a ResourceQuota
// has no room. Facts: CheckRequest in
// pkg/admission/plugin/resourcequota/controller.go of k8s.io/apiserver.
var quotaExceeded = regexp.MustCompile(`exceeded quota: ([^,\s]+)(?:, (requested: .*), used: .*?, (limited: .*))?`)

// quotaCure adds what to do about a refusal by quota. It leaves out the name of
// the pod and how much is used at the moment, so that all tries together are
// one event.
func quotaCure(message string) string {
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

// podNotes tells what became of the pods that a plan created or deleted. Beyond
// a number of events the rest is told in one, and refusals that differ by
// nothing but the name of the pod are told once.
func podNotes(p Plan, r Results, limit int) []Note {
	var notes []Note
	created, deleted := 0, 0
	told := map[string]bool{}
	refused := func(pod, message string) bool {
		reason := strings.ReplaceAll(quotaCure(message), pod, "")
		again := told[reason]
		told[reason] = true
		return !again
	}
	for i, c := range p.Create {
		result := r.create(i)
		switch result.Outcome {
		case Created:
			if created++; created <= limit {
				name := result.Name
				if name == "" {
					name = c.Pod.Name
				}
				notes = append(notes, createdPod(name))
				notes = append(notes, c.remarks...)
			}
		case CreateFailed, CreateUnknown:
			if refused(c.Pod.Name, result.Message) {
				notes = append(notes, createFailed(result.Message))
			}
		}
	}
	if created > limit {
		notes = append(notes, createdMore(created-limit))
	}
	for i, d := range p.Delete {
		result := r.delete(i)
		switch result.Outcome {
		case Deleted:
			if deleted++; deleted <= limit {
				notes = append(notes, deletedPod(d.Name))
				notes = append(notes, d.remarks...)
			}
		case DeleteFailed:
			if refused(d.Name, result.Message) {
				notes = append(notes, deleteFailed(result.Message))
			}
		}
	}
	if deleted > limit {
		notes = append(notes, deletedMore(deleted-limit))
	}
	return notes
}

// endNotes are spoken after the write that ends the Job. A Job that is being
// deleted fails because the garbage collector takes its pods: nobody needs to
// hear of that.
func endNotes(job *batchv1.Job, v Verdict, succeeded int32) []Note {
	if v.Outcome == Failure {
		if job.DeletionTimestamp != nil {
			return nil
		}
		return []Note{jobFailed(v)}
	}
	var notes []Note
	if c := job.Spec.Completions; c != nil && succeeded > *c {
		notes = append(notes, tooManySucceeded())
	}
	return append(notes, jobCompleted())
}
