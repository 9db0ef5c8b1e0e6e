// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package make

import (
	"math"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// JobBuilder builds a batch/v1 Job.
type JobBuilder struct {
	obj batchv1.Job
}

// Job starts a Job that runs one pod to completion, with six retries.
func Job(namespace, name string) JobBuilder {
	b := JobBuilder{batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: newMeta("job", namespace, name),
		Spec: batchv1.JobSpec{
			Parallelism:          new(int32(1)),
			Completions:          new(int32(1)),
			BackoffLimit:         new(int32(6)),
			CompletionMode:       new(batchv1.NonIndexedCompletion),
			Suspend:              new(false),
			PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
			ManualSelector:       new(false),
			Template:             corev1.PodTemplateSpec{Spec: podSpec()},
		},
	}}
	return b.selected()
}

// selected gives the Job the selector and template labels that the API server makes
// from its UID.
func (b JobBuilder) selected() JobBuilder {
	uid := string(b.obj.UID)
	b.obj.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: uid}}
	for key, value := range b.generatedLabels() {
		b.obj.Spec.Template.Labels = with(b.obj.Spec.Template.Labels, key, value)
	}
	return b
}

func (b JobBuilder) generatedLabels() map[string]string {
	uid := string(b.obj.UID)
	return map[string]string{
		batchv1.ControllerUidLabel: uid,
		batchv1.JobNameLabel:       b.obj.Name,
		"controller-uid":           uid,
		"job-name":                 b.obj.Name,
	}
}

// Obj returns the Job as the API server has it.
func (b JobBuilder) Obj() *batchv1.Job { return b.obj.DeepCopy() }

// New returns the Job as a user creates it, without the generated selector and labels.
func (b JobBuilder) New() *batchv1.Job {
	o := b.obj.DeepCopy()
	o.ObjectMeta, o.Status = unsaved(o.ObjectMeta), batchv1.JobStatus{}
	o.Spec.Selector, o.Spec.ManualSelector = nil, nil
	for key := range b.generatedLabels() {
		delete(o.Spec.Template.Labels, key)
	}
	if len(o.Spec.Template.Labels) == 0 {
		o.Spec.Template.Labels = nil
	}
	return o
}

// UID sets metadata.uid, and selector and labels with it.
func (b JobBuilder) UID(uid types.UID) JobBuilder {
	b.obj.UID = uid
	return b.selected()
}

// ResourceVersion sets metadata.resourceVersion.
func (b JobBuilder) ResourceVersion(v string) JobBuilder {
	b.obj.ResourceVersion = v
	return b
}

// Created sets metadata.creationTimestamp.
func (b JobBuilder) Created(t time.Time) JobBuilder {
	b.obj.CreationTimestamp = metav1.NewTime(t)
	return b
}

// Deleted sets metadata.deletionTimestamp, as for an object that a finalizer holds.
func (b JobBuilder) Deleted(t time.Time) JobBuilder {
	b.obj.DeletionTimestamp = at(t)
	return b
}

// Finalizer adds a finalizer.
func (b JobBuilder) Finalizer(name string) JobBuilder {
	b.obj.Finalizers = add(b.obj.Finalizers, name)
	return b
}

// Label adds a label.
func (b JobBuilder) Label(key, value string) JobBuilder {
	b.obj.Labels = with(b.obj.Labels, key, value)
	return b
}

// Annotation adds an annotation.
func (b JobBuilder) Annotation(key, value string) JobBuilder {
	b.obj.Annotations = with(b.obj.Annotations, key, value)
	return b
}

// Of makes the Job a child of a CronJob: a controller owner reference.
func (b JobBuilder) Of(owner *batchv1.CronJob) JobBuilder {
	return b.Owner(*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("CronJob")))
}

// Owner adds an owner reference.
func (b JobBuilder) Owner(ref metav1.OwnerReference) JobBuilder {
	b.obj.OwnerReferences = add(b.obj.OwnerReferences, ref)
	return b
}

// Parallelism sets spec.parallelism.
func (b JobBuilder) Parallelism(n int32) JobBuilder {
	b.obj.Spec.Parallelism = &n
	return b
}

// Completions sets spec.completions.
func (b JobBuilder) Completions(n int32) JobBuilder {
	b.obj.Spec.Completions = &n
	return b
}

// WorkQueue leaves spec.completions unset: the Job is done when a pod has succeeded
// and all have ended.
func (b JobBuilder) WorkQueue() JobBuilder {
	b.obj.Spec.Completions = nil
	return b
}

// Indexed makes the Job one of n indexes.
func (b JobBuilder) Indexed(n int32) JobBuilder {
	b.obj.Spec.CompletionMode = new(batchv1.IndexedCompletion)
	return b.Completions(n)
}

// BackoffLimit sets spec.backoffLimit.
func (b JobBuilder) BackoffLimit(n int32) JobBuilder {
	b.obj.Spec.BackoffLimit = &n
	return b
}

// BackoffLimitPerIndex sets spec.backoffLimitPerIndex, and spec.backoffLimit to what
// the API server then makes it.
func (b JobBuilder) BackoffLimitPerIndex(n int32) JobBuilder {
	b.obj.Spec.BackoffLimitPerIndex = &n
	return b.BackoffLimit(math.MaxInt32)
}

// MaxFailedIndexes sets spec.maxFailedIndexes.
func (b JobBuilder) MaxFailedIndexes(n int32) JobBuilder {
	b.obj.Spec.MaxFailedIndexes = &n
	return b
}

// ActiveDeadline sets spec.activeDeadlineSeconds.
func (b JobBuilder) ActiveDeadline(seconds int64) JobBuilder {
	b.obj.Spec.ActiveDeadlineSeconds = &seconds
	return b
}

// TTL sets spec.ttlSecondsAfterFinished.
func (b JobBuilder) TTL(seconds int32) JobBuilder {
	b.obj.Spec.TTLSecondsAfterFinished = &seconds
	return b
}

// Suspend sets spec.suspend.
func (b JobBuilder) Suspend(suspended bool) JobBuilder {
	b.obj.Spec.Suspend = &suspended
	return b
}

// ManagedBy sets spec.managedBy.
func (b JobBuilder) ManagedBy(name string) JobBuilder {
	b.obj.Spec.ManagedBy = &name
	return b
}

// ReplaceOnlyFailed sets spec.podReplacementPolicy to Failed.
func (b JobBuilder) ReplaceOnlyFailed() JobBuilder {
	b.obj.Spec.PodReplacementPolicy = new(batchv1.Failed)
	return b
}

// FailurePolicy adds rules to spec.podFailurePolicy. The API server then makes
// podReplacementPolicy Failed, and so does this.
func (b JobBuilder) FailurePolicy(rules ...batchv1.PodFailurePolicyRule) JobBuilder {
	var have []batchv1.PodFailurePolicyRule
	if p := b.obj.Spec.PodFailurePolicy; p != nil {
		have = p.Rules
	}
	b.obj.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: add(have, rules...)}
	return b.ReplaceOnlyFailed()
}

// SuccessPolicy adds rules to spec.successPolicy.
func (b JobBuilder) SuccessPolicy(rules ...batchv1.SuccessPolicyRule) JobBuilder {
	var have []batchv1.SuccessPolicyRule
	if p := b.obj.Spec.SuccessPolicy; p != nil {
		have = p.Rules
	}
	b.obj.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: add(have, rules...)}
	return b
}

// RestartPolicy sets the restart policy of the pod template.
func (b JobBuilder) RestartPolicy(p corev1.RestartPolicy) JobBuilder {
	b.obj.Spec.Template.Spec.RestartPolicy = p
	return b
}

// Command sets the command of the pod template's first container.
func (b JobBuilder) Command(command ...string) JobBuilder {
	b.obj.Spec.Template.Spec.Containers = slices.Clone(b.obj.Spec.Template.Spec.Containers)
	b.obj.Spec.Template.Spec.Containers[0].Command = command
	return b
}

// TemplateLabel adds a label to the pod template.
func (b JobBuilder) TemplateLabel(key, value string) JobBuilder {
	b.obj.Spec.Template.Labels = with(b.obj.Spec.Template.Labels, key, value)
	return b
}

// TemplateAnnotation adds an annotation to the pod template.
func (b JobBuilder) TemplateAnnotation(key, value string) JobBuilder {
	b.obj.Spec.Template.Annotations = with(b.obj.Spec.Template.Annotations, key, value)
	return b
}

// Started sets status.startTime.
func (b JobBuilder) Started(t time.Time) JobBuilder {
	b.obj.Status.StartTime = at(t)
	return b
}

// Condition adds a condition that changed at t.
func (b JobBuilder) Condition(typ batchv1.JobConditionType, status corev1.ConditionStatus, reason string, t time.Time) JobBuilder {
	b.obj.Status.Conditions = add(b.obj.Status.Conditions, batchv1.JobCondition{
		Type: typ, Status: status, Reason: reason,
		LastProbeTime: metav1.NewTime(t), LastTransitionTime: metav1.NewTime(t),
	})
	return b
}

// Complete ends the Job successfully at t, with the conditions and times that the API
// server asks for.
func (b JobBuilder) Complete(t time.Time) JobBuilder {
	if b.obj.Status.StartTime == nil {
		b = b.Started(b.obj.CreationTimestamp.Time)
	}
	b.obj.Status.CompletionTime = at(t)
	return b.Condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached, t).
		Condition(batchv1.JobComplete, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached, t)
}

// Failed ends the Job with a failure at t, for a reason such as
// batchv1.JobReasonBackoffLimitExceeded, with the conditions and times that the API
// server asks for.
func (b JobBuilder) Failed(t time.Time, reason string) JobBuilder {
	if b.obj.Status.StartTime == nil {
		b = b.Started(b.obj.CreationTimestamp.Time)
	}
	return b.Condition(batchv1.JobFailureTarget, corev1.ConditionTrue, reason, t).
		Condition(batchv1.JobFailed, corev1.ConditionTrue, reason, t)
}

// Counts sets status.active, succeeded and failed.
func (b JobBuilder) Counts(active, succeeded, failed int32) JobBuilder {
	b.obj.Status.Active, b.obj.Status.Succeeded, b.obj.Status.Failed = active, succeeded, failed
	return b
}

// Ready sets status.ready.
func (b JobBuilder) Ready(n int32) JobBuilder {
	b.obj.Status.Ready = &n
	return b
}

// Terminating sets status.terminating.
func (b JobBuilder) Terminating(n int32) JobBuilder {
	b.obj.Status.Terminating = &n
	return b
}

// CompletedIndexes sets status.completedIndexes.
func (b JobBuilder) CompletedIndexes(text string) JobBuilder {
	b.obj.Status.CompletedIndexes = text
	return b
}

// FailedIndexes sets status.failedIndexes.
func (b JobBuilder) FailedIndexes(text string) JobBuilder {
	b.obj.Status.FailedIndexes = &text
	return b
}

// Uncounted sets status.uncountedTerminatedPods.
func (b JobBuilder) Uncounted(succeeded, failed []types.UID) JobBuilder {
	b.obj.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{
		Succeeded: slices.Clone(succeeded),
		Failed:    slices.Clone(failed),
	}
	return b
}
