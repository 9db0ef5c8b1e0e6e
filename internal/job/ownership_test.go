// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// 10.13: whose Job it is.
func TestOneSyncLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	const ours = "carillon.dev/job-controller"
	by := func(name string) func(*batchv1.Job) { return func(j *batchv1.Job) { j.Spec.ManagedBy = &name } }
	none := func(*batchv1.Job) {}
	tests := map[string]struct {
		manager    func(*batchv1.Job)
		standalone bool
		mine       bool
	}{
		"JOB-331 standalone, nobody named":            {none, true, true},
		"JOB-331 standalone, the built-in controller": {by(batchv1.JobControllerName), true, true},
		"JOB-335 standalone, our name":                {by(ours), true, true},
		"JOB-330 standalone, somebody else":           {by("acme.io/jobs"), true, false},
		"JOB-330 managed, nobody named":               {none, false, false},
		"JOB-330 managed, the built-in controller":    {by(batchv1.JobControllerName), false, false},
		"JOB-335 managed, our name":                   {by(ours), false, true},
		"JOB-337 managed, other case":                 {by("carillon.dev/Job-controller"), false, false},
		"JOB-337 managed, a suffix":                   {by(ours + "2"), false, false},
		"JOB-337 managed, empty":                      {by(""), false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, shorthand := range []string{"", "suspend", "deleting", "bl0"} { // JOB-332: whatever its state
				j := aJob(shorthand, test.manager)
				p := Decide(Snapshot{Job: j, Pods: somePods("a failed", "b running orphan", "c running stranger"), Now: now, PodsCurrent: true, Options: Options{Standalone: test.standalone, ManagedBy: ours}})
				if mine := p.Skip != SkipNotOurs; mine != test.mine {
					t.Errorf("%q: ours is %t, want %t", shorthand, mine, test.mine)
				}
				if !test.mine && (len(p.Claim.Adopt)+len(p.Claim.Release)+len(p.Delete)+len(p.Create)+len(p.Cleanup)+len(p.Events) > 0 || p.PlanStatus(Results{}).Write.Status != nil) {
					t.Errorf("%q: touched: %s", shorthand, p)
				}
			}
		})
	}
	if IsOurs(aJob("", by("")), Options{}) {
		t.Error("without a name of ours an empty managedBy is nobody's, not ours")
	}
}

// JOB-100, JOB-334: whose finalizer serves nobody.
func TestOrphanedFinalizers(t *testing.T) {
	t.Parallel()
	finished := aJob("", withCondition(batchv1.JobComplete, "True", "x"))
	recreated := aJob("", func(j *batchv1.Job) { j.UID = "another" })
	foreign := aJob("", withCondition(batchv1.JobComplete, "True", "x"), func(j *batchv1.Job) { j.Spec.ManagedBy = ptr.To("acme.io/jobs") })
	owner := func(edit func(p *corev1.Pod)) *corev1.Pod { p := aPod("a failed"); edit(p); return p }
	tests := map[string]struct {
		pod  *corev1.Pod
		job  *batchv1.Job
		want bool
	}{
		"controlled by a running Job": {aPod("a failed"), aJob(""), false},
		"by a finished Job":           {aPod("a failed"), finished, true},
		"by a finished foreign Job":   {aPod("a failed"), foreign, false},
		"by a Job that is gone":       {aPod("a failed"), nil, true},
		"by the namesake of its Job":  {aPod("a failed"), recreated, true},
		"by a CronJob":                {owner(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "CronJob" }), nil, false},
		"by a Job of another API":     {owner(func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "batch.volcano.sh/v1alpha1" }), nil, false},
		"not controlled":              {owner(func(p *corev1.Pod) { p.OwnerReferences = nil }), nil, true},
		"owned but not controlled":    {owner(func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }), aJob(""), true},
		"without the finalizer":       {aPod("a failed -F"), nil, false},
		"nothing at all":              {nil, nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := HasLeftoverFinalizer(test.pod, test.job, Options{Standalone: true}); got != test.want {
				t.Errorf("orphaned is %t, want %t", got, test.want)
			}
		})
	}
}

// JOB-021 and S7: Jobs that are gone, or that we ended a moment ago.
func TestJobsThatNeedNothing(t *testing.T) {
	t.Parallel()
	if p := Decide(Snapshot{Now: now}); p.Skip != SkipGone || !p.Forget {
		t.Errorf("JOB-021: no Job: %s", p)
	}
	p := Decide(Snapshot{Job: aJob("p2 c2"), Pods: somePods("a failed"), Now: now, Expectations: Expectations{Finished: true}, Options: Options{Standalone: true}})
	if p.Skip != SkipJustFinished || p.Forget || len(p.Create) != 0 || p.PlanStatus(Results{}).Write.Status != nil || len(p.Cleanup) != 1 {
		t.Errorf("JOB-084: a Job that we ended, seen late: %s", p)
	}
}

// JOB-108: expectations is keyed by UID, so nothing of a Job's namesake matters; what is left of its pods is ignored.
func TestARecreatedJobStartsAfresh(t *testing.T) {
	t.Parallel()
	old := somePods("a failed", "b running")
	j := aJob("", func(j *batchv1.Job) { j.UID = types.UID("new-uid") })
	p := Decide(Snapshot{Job: j, Pods: old, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
	if len(p.Create) != 1 || len(p.Delete) != 0 || p.sync.failed != 0 {
		t.Errorf("the namesake's pods matter: %s", p)
	}
	if PodName("job", "new-uid", -1, 0) == PodName("job", "job-uid", -1, 0) {
		t.Error("both Jobs use the same names")
	}
}
