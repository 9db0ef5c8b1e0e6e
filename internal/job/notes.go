// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"

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

func createFailed(message string) Note { return warning("FailedCreate", "Error creating: "+message) }

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

// podNotes tells what became of the pods that a plan created or deleted. Beyond
// a number of events the rest is told in one.
func podNotes(p Plan, r Results, limit int) []Note {
	var notes []Note
	created, deleted := 0, 0
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
			}
		case CreateFailed, CreateUnknown:
			notes = append(notes, createFailed(result.Message))
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
			}
		case DeleteFailed:
			notes = append(notes, deleteFailed(result.Message))
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
