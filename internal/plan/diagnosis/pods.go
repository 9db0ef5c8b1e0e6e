// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/plan/quantity"
)

// podState is what a Pod shows.
type podState struct {
	// reason is one word: ImagePullBackOff, Unschedulable, OOMKilled, Error, Running, Succeeded, …
	reason string
	// text says the same in words.
	text string
	// stuck: it does not go on by itself, or only by chance.
	stuck bool
	// container is the one that it is about, "" for the whole Pod.
	container string
	// at is since when it is so, zero if that is not told.
	at time.Time
}

// A PodState is what a Pod shows.
type PodState struct {
	// Reason is one word: ImagePullBackOff, Unschedulable, OOMKilled, Error, Running, Succeeded, …
	Reason string
	// Text says the same in words, as what the Pod does: "waits: its image cannot be pulled (ErrImagePull)".
	Text string
	// Stuck: it does not go on by itself, or only by chance.
	Stuck bool
	// Since is since when it is so, zero if that is not told.
	Since time.Time
}

// StateOf says what a Pod shows. The Pod is not modified.
func StateOf(pod *corev1.Pod) PodState {
	state := stateOf(pod)
	return PodState{Reason: state.reason, Text: state.text, Stuck: state.stuck, Since: state.at}
}

// podsOf are the Pods of a Job, oldest first.
func (e *Evidence) podsOf(job *batchv1.Job) []*corev1.Pod {
	var found []*corev1.Pod
	for i := range e.Pods {
		pod := &e.Pods[i]
		ref := metav1.GetControllerOf(pod)
		if ref != nil && ref.UID == job.UID && (ref.UID != "" || ref.Name == job.Name) || ref == nil && jobNameOf(pod) == job.Name {
			found = append(found, pod)
		}
	}
	return found
}

// waitingWords are what the reasons of waiting containers mean, and whether somebody has to do something.
var waitingWords = map[string]string{
	"ImagePullBackOff":           "its image cannot be pulled",
	"ErrImagePull":               "its image cannot be pulled",
	"ErrImageNeverPull":          "its image is not on the node, and imagePullPolicy is Never",
	"InvalidImageName":           "the name of its image is not valid",
	"RegistryUnavailable":        "the registry of its image does not answer",
	"CreateContainerConfigError": "something that its environment names does not exist, such as a ConfigMap or Secret",
	"CreateContainerError":       "its container cannot be created",
	"RunContainerError":          "its container cannot be started",
	"CrashLoopBackOff":           "its container fails again and again, and waits before its next try",
}

func stateOf(pod *corev1.Pod) podState {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return podState{reason: "Succeeded", text: "succeeded"}
	case pod.Status.Phase == corev1.PodFailed:
		return failedPod(pod, statuses)
	case pod.DeletionTimestamp != nil:
		return podState{reason: "Terminating", text: "is being deleted", at: pod.DeletionTimestamp.Time, stuck: len(pod.Finalizers) > 0}
	}
	for i := range statuses {
		if w := statuses[i].State.Waiting; w != nil && waitingWords[w.Reason] != "" {
			text := fmt.Sprintf("waits: %s (%s)", waitingWords[w.Reason], w.Reason)
			if message := firstLine(w.Message); message != "" {
				text += ": " + message
			}
			if t := statuses[i].LastTerminationState.Terminated; t != nil {
				text += "; it " + terminatedText(t)
			}
			return podState{reason: w.Reason, text: text, stuck: true, container: statuses[i].Name}
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			text := "is not placed on a node: " + firstLine(c.Message)
			if c.Reason == corev1.PodReasonSchedulingGated {
				text = "is held by its scheduling gates"
			}
			return podState{reason: wordOr(c.Reason, corev1.PodReasonUnschedulable), text: text, stuck: true, at: c.LastTransitionTime.Time}
		}
	}
	if pod.Status.Phase == corev1.PodRunning {
		state := podState{reason: "Running", text: "runs", at: timeOf(pod.Status.StartTime)}
		if n := restarts(statuses); n > 0 {
			state.text += ", after " + quantity.Count(n, "restart")
		}
		return state
	}
	if pod.Spec.NodeName == "" {
		return podState{reason: "NotScheduled", text: "waits for a scheduler to place it on a node", at: pod.CreationTimestamp.Time}
	}
	return podState{reason: "ContainerCreating", text: "is being started on node " + pod.Spec.NodeName, at: pod.CreationTimestamp.Time}
}

func failedPod(pod *corev1.Pod, statuses []corev1.ContainerStatus) podState {
	if pod.Status.Reason != "" { // Evicted, Preempting, …: the containers say less
		return podState{reason: pod.Status.Reason, text: "failed: " + strings.TrimRight(pod.Status.Reason+": "+firstLine(pod.Status.Message), ": ")}
	}
	for i := range statuses {
		if t := statuses[i].State.Terminated; t != nil && t.ExitCode != 0 {
			reason := wordOr(t.Reason, "Error")
			return podState{reason: reason, text: fmt.Sprintf("failed: container %s %s", statuses[i].Name, terminatedText(t)), container: statuses[i].Name, at: t.FinishedAt.Time}
		}
	}
	return podState{reason: "Failed", text: "failed, and its containers do not tell why"}
}

// terminatedText says how a container ended.
func terminatedText(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("ended with exit code %d", t.ExitCode)
	switch {
	case t.Reason == "OOMKilled":
		text += " (OOMKilled: it needed more memory than its limit)"
	case exitWords[t.ExitCode] != "":
		text += " (" + exitWords[t.ExitCode] + ")"
	case t.Reason != "" && t.Reason != "Error" && t.Reason != "Completed":
		text += " (" + t.Reason + ")"
	}
	if message := firstLine(t.Message); message != "" {
		text += ": " + message
	}
	return text
}

// exitWords are what shells and kernels mean by some exit codes.
var exitWords = map[int32]string{
	126: "the command is not executable",
	127: "the command was not found",
	134: "aborted, SIGABRT",
	137: "killed, SIGKILL",
	139: "a memory fault, SIGSEGV",
	143: "asked to stop, SIGTERM",
}

func restarts(statuses []corev1.ContainerStatus) int {
	n := 0
	for i := range statuses {
		n += int(statuses[i].RestartCount)
	}
	return n
}

func wordOr(word, otherwise string) string {
	if word == "" {
		return otherwise
	}
	return word
}

func lower(text string) string { return strings.ToLower(text) }

// showPod adds a Pod to the evidence.
func (b *builder) showPod(pod *corev1.Pod) podState {
	state := stateOf(pod)
	text := state.text
	if !state.at.IsZero() && pod.Status.Phase != corev1.PodFailed {
		text += ", since " + b.clock(state.at)
	}
	b.show("Pod "+pod.Name, state.at, "%s", text)
	for _, event := range b.about("Pod", pod.Name, "Failed", "FailedMount", "FailedCreatePodSandBox", "BackOff", "FailedScheduling", "Evicted", "OOMKilling", "FailedAttachVolume") {
		if state.stuck || state.reason == "ContainerCreating" {
			b.tells(event)
		}
	}
	return state
}

// podCommands are the commands that help with a Pod.
func (b *builder) podCommands(pod *corev1.Pod, state podState) {
	switch {
	case pod.Status.Reason != "": // it was not its containers that failed
		b.next("describe pod/"+Quoted(pod.Name), "what has become of the Pod, with its events")
	case state.reason == "Running" || pod.Status.Phase == corev1.PodFailed || state.reason == "CrashLoopBackOff":
		command := "logs " + Quoted(pod.Name)
		if state.container != "" && len(pod.Spec.Containers)+len(pod.Spec.InitContainers) > 1 {
			command += " -c " + Quoted(state.container)
		}
		if state.reason == "CrashLoopBackOff" {
			command += " --previous"
		}
		b.next(command, "what it has printed")
	default:
		b.next("describe pod/"+Quoted(pod.Name), "what keeps the Pod, with its events")
	}
}
