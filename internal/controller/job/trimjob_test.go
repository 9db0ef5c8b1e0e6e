// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// A Job keeps its template exactly as long as the Job controller may make Pods from it, and whatever of a Job is
// trimmed, the decision over it stays the same.
func TestTrimJob(t *testing.T) {
	finished := make.Job(ns, "j").Completions(1).Started(start).Obj()
	finished.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	foreign := make.Job(ns, "j").Obj()
	foreign.Spec.ManagedBy = new("acme.io/jobs")
	ours := make.Job(ns, "j").Obj()
	ours.Spec.ManagedBy = new(Options{}.withDefaults().ManagedBy)
	suspended := make.Job(ns, "j").Obj()
	suspended.Spec.Suspend = new(true)
	cluster, standalone := &Options{}, &Options{Standalone: true}
	for name, c := range map[string]struct {
		job     *batchv1.Job
		options *Options
		kept    bool
	}{
		"one that is to run":                      {make.Job(ns, "j").Obj(), standalone, true},
		"a suspended one":                         {suspended, standalone, true},
		"a finished one":                          {finished, standalone, false},
		"another controller's":                    {foreign, standalone, false},
		"the cluster's, on a cluster":             {make.Job(ns, "j").Obj(), cluster, false},
		"one that names us, on a cluster":         {ours, cluster, true},
		"one that names us, but nobody is there":  {ours, nil, false},
		"the cluster's, with no controller there": {make.Job(ns, "j").Obj(), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			whole := c.job.DeepCopy()
			whole.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
			got, err := TrimJob(c.options)(toolscache.DeletedFinalStateUnknown{Key: "k", Obj: whole.DeepCopy()})
			must(t, err)
			trimmed := got.(toolscache.DeletedFinalStateUnknown).Obj.(*batchv1.Job)
			if kept := len(trimmed.Spec.Template.Spec.Containers) > 0; kept != c.kept || len(trimmed.ManagedFields) > 0 {
				t.Errorf("template kept: %v, managed fields: %v", kept, trimmed.ManagedFields)
			}
			decide := func(j *batchv1.Job) job.Plan {
				options := c.options
				if options == nil {
					options = cluster
				}
				return job.Decide(job.Snapshot{Job: j, PodsCurrent: true, Now: start.Add(time.Minute), Options: options.withDefaults().rules()})
			}
			if c.options == nil {
				return // nothing decides
			}
			want, plan := decide(whole), decide(trimmed)
			if want.Skip != plan.Skip || len(want.Create) != len(plan.Create) || !c.kept && len(plan.Create) > 0 {
				t.Errorf("skipped %v with %d Pods to make, from the whole Job %v with %d", plan.Skip, len(plan.Create), want.Skip, len(want.Create))
			}
		})
	}
	if got, err := TrimJob(nil)("garbage"); got != "garbage" || err != nil {
		t.Errorf("%v %v", got, err)
	}
}
