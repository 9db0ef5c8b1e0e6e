// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package e2e

import (
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// client reaches the API as a user with the kubeconfig would.
func (u *up) client() kubernetes.Interface {
	u.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(u.dataDir, "kubeconfig"))
	if err != nil {
		u.t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		u.t.Fatal(err)
	}
	return client
}

// until asks again and again until the answer is yes.
func until(t *testing.T, what string, answer func() bool) {
	t.Helper()
	deadline := time.Now().Add(forever)
	for !answer() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", forever, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// job returns the Job once it is as wanted.
func (u *up) job(name, what string, wanted func(*batchv1.Job) bool) *batchv1.Job {
	u.t.Helper()
	client := u.client()
	var job *batchv1.Job
	until(u.t, "job "+name+" to be "+what, func() bool {
		var err error
		job, err = client.BatchV1().Jobs("default").Get(u.t.Context(), name, metav1.GetOptions{})
		return err == nil && wanted(job)
	})
	return job
}

func complete(job *batchv1.Job) bool { return has(job, batchv1.JobComplete) }
func failed(job *batchv1.Job) bool   { return has(job, batchv1.JobFailed) }

func has(job *batchv1.Job, kind batchv1.JobConditionType) bool {
	for _, condition := range job.Status.Conditions {
		if condition.Type == kind && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// pods are those of a Job.
func (u *up) pods(job string) []corev1.Pod {
	u.t.Helper()
	list, err := u.client().CoreV1().Pods("default").List(u.t.Context(), metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + job})
	if err != nil {
		u.t.Fatal(err)
	}
	return list.Items
}

// pod is the one Pod of a Job, once it is as wanted.
func (u *up) pod(job, what string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	u.t.Helper()
	var found *corev1.Pod
	until(u.t, "the pod of job "+job+" to be "+what, func() bool {
		pods := u.pods(job)
		if len(pods) != 1 || !wanted(&pods[0]) {
			return false
		}
		found = &pods[0]
		return true
	})
	return found
}

func running(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Running != nil
}

// exitCode is that of the Pod's only container; -1 while it has none.
func exitCode(pod *corev1.Pod) int32 {
	if len(pod.Status.ContainerStatuses) != 1 || pod.Status.ContainerStatuses[0].State.Terminated == nil {
		return -1
	}
	return pod.Status.ContainerStatuses[0].State.Terminated.ExitCode
}
