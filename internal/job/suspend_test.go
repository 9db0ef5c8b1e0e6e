// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// JOB-178 to JOB-181: what users may change of the template while the Job is suspended is in the pods that are made
// afterwards, and none is made before the old ones are gone where only failed pods are replaced. The API server allows
// the change when no pod is active and the Job either never started or says that it is suspended: that moment comes.
func TestTemplateOfASuspendedJob(t *testing.T) {
	t.Parallel()
	cores := resource.MustParse("2")
	resources := func(spec *corev1.PodSpec) {
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: cores}
	}
	node := func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"zone": "b"} }
	tolerations := func(spec *corev1.PodSpec) { spec.Tolerations = []corev1.Toleration{{Key: "spot"}} }
	tests := map[string]struct {
		job    string
		before []func(*world) // until the template is changed
		change func(*corev1.PodSpec)
		with   bool // the change and the resumption are one edit
		unseen bool // the controller has not seen the Job when it is changed
	}{
		"JOB-178 node selector, with the resumption":     {"p2 c2 suspend", nil, node, true, false},
		"JOB-179 resources, never started":               {"p2 c2 suspend", nil, resources, false, false},
		"JOB-179 resources, started before":              {"p2 c2", []func(*world){startAll, suspend(true), finishDeletions}, resources, false, false},
		"JOB-179 resources, a pod of two ended before":   {"p2 c3", []func(*world){startAll, endNth(0, 0), suspend(true), finishDeletions}, resources, false, false},
		"JOB-180 tolerations, before anybody saw it":     {"p2 c2 suspend", nil, tolerations, false, true},
		"JOB-181 resources, only failed pods replaced":   {"p2 c2 prp=Failed", []func(*world){startAll, suspend(true)}, resources, false, false},
		"JOB-181 node, replaced, resumed at the instant": {"p2 c2 prp=Failed", []func(*world){startAll, suspend(true)}, node, true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(aJob(test.job))
			if !test.unseen {
				w.settle(time.Hour)
			}
			for _, step := range test.before {
				step(w)
				w.settle(time.Hour)
			}
			s := &w.job.Status
			if s.Active != 0 || s.StartTime != nil && !hasTrue(s.Conditions, batchv1.JobSuspended) || !test.unseen && s.StartTime != nil {
				t.Fatalf("the API server would not take a change now: %s", statusText(s))
			}
			old := len(w.order)
			w.edit(func(j *batchv1.Job) {
				test.change(&j.Spec.Template.Spec)
				if test.with {
					j.Spec.Suspend = ptr.To(false)
				}
			})
			w.settle(time.Hour)
			suspend(false)(w)
			w.settle(time.Hour)
			if replacesOnlyFailed(w.job) {
				if len(w.order) != old {
					t.Fatal("a pod was made while the old ones were still there")
				}
				w.finishDeletions()
				w.settle(time.Hour)
			}
			if len(w.order) != old+2 || w.job.Status.StartTime == nil || len(w.broken) > 0 {
				t.Fatalf("%d pods more, start %v, broken %v", len(w.order)-old, w.job.Status.StartTime, w.broken)
			}
			for _, uid := range w.order[old:] {
				if d := cmp.Diff(w.job.Spec.Template.Spec.NodeSelector, w.pods[uid].Spec.NodeSelector); d != "" {
					t.Errorf("node selector of a new pod:\n%s", d)
				}
				if d := cmp.Diff(w.job.Spec.Template.Spec.Tolerations, w.pods[uid].Spec.Tolerations); d != "" {
					t.Errorf("tolerations of a new pod:\n%s", d)
				}
				if d := cmp.Diff(w.job.Spec.Template.Spec.Containers[0].Resources, w.pods[uid].Spec.Containers[0].Resources); d != "" {
					t.Errorf("resources of a new pod:\n%s", d)
				}
			}
		})
	}
}
