// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A trimmed pod leads to the same decisions as the whole one.
func TestTrimmedPodsDecideAlike(t *testing.T) {
	code := batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		ContainerName: ptr.To("main"), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{7},
	}}
	jobs := map[string]make.JobBuilder{
		"plain":          make.Job(ns, "j").Parallelism(3).Completions(5).Started(start),
		"scaled down":    make.Job(ns, "j").Parallelism(1).Completions(5).Started(start),
		"indexed":        make.Job(ns, "j").Indexed(5).Parallelism(3).BackoffLimitPerIndex(1).Started(start),
		"failure policy": make.Job(ns, "j").Parallelism(3).Completions(5).FailurePolicy(code).Started(start),
		"on failure":     make.Job(ns, "j").Parallelism(3).Completions(5).BackoffLimit(3).RestartPolicy(corev1.RestartPolicyOnFailure).Started(start),
	}
	for name, b := range jobs {
		t.Run(name, func(t *testing.T) {
			j := b.Obj()
			sidecar := make.Pod(ns, "sidecar").Of(j).Index(3).Node("n").Running("main", start).InitExited("side", 0, start.Add(time.Second)).Obj()
			sidecar.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "x", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Env: []corev1.EnvVar{{Name: "A"}}}}
			sidecar.Status.InitContainerStatuses[0].RestartCount = 2
			pods := []*corev1.Pod{
				make.Pod(ns, "ready").Of(j).Index(0).Node("n").Ready(start).Running("main", start).Obj(),
				make.Pod(ns, "failed").Of(j).Index(1).Node("n").Failed(start, 7).Exited("main", 7, start.Add(3*time.Second)).Obj(),
				make.Pod(ns, "pending").Of(j).Index(2).Obj(),
				make.Pod(ns, "going").Of(j).Index(4).Node("n").Running("main", start).Deleted(start).Obj(),
				sidecar,
			}
			var trimmed []*corev1.Pod
			for _, pod := range pods {
				pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
				obj, err := TrimPod(pod.DeepCopy())
				must(t, err)
				trimmed = append(trimmed, obj.(*corev1.Pod))
			}
			decide := func(pods []*corev1.Pod) (job.Plan, job.StatusPlan) {
				plan := job.Decide(job.Snapshot{Job: j, Pods: pods, PodsCurrent: true, Now: start.Add(time.Minute), Options: job.Options{Standalone: true}})
				return plan, plan.PlanStatus(job.Results{})
			}
			plan, record := decide(pods)
			gotPlan, gotRecord := decide(trimmed)
			if diff := cmp.Diff(plan.Delete, gotPlan.Delete, cmp.AllowUnexported(job.Deletion{})); diff != "" {
				t.Errorf("deletions (-whole +trimmed):\n%s", diff)
			}
			if diff := cmp.Diff(plan.Create, gotPlan.Create); diff != "" {
				t.Errorf("creations (-whole +trimmed):\n%s", diff)
			}
			if diff := cmp.Diff(record, gotRecord); diff != "" {
				t.Errorf("record (-whole +trimmed):\n%s", diff)
			}
		})
	}
}

// What a cache can hold besides pods passes, whole or wrapped.
func TestTrimPassesOthers(t *testing.T) {
	j := make.Job(ns, "j").Obj()
	if got, err := TrimPod(j); err != nil || got != any(j) {
		t.Errorf("%v %v", got, err)
	}
	wrapped, err := TrimPod(toolscache.DeletedFinalStateUnknown{Key: "k", Obj: make.Pod(ns, "p").Obj()})
	if err != nil || len(wrapped.(toolscache.DeletedFinalStateUnknown).Obj.(*corev1.Pod).Spec.Containers) != 0 {
		t.Errorf("%v %v", wrapped, err)
	}
	if got, err := TrimPod(nil); err != nil || got != nil {
		t.Errorf("%v %v", got, err)
	}
}
