// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// JOB-129: where a finish time comes from.
func TestFinishTime(t *testing.T) {
	t.Parallel()
	ended := func(name string, d time.Duration) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: ago(d)}}}
	}
	base := func(edits ...func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(time.Hour)}}
		for _, edit := range edits {
			edit(pod)
		}
		return pod
	}
	apps := func(list ...corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses = list }
	}
	sidecar := func(status corev1.ContainerStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "plain"}, {Name: status.Name, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{ended("plain", time.Second), status}
		}
	}
	readyIs := func(status corev1.ConditionStatus, d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: ago(d)}}
		}
	}
	deleted := func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(ago(-20*time.Second)), ptr.To[int64](30)
	}
	running := corev1.ContainerStatus{Name: "r"}
	tests := map[string]struct {
		pod  *corev1.Pod
		want time.Duration // ago
	}{
		"the last container":                        {base(apps(ended("a", 5*time.Minute), ended("b", 3*time.Minute)), readyIs("False", time.Minute)), 3 * time.Minute},
		"a sidecar ended later":                     {base(apps(ended("a", 5*time.Minute)), sidecar(ended("s", 2*time.Minute))), 2 * time.Minute},
		"a sidecar ended earlier":                   {base(apps(ended("a", 5*time.Minute)), sidecar(ended("s", 7*time.Minute))), 5 * time.Minute},
		"a sidecar still runs":                      {base(apps(ended("a", 5*time.Minute)), sidecar(running), readyIs("False", time.Minute)), time.Minute},
		"a container still runs":                    {base(apps(ended("a", 5*time.Minute), running), readyIs("False", time.Minute)), time.Minute},
		"a container still runs, the sidecar ended": {base(apps(running), sidecar(ended("s", 2*time.Minute)), readyIs("False", time.Minute)), 2 * time.Minute},
		"a container without a time":                {base(apps(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}), readyIs("False", time.Minute)), time.Minute},
		"no containers: not ready since":            {base(readyIs("False", time.Minute), deleted), time.Minute},
		"ready says nothing":                        {base(readyIs("True", time.Minute)), time.Hour},
		"deletion less the grace":                   {base(deleted), 10 * time.Second},
		"creation":                                  {base(), time.Hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := now.Sub(finishTime(test.pod)); got != test.want {
				t.Errorf("%s ago, want %s ago", got, test.want)
			}
		})
	}
}
