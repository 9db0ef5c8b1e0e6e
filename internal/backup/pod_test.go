// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/carillon-dev/carillon/internal/plan/run"
)

// A Pod ends as its containers did, as far as that is known, and is lost otherwise.
func TestEndPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	running := func(name string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: true, ContainerID: runtimeName + "old", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-time.Minute))}}}
	}
	over := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(now.Add(-time.Minute))}}}
	}
	attempt := func(name string, code int32) run.Attempt {
		return run.Attempt{ContainerID: "id-" + name, Container: name, ExitCode: code, Started: now.Add(-2 * time.Second), Ended: now.Add(-time.Second), Reason: "Completed"}
	}
	cases := map[string]struct {
		policy   corev1.RestartPolicy
		init     []corev1.Container
		names    []string
		statuses []corev1.ContainerStatus
		attempts []run.Attempt
		phase    corev1.PodPhase
		known    bool
		disrupt  bool
		codes    []int32
	}{
		"ran":                       {names: []string{"a"}, statuses: []corev1.ContainerStatus{running("a")}, phase: corev1.PodFailed, disrupt: true, codes: []int32{137}},
		"was about to":              {names: []string{"a"}, phase: corev1.PodFailed, disrupt: true, codes: []int32{137}},
		"had succeeded, unseen":     {names: []string{"a"}, statuses: []corev1.ContainerStatus{running("a")}, attempts: []run.Attempt{attempt("a", 0)}, phase: corev1.PodSucceeded, known: true, codes: []int32{0}},
		"had failed, unseen":        {names: []string{"a"}, attempts: []run.Attempt{attempt("a", 3)}, phase: corev1.PodFailed, known: true, codes: []int32{3}},
		"one failed, one ran":       {names: []string{"a", "b"}, statuses: []corev1.ContainerStatus{over("a", 2), running("b")}, phase: corev1.PodFailed, codes: []int32{2, 137}},
		"one succeeded, one ran":    {names: []string{"a", "b"}, statuses: []corev1.ContainerStatus{over("a", 0), running("b")}, phase: corev1.PodFailed, disrupt: true, codes: []int32{0, 137}},
		"both over":                 {names: []string{"a", "b"}, statuses: []corev1.ContainerStatus{over("a", 0), over("b", 0)}, phase: corev1.PodSucceeded, known: true, codes: []int32{0, 0}},
		"on failure, about to":      {policy: corev1.RestartPolicyOnFailure, names: []string{"a"}, attempts: []run.Attempt{attempt("a", 3)}, phase: corev1.PodFailed, disrupt: true, codes: []int32{3}},
		"on failure, had succeeded": {policy: corev1.RestartPolicyOnFailure, names: []string{"a"}, attempts: []run.Attempt{attempt("a", 0)}, phase: corev1.PodSucceeded, known: true, codes: []int32{0}},
		"newer in the status":       {names: []string{"a"}, statuses: []corev1.ContainerStatus{{Name: "a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, FinishedAt: metav1.NewTime(now)}}}}, attempts: []run.Attempt{attempt("a", 1)}, phase: corev1.PodSucceeded, known: true, codes: []int32{0}},
		"a sidecar ran on":          {init: []corev1.Container{{Name: "s", RestartPolicy: &always}}, names: []string{"a"}, attempts: []run.Attempt{attempt("a", 0)}, phase: corev1.PodSucceeded, known: true, codes: []int32{0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, InitContainers: c.init}}
			if c.policy != "" {
				pod.Spec.RestartPolicy = c.policy
			}
			for _, n := range c.names {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: n})
			}
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: c.statuses, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
			known := map[string]run.Attempt{}
			for _, a := range c.attempts {
				known[a.Container] = a
			}
			if got := endPod(pod, known, metav1.NewTime(now)); got != c.known {
				t.Errorf("known: %v", got)
			}
			if pod.Status.Phase != c.phase {
				t.Errorf("phase %s, want %s", pod.Status.Phase, c.phase)
			}
			disrupted := false
			for _, condition := range pod.Status.Conditions {
				disrupted = disrupted || condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue
				if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionFalse {
					t.Error("it is ready")
				}
			}
			if disrupted != c.disrupt {
				t.Errorf("disrupted: %v", disrupted)
			}
			for i, s := range pod.Status.ContainerStatuses {
				if s.State.Terminated == nil || s.State.Terminated.ExitCode != c.codes[i] || s.Ready || s.State.Running != nil {
					t.Errorf("container %s: %+v", s.Name, s)
				}
			}
			if len(pod.Status.ContainerStatuses) != len(c.codes) || len(pod.Status.InitContainerStatuses) != len(c.init) {
				t.Errorf("statuses: %+v", pod.Status)
			}
		})
	}
}
