// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	indexKey        = batchv1.JobCompletionIndexAnnotation
	failureCountKey = batchv1.JobIndexFailureCountAnnotation
	ignoredCountKey = batchv1.JobIndexIgnoredFailureCountAnnotation
	indexVariable   = "JOB_COMPLETION_INDEX"
)

// newPod is the pod that the Job's template describes (job.md 1.7): owned by the Job, holding the tracking finalizer
// and, with an index, knowing it by annotation, label, host name and environment. Template name and owners are not
// taken over.
func newPod(job *batchv1.Job, index int, name string, failures *indexFailures) *corev1.Pod {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       job.Namespace,
			Name:            name,
			GenerateName:    generateName(job.Name, index),
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{OwnerReference(job)},
		},
		Spec: template.Spec,
	}
	if !slices.Contains(pod.Finalizers, Finalizer) {
		pod.Finalizers = append(pod.Finalizers, Finalizer)
	}
	if index < 0 {
		return pod
	}
	number := strconv.Itoa(index)
	annotate(pod, indexKey, number)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[indexKey] = number
	pod.Spec.Hostname = job.Name + "-" + number
	for i := range pod.Spec.InitContainers {
		addIndexVariable(&pod.Spec.InitContainers[i])
	}
	for i := range pod.Spec.Containers {
		addIndexVariable(&pod.Spec.Containers[i])
	}
	if failures != nil {
		annotate(pod, failureCountKey, strconv.Itoa(failures.counted))
		if failures.ignored > 0 {
			annotate(pod, ignoredCountKey, strconv.Itoa(failures.ignored))
		}
	}
	return pod
}

func annotate(pod *corev1.Pod, key, value string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[key] = value
}

// addIndexVariable adds the index variable unless the user defined one of that name.
func addIndexVariable(c *corev1.Container) {
	for i := range c.Env {
		if c.Env[i].Name == indexVariable {
			return
		}
	}
	c.Env = append(c.Env, corev1.EnvVar{
		Name: indexVariable,
		ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + indexKey + "']"},
		},
	})
}
