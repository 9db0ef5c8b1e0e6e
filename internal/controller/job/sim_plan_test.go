// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/testkit/make"
	"github.com/carillon-dev/carillon/internal/testkit/sim"
)

// simPlan is everything that is out of the ordinary in a world. It is drawn
// before the world begins, so that rapid can take away from it what a failure
// does not need.
type simPlan struct {
	dice sim.Dice
	// cluster: there is another Job controller, and only Jobs that name ours are ours.
	cluster bool
	pace    int // of requests and caches: 0 quick, 1 as in a busy cluster, 2 slow
	// small: one sync may create or delete two pods at most, and record two.
	small   bool
	jobs    []simJob
	edits   []simEdit
	mishaps []simMishap
	upsets  []simUpset
}

// simJob is a Job and how its pods fare.
type simJob struct {
	obj *batchv1.Job
	// quiet: its pods succeed and nobody touches it.
	quiet bool
	// fails, hangs and doom are how many of a hundred pods do, or suffer, that.
	fails, hangs, doom int
	// runs is how long pods run at most.
	runs time.Duration
	// created is when a user makes it.
	created time.Duration
}

// simEdit is something that a user does.
type simEdit struct {
	at   time.Duration
	job  int
	what string
	arg  int
}

var simEdits = []string{
	"parallelism", "resize", "suspend", "resume", "delete", "delete a pod", "kill a pod", "recreate", "unlabel a pod", "relabel a pod",
	"orphan a pod", "free a pod", "deadline", "backoffLimit", "annotate", "annotate a pod",
}

// simMishap befalls some requests in a row.
type simMishap struct {
	from, count int
	what        sim.Mishap
}

// simUpset befalls a process or a machine.
type simUpset struct {
	at, lasts time.Duration
	what      string
}

var simUpsets = []string{
	"no pods seen", "no Jobs seen", "nothing seen", "crash", "handover", "two leaders", "standstill", "standstill and takeover",
	"clock forward", "clock back", "relist",
}

// storm is how long things go wrong in a world; then it has to come to rest.
const storm = 4 * time.Minute

// exit codes with a meaning for the pod failure policies drawn here.
const (
	exitFails, exitIgnore, exitFailJob, exitFailIndex = 1, 42, 3, 7
)

func drawPlan(t *rapid.T) simPlan {
	within := func(most time.Duration, label string) time.Duration {
		return time.Duration(rapid.IntRange(0, int(most/time.Millisecond)).Draw(t, label)) * time.Millisecond
	}
	p := simPlan{dice: sim.Dice(rapid.Uint64().Draw(t, "dice")), pace: rapid.IntRange(0, 2).Draw(t, "pace")}
	p.cluster = rapid.IntRange(0, 3).Draw(t, "cluster") == 3
	p.small = rapid.Bool().Draw(t, "small")
	for i := range rapid.IntRange(2, 6).Draw(t, "Jobs") {
		p.jobs = append(p.jobs, drawJob(t, fmt.Sprintf("j%d", i+1), p.cluster, within))
	}
	for range rapid.IntRange(0, 8).Draw(t, "edits") {
		p.edits = append(p.edits, simEdit{
			at: within(storm-30*time.Second, "at"), job: rapid.IntRange(0, len(p.jobs)-1).Draw(t, "job"),
			what: rapid.SampledFrom(simEdits).Draw(t, "edit"), arg: rapid.IntRange(0, 5).Draw(t, "arg"),
		})
	}
	for range rapid.IntRange(0, 8).Draw(t, "mishaps") {
		p.mishaps = append(p.mishaps, simMishap{
			from: rapid.IntRange(1, 150).Draw(t, "from"), count: rapid.IntRange(1, 4).Draw(t, "count"),
			what: rapid.SampledFrom(sim.Mishaps()).Draw(t, "mishap"),
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "upsets") {
		p.upsets = append(p.upsets, simUpset{
			at: within(storm-time.Minute, "at"), lasts: within(time.Minute, "lasts"), what: rapid.SampledFrom(simUpsets).Draw(t, "upset"),
		})
	}
	return p
}

func drawJob(t *rapid.T, name string, cluster bool, within func(time.Duration, string) time.Duration) simJob {
	number := func(least, most int, label string) int32 { return int32(rapid.IntRange(least, most).Draw(t, label)) }
	often := func(n int, label string) bool { return rapid.IntRange(0, n-1).Draw(t, label) == n-1 } // 1 in n, or a little more
	j := simJob{created: within(20*time.Second, "created"), runs: within(40*time.Second, "runs")}
	b := make.Job(ns, name).Parallelism(number(1, 4, "parallelism")).Completions(number(1, 5, "completions"))
	if j.quiet = rapid.Bool().Draw(t, "quiet"); !j.quiet {
		j.fails = rapid.SampledFrom([]int{0, 20, 50, 90}).Draw(t, "fails")
		j.hangs = rapid.SampledFrom([]int{0, 0, 20}).Draw(t, "hangs")
		j.doom = rapid.SampledFrom([]int{0, 0, 15}).Draw(t, "doom")
		b = b.BackoffLimit(number(0, 6, "backoffLimit"))
	}
	if rapid.Bool().Draw(t, "one pod") {
		b = b.Parallelism(1).Completions(1)
	}
	switch rapid.IntRange(0, 4).Draw(t, "mode") {
	case 1, 2:
		completions := number(1, 5, "indexes")
		b = b.Indexed(completions)
		if rapid.Bool().Draw(t, "elastic") {
			b = b.Parallelism(completions)
		}
		if !j.quiet {
			if rapid.Bool().Draw(t, "per index") {
				b = b.BackoffLimitPerIndex(number(0, 2, "backoffLimitPerIndex"))
				if rapid.Bool().Draw(t, "most failed") {
					b = b.MaxFailedIndexes(number(0, int(completions), "maxFailedIndexes"))
				}
			}
			if often(3, "success policy") {
				b = b.SuccessPolicy(batchv1.SuccessPolicyRule{SucceededCount: new(number(1, int(completions), "succeededCount"))})
			}
		}
	case 3:
		if !j.quiet {
			b = b.WorkQueue()
		}
	}
	if rapid.Bool().Draw(t, "only failed") {
		b = b.ReplaceOnlyFailed()
	}
	if !j.quiet {
		perIndex := b.Obj().Spec.BackoffLimitPerIndex != nil
		switch rapid.IntRange(0, 4).Draw(t, "policy") {
		case 1:
			b = b.FailurePolicy(failurePolicy(perIndex)...)
		case 2:
			b = b.RestartPolicy(corev1.RestartPolicyOnFailure)
		}
		if often(4, "suspended") {
			b = b.Suspend(true)
		}
		if often(4, "deadline") {
			b = b.ActiveDeadline(int64(number(5, 200, "seconds")))
		}
	}
	if often(3, "ttl") {
		b = b.TTL(number(0, 60, "ttl seconds"))
	}
	manager := rapid.SampledFrom([]string{"", "", "", ManagedBy, ManagedBy, batchv1.JobControllerName, foreigner}).Draw(t, "managed by")
	if cluster && manager == "" {
		manager = ManagedBy
	}
	if manager != "" {
		b = b.ManagedBy(manager)
	}
	j.quiet = j.quiet && !foreign(manager, cluster)
	j.obj = b.New()
	return j
}

// foreign reports whether a Job that names this manager is somebody else's.
func foreign(manager string, cluster bool) bool {
	return manager == foreigner || cluster && manager != ManagedBy
}

// failurePolicy ignores, fails the Job, and fails the index, by exit code, and ignores disruptions.
func failurePolicy(perIndex bool) []batchv1.PodFailurePolicyRule {
	exits := func(action batchv1.PodFailurePolicyAction, code int32) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code},
		}}
	}
	rules := []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		exits(batchv1.PodFailurePolicyActionIgnore, exitIgnore),
		exits(batchv1.PodFailurePolicyActionFailJob, exitFailJob),
	}
	if perIndex {
		rules = append(rules, exits(batchv1.PodFailurePolicyActionFailIndex, exitFailIndex))
	}
	return rules
}

// String is the plan in words.
func (p simPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  dice %d, pace %d, cluster %t, small %t\n", p.dice, p.pace, p.cluster, p.small)
	for _, j := range p.jobs {
		fmt.Fprintf(&b, "  at %s Job %s, quiet %t, of 100 pods %d fail, %d hang, %d are doomed, running up to %s\n", j.created, j.obj.Name, j.quiet, j.fails, j.hangs, j.doom, j.runs)
	}
	for _, e := range p.edits {
		fmt.Fprintf(&b, "  at %s user: %s %d of %s\n", e.at, e.what, e.arg, p.jobs[e.job].obj.Name)
	}
	for _, m := range p.mishaps {
		fmt.Fprintf(&b, "  requests %d to %d: %s\n", m.from, m.from+m.count-1, m.what)
	}
	for _, u := range p.upsets {
		fmt.Fprintf(&b, "  at %s for %s: %s\n", u.at, u.lasts, u.what)
	}
	return b.String()
}
