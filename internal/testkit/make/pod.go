// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package make

import (
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Container is the name of the one container of pods and templates made here.
const Container = "main"

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(30)),
		DNSPolicy:                     corev1.DNSClusterFirst,
		SchedulerName:                 corev1.DefaultSchedulerName,
		SecurityContext:               &corev1.PodSecurityContext{},
		Containers: []corev1.Container{{
			Name:                     Container,
			Image:                    "busybox",
			Command:                  []string{"true"},
			ImagePullPolicy:          corev1.PullIfNotPresent,
			TerminationMessagePath:   corev1.TerminationMessagePathDefault,
			TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}},
	}
}

// PodBuilder builds a core/v1 Pod.
type PodBuilder struct {
	obj corev1.Pod
}

// Pod starts a pending pod with one container that restarts never.
func Pod(namespace, name string) PodBuilder {
	return PodBuilder{corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: newMeta("pod", namespace, name),
		Spec:       podSpec(),
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}}
}

// Obj returns the pod as the API server has it.
func (b PodBuilder) Obj() *corev1.Pod { return b.obj.DeepCopy() }

// New returns the pod as a user creates it.
func (b PodBuilder) New() *corev1.Pod {
	o := b.obj.DeepCopy()
	o.ObjectMeta, o.Status = unsaved(o.ObjectMeta), corev1.PodStatus{}
	return o
}

// UID sets metadata.uid.
func (b PodBuilder) UID(uid types.UID) PodBuilder {
	b.obj.UID = uid
	return b
}

// ResourceVersion sets metadata.resourceVersion.
func (b PodBuilder) ResourceVersion(v string) PodBuilder {
	b.obj.ResourceVersion = v
	return b
}

// Created sets metadata.creationTimestamp.
func (b PodBuilder) Created(t time.Time) PodBuilder {
	b.obj.CreationTimestamp = metav1.NewTime(t)
	return b
}

// Deleted sets metadata.deletionTimestamp: the pod is terminating.
func (b PodBuilder) Deleted(t time.Time) PodBuilder {
	b.obj.DeletionTimestamp = at(t)
	b.obj.DeletionGracePeriodSeconds = new(int64(30))
	return b
}

// Label adds a label.
func (b PodBuilder) Label(key, value string) PodBuilder {
	b.obj.Labels = with(b.obj.Labels, key, value)
	return b
}

// Annotation adds an annotation.
func (b PodBuilder) Annotation(key, value string) PodBuilder {
	b.obj.Annotations = with(b.obj.Annotations, key, value)
	return b
}

// Finalizer adds a finalizer.
func (b PodBuilder) Finalizer(name string) PodBuilder {
	b.obj.Finalizers = add(b.obj.Finalizers, name)
	return b
}

// NoFinalizers takes all finalizers away: the pod has been accounted for.
func (b PodBuilder) NoFinalizers() PodBuilder {
	b.obj.Finalizers = nil
	return b
}

// Owner adds an owner reference.
func (b PodBuilder) Owner(ref metav1.OwnerReference) PodBuilder {
	b.obj.OwnerReferences = add(b.obj.OwnerReferences, ref)
	return b
}

// Orphan takes all owner references away.
func (b PodBuilder) Orphan() PodBuilder {
	b.obj.OwnerReferences = nil
	return b
}

// Of makes the pod one that the Job controller created for a Job: its spec, labels
// and annotations from the template, a controller owner reference, and the tracking
// finalizer.
func (b PodBuilder) Of(job *batchv1.Job) PodBuilder {
	template := job.Spec.Template.DeepCopy()
	b.obj.Spec = template.Spec
	for key, value := range template.Labels {
		b.obj.Labels = with(b.obj.Labels, key, value)
	}
	for key, value := range template.Annotations {
		b.obj.Annotations = with(b.obj.Annotations, key, value)
	}
	return b.Owner(*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))).
		Finalizer(batchv1.JobTrackingFinalizer)
}

// Index makes the pod that of a completion index: annotation and label.
func (b PodBuilder) Index(i int) PodBuilder {
	text := strconv.Itoa(i)
	return b.Annotation(batchv1.JobCompletionIndexAnnotation, text).Label(batchv1.JobCompletionIndexAnnotation, text)
}

// FailureCount sets the annotation that counts the failures of the pod's index.
func (b PodBuilder) FailureCount(n int) PodBuilder {
	return b.Annotation(batchv1.JobIndexFailureCountAnnotation, strconv.Itoa(n))
}

// IgnoredFailureCount sets the annotation that counts the failures of the pod's index
// that a failure policy ignored.
func (b PodBuilder) IgnoredFailureCount(n int) PodBuilder {
	return b.Annotation(batchv1.JobIndexIgnoredFailureCountAnnotation, strconv.Itoa(n))
}

// Node binds the pod to a node.
func (b PodBuilder) Node(name string) PodBuilder {
	b.obj.Spec.NodeName = name
	return b
}

// RestartPolicy sets spec.restartPolicy.
func (b PodBuilder) RestartPolicy(p corev1.RestartPolicy) PodBuilder {
	b.obj.Spec.RestartPolicy = p
	return b
}

// Phase sets status.phase.
func (b PodBuilder) Phase(p corev1.PodPhase) PodBuilder {
	b.obj.Status.Phase = p
	return b
}

// Reason sets status.reason, such as Evicted.
func (b PodBuilder) Reason(reason string) PodBuilder {
	b.obj.Status.Reason = reason
	return b
}

// Condition adds a condition that changed at t.
func (b PodBuilder) Condition(typ corev1.PodConditionType, status corev1.ConditionStatus, reason string, t time.Time) PodBuilder {
	b.obj.Status.Conditions = add(b.obj.Status.Conditions, corev1.PodCondition{
		Type: typ, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(t),
	})
	return b
}

// Ready makes the pod run and be ready since t.
func (b PodBuilder) Ready(t time.Time) PodBuilder {
	return b.Phase(corev1.PodRunning).Running(Container, t).Condition(corev1.PodReady, corev1.ConditionTrue, "", t)
}

// Succeeded ends the pod at t with exit code 0.
func (b PodBuilder) Succeeded(t time.Time) PodBuilder {
	return b.Phase(corev1.PodSucceeded).Exited(Container, 0, t)
}

// Failed ends the pod at t with an exit code.
func (b PodBuilder) Failed(t time.Time, exitCode int32) PodBuilder {
	return b.Phase(corev1.PodFailed).Exited(Container, exitCode, t)
}

// Running sets the status of a container that runs since t.
func (b PodBuilder) Running(container string, t time.Time) PodBuilder {
	return b.Status(corev1.ContainerStatus{
		Name:  container,
		Ready: true,
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(t)}},
	})
}

// Exited sets the status of a container that ended at t.
func (b PodBuilder) Exited(container string, exitCode int32, t time.Time) PodBuilder {
	return b.Status(exited(container, exitCode, t))
}

// InitExited sets the status of an init container that ended at t.
func (b PodBuilder) InitExited(container string, exitCode int32, t time.Time) PodBuilder {
	b.obj.Status.InitContainerStatuses = put(b.obj.Status.InitContainerStatuses, exited(container, exitCode, t))
	return b
}

// Status sets the status of the container that it names.
func (b PodBuilder) Status(s corev1.ContainerStatus) PodBuilder {
	b.obj.Status.ContainerStatuses = put(b.obj.Status.ContainerStatuses, s)
	return b
}

func put(statuses []corev1.ContainerStatus, s corev1.ContainerStatus) []corev1.ContainerStatus {
	others := slices.DeleteFunc(slices.Clone(statuses), func(o corev1.ContainerStatus) bool { return o.Name == s.Name })
	return append(others, s)
}

func exited(container string, exitCode int32, t time.Time) corev1.ContainerStatus {
	reason := "Completed"
	if exitCode != 0 {
		reason = "Error"
	}
	return corev1.ContainerStatus{
		Name: container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: exitCode, Reason: reason, FinishedAt: metav1.NewTime(t),
		}},
	}
}
