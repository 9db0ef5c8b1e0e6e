// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package make_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A builder may be kept and branched from: what one branch adds does not show in the
// other, nor in what was built before.
func TestBranchesAreIndependent(t *testing.T) {
	base := make.Pod("batch", "p").Label("a", "1").Annotation("a", "1").Finalizer("f").
		Condition(corev1.PodScheduled, corev1.ConditionTrue, "", make.Created).Running("main", make.Created)
	before := base.Obj()

	left := base.Label("b", "l").Annotation("b", "l").Finalizer("l").Exited("main", 1, make.Created)
	right := base.Label("b", "r").Annotation("b", "r").Finalizer("r").
		Condition(corev1.PodReady, corev1.ConditionFalse, "", make.Created)
	left.Obj().Labels["c"] = "x"

	if diff := cmp.Diff(before, base.Obj()); diff != "" {
		t.Errorf("the base changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "l"}, left.Obj().Labels); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"f", "r"}, right.Obj().Finalizers); diff != "" {
		t.Errorf("right (-want +got):\n%s", diff)
	}
	if statuses := left.Obj().Status.ContainerStatuses; len(statuses) != 1 || statuses[0].State.Terminated == nil {
		t.Errorf("left has container statuses %v", statuses)
	}
}

// A Job selects the pods made for it, and controls them; a CronJob controls its Jobs.
func TestFamilies(t *testing.T) {
	cronJob := make.CronJob("batch", "tick").UID("cj-1").Obj()
	job := make.Job("batch", "tick-1").UID("j-1").Of(cronJob).Indexed(3).TemplateLabel("app", "x").Obj()
	pod := make.Pod("batch", "tick-1-0").Of(job).Index(0).Ready(make.Created).Obj()

	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("%v does not match %v", selector, pod.Labels)
	}
	if !metav1.IsControlledBy(job, cronJob) || !metav1.IsControlledBy(pod, job) {
		t.Errorf("owners: %v, %v", job.OwnerReferences, pod.OwnerReferences)
	}
	if pod.Labels["app"] != "x" || pod.Annotations[batchv1.JobCompletionIndexAnnotation] != "0" {
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	}
}

// New leaves out what the API server fills in, so that the object can be created.
func TestNewCanBeCreated(t *testing.T) {
	job := make.Job("batch", "j").Label("a", "1").Complete(make.Created.Add(time.Minute)).New()
	if job.UID != "" || job.ResourceVersion != "" || job.Spec.Selector != nil || job.Spec.Template.Labels != nil {
		t.Errorf("job = %v", job)
	}
	if diff := cmp.Diff(batchv1.JobStatus{}, job.Status); diff != "" {
		t.Errorf("status:\n%s", diff)
	}
	if job.Labels["a"] != "1" {
		t.Errorf("labels %v", job.Labels)
	}
	template := make.CronJob("batch", "c").Template(make.Job("batch", "j").Parallelism(4)).New().Spec.JobTemplate
	if *template.Spec.Parallelism != 4 || template.Spec.Selector != nil {
		t.Errorf("template = %v", template)
	}
}
