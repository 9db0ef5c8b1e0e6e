// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Obstacle is why a container can never start, however often it is tried.
type Obstacle struct {
	Pod       string
	Container string // "" when it is the whole Pod
	Reason    string // Kubernetes' own word
	Message   string
}

// reasonPull is the kubelet's word for an image that was not to be had.
const reasonPull = "ErrImagePull"

// Error reads as `container "main" of pod x-1 can never start: StartError: no such file`.
func (o Obstacle) Error() string {
	what := "pod " + o.Pod
	if o.Container != "" {
		what = fmt.Sprintf("container %q of pod %s", o.Container, o.Pod)
	}
	if o.Reason == reasonPull { // another day it may
		return fmt.Sprintf("%s cannot start: %s", what, o.Message)
	}
	return fmt.Sprintf("%s can never start: %s: %s", what, o.Reason, o.Message)
}

// permanent are the words of the kubelet and of container runtimes for a container that does not start because of what
// its manifest asks for.
var permanent = []string{
	"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError",
	"StartError", "ContainerCannotRun", // of containers that have ended
}

// transientParts are parts of messages that come under the same words and pass by themselves: the machine is busy or
// short of something, or what is asked for is not known yet.
var transientParts = []string{
	"deadline exceeded", "timed out", "timeout", "try again", "temporarily unavailable", "connection refused", "connection reset",
	"failed to sync", "not yet been read", "have not yet", "not registered", "is reserved for", "already in use", "is stopping",
	"no space left", "disk quota exceeded", "too many open files", "cannot allocate memory", "Unavailable", "input/output error", "canceled",
}

func isPermanent(reason, message string) bool {
	return slices.Contains(permanent, reason) && !isTransient(message)
}

func isTransient(message string) bool {
	return slices.ContainsFunc(transientParts, func(part string) bool { return strings.Contains(message, part) })
}

// podObstacle finds a container of the Pod that can never start.
func podObstacle(pod *corev1.Pod) (Obstacle, bool) {
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := s.State.Waiting; w != nil {
			if sentence, never := noPull(w.Message); never {
				return Obstacle{pod.Name, s.Name, reasonPull, sentence}, true
			}
			if isPermanent(w.Reason, w.Message) {
				return Obstacle{pod.Name, s.Name, w.Reason, w.Message}, true
			}
		}
		for _, t := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
			if t != nil && isPermanent(t.Reason, t.Message) {
				return Obstacle{pod.Name, s.Name, t.Reason, t.Message}, true
			}
		}
	}
	if pod.Status.Phase == corev1.PodFailed && pod.Status.Reason == "NeedsRoot" { // refused by our node
		return Obstacle{Pod: pod.Name, Reason: pod.Status.Reason, Message: pod.Status.Message}, true
	}
	return Obstacle{}, false
}

// eventObstacle finds in an event of a Pod why a container can never start. The kubelet speaks at once, and writes the
// Pod's status only when it looks at the Pod again, which may be much later.
func eventObstacle(e *corev1.Event) (Obstacle, bool) {
	why := Obstacle{Pod: e.InvolvedObject.Name, Reason: e.Reason, Message: e.Message}
	if _, name, ok := strings.Cut(e.InvolvedObject.FieldPath, "ontainers{"); ok { // spec.containers{main}, spec.initContainers{first}
		why.Container = strings.TrimSuffix(name, "}")
	}
	if e.InvolvedObject.Kind != "Pod" {
		return Obstacle{}, false
	}
	if sentence, never := noPull(e.Message); never {
		why.Reason, why.Message = reasonPull, sentence
		return why, true
	}
	if isTransient(e.Message) {
		return Obstacle{}, false
	}
	switch e.Reason {
	case "FailedMount":
		missing := (strings.Contains(e.Message, `configmap "`) || strings.Contains(e.Message, `secret "`)) && strings.HasSuffix(e.Message, "not found")
		return why, missing || strings.Contains(e.Message, "references non-existent") || strings.Contains(e.Message, "hostPath type check failed")
	case "InspectFailed":
		return why, strings.Contains(e.Message, "couldn't parse image name")
	case "ErrImageNeverPull":
		return why, true
	case "Failed":
		var ok bool
		why.Message, ok = strings.CutPrefix(e.Message, "Error: ")
		return why, ok && strings.Contains(why.Message, " ")
	}
	return Obstacle{}, false
}
