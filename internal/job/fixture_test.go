// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/testkit/make"
)

// now is the instant of all one-sync tests.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// aJob reads the shorthand of the contract: p2 c5 bl6 blpi1 max1 ads10 indexed suspend onfailure prp=Failed deleting,
// and c- for a work queue. Defaults are those of the API server.
func aJob(shorthand string, edits ...func(*batchv1.Job)) *batchv1.Job {
	b := make.Job("ns", "job").UID("job-uid").ResourceVersion("1").Created(now.Add(-time.Hour))
	indexed, limit := false, (*int32)(nil)
	for word := range strings.FieldsSeq(shorthand) {
		name := strings.TrimRight(word, "-0123456789")
		number := func() int32 {
			n, err := strconv.Atoi(strings.TrimPrefix(word, name))
			if err != nil {
				panic("shorthand " + word)
			}
			return int32(n)
		}
		switch {
		case word == "c-":
			b = b.WorkQueue()
		case word == "prp=Failed":
			b = b.ReplaceOnlyFailed()
		case word == "prp=TerminatingOrFailed":
		case name == "p":
			b = b.Parallelism(number())
		case name == "c":
			b = b.Completions(number())
		case name == "bl":
			limit = ptr.To(number())
		case name == "blpi":
			b = b.BackoffLimitPerIndex(number())
		case name == "max":
			b = b.MaxFailedIndexes(number())
		case name == "ads":
			b = b.ActiveDeadline(int64(number()))
		case word == "indexed":
			indexed = true
		case word == "suspend":
			b = b.Suspend(true)
		case word == "onfailure":
			b = b.RestartPolicy(corev1.RestartPolicyOnFailure)
		case word == "deleting":
			b = b.Deleted(now.Add(-time.Second))
		default:
			panic("shorthand " + word)
		}
	}
	if limit != nil {
		b = b.BackoffLimit(*limit)
	}
	j := b.Obj()
	if indexed {
		j.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

// started gives the Job the status of one that runs since a while.
func started(since time.Duration) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.StartTime = ptr.To(ago(since))
		j.Status.Ready, j.Status.Terminating = ptr.To[int32](0), ptr.To[int32](0)
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
}

// counted sets the counters; uncounted the recorded UIDs.
func counted(succeeded, failed int32) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Status.Succeeded, j.Status.Failed = succeeded, failed }
}

func uncounted(succeeded, failed string) func(*batchv1.Job) {
	uids := func(s string) (list []types.UID) {
		for f := range strings.FieldsSeq(s) {
			list = append(list, types.UID(f))
		}
		return list
	}
	return func(j *batchv1.Job) {
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: uids(succeeded), Failed: uids(failed)}
	}
}

func withCondition(kind batchv1.JobConditionType, status corev1.ConditionStatus, reason string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: status, Reason: reason, Message: "as stored"})
	}
}

func indexesDone(completed, failed string) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.CompletedIndexes = completed
		if j.Spec.BackoffLimitPerIndex != nil {
			j.Status.FailedIndexes = ptr.To(failed)
		}
	}
}

func failurePolicy(rules ...batchv1.PodFailurePolicyRule) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules} }
}

func onExit(action batchv1.PodFailurePolicyAction, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: codes}}
}

func onCondition(action batchv1.PodFailurePolicyAction, kind corev1.PodConditionType, status corev1.ConditionStatus) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: kind, Status: status}}}
}

func successPolicy(rules ...batchv1.SuccessPolicyRule) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: rules} }
}

// aPod reads: NAME [pending|running|ready|unknown|succeeded|failed|nophase] [deleting] [unscheduled] [-F] [orphan]
// [foreign] [stranger] [i0] [fc1] [ic1] [exit3] [restarts2] [initrestarts2] [end10] (seconds ago) [age60]. The UID is
// the name. A pod belongs to the Job of aJob and holds the finalizer unless it says otherwise.
func aPod(shorthand string) *corev1.Pod {
	words := strings.Fields(shorthand)
	pod := make.Pod("ns", words[0]).UID(types.UID(words[0])).ResourceVersion("").Created(now.Add(-10 * time.Minute)).
		Of(aJob("")).Node("node").Phase(corev1.PodRunning).Obj()
	pod.Annotations = map[string]string{}
	end, code := 9*time.Minute, int32(0)
	restarts, initRestarts := int32(0), int32(0)
	for _, word := range words[1:] {
		name := strings.TrimRight(word, "0123456789")
		number := func() int {
			n, err := strconv.Atoi(strings.TrimPrefix(word, name))
			if err != nil {
				panic("shorthand " + word)
			}
			return n
		}
		switch {
		case word == "pending":
			pod.Status.Phase = corev1.PodPending
		case word == "running":
		case word == "ready":
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Minute)})
		case word == "unknown":
			pod.Status.Phase = corev1.PodUnknown
		case word == "nophase":
			pod.Status.Phase = ""
		case word == "succeeded":
			pod.Status.Phase = corev1.PodSucceeded
		case word == "failed":
			pod.Status.Phase, code = corev1.PodFailed, max(code, 1)
		case word == "deleting":
			pod.DeletionTimestamp = ptr.To(ago(time.Second))
		case word == "unscheduled":
			pod.Spec.NodeName = ""
			pod.Status.Phase = corev1.PodPending
		case word == "-F":
			pod.Finalizers = nil
		case word == "orphan":
			pod.OwnerReferences, pod.Finalizers = nil, nil
		case word == "foreign":
			pod.OwnerReferences[0].UID = "other"
		case word == "stranger":
			pod.Labels = map[string]string{batchv1.ControllerUidLabel: "nobody"}
		case strings.HasPrefix(word, "fc"):
			pod.Annotations[failureCountKey] = word[2:]
		case strings.HasPrefix(word, "ic"):
			pod.Annotations[ignoredCountKey] = word[2:]
		case name == "exit":
			code = int32(number())
		case name == "restarts":
			restarts = int32(number())
		case name == "initrestarts":
			initRestarts = int32(number())
		case name == "end":
			end = time.Duration(number()) * time.Second
		case name == "age":
			pod.CreationTimestamp = ago(time.Duration(number()) * time.Second)
		case word[0] == 'i':
			pod.Annotations[indexKey] = word[1:]
		default:
			panic("shorthand " + word)
		}
	}
	main := corev1.ContainerStatus{Name: "main", RestartCount: restarts}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		main.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: ago(end)}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{main}
	if initRestarts > 0 {
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: initRestarts}}
	}
	return pod
}

func somePods(shorthands ...string) (pods []*corev1.Pod) {
	for _, s := range shorthands {
		pods = append(pods, aPod(s))
	}
	return pods
}

// numbered makes n pods NAME-0, NAME-1, … of one shorthand; "iN" stands for their own number as index.
func numbered(n int, name, rest string) (pods []*corev1.Pod) {
	for i := range n {
		pods = append(pods, aPod(fmt.Sprintf("%s%d %s", name, i, strings.ReplaceAll(rest, "iN", fmt.Sprintf("i%d", i)))))
	}
	return pods
}

// mishaps are the calls of a sync that go wrong; everything else succeeds.
type mishaps struct {
	deletes sets.Set[string]
	// createUpTo: this many creations succeed, the rest gets this outcome.
	creates    CreateOutcome
	createUpTo int
}

// carryOut pretends to carry out the pod part of a plan.
func (m mishaps) carryOut(p Plan) Results {
	var r Results
	for _, d := range p.Delete {
		if m.deletes.Has(d.Name) {
			r.Delete = append(r.Delete, DeleteResult{Outcome: DeleteFailed, Message: "refused"})
		} else {
			r.Delete = append(r.Delete, DeleteResult{Outcome: Deleted})
		}
	}
	for i := range p.Create {
		if m.creates != NotCreated && i >= m.createUpTo {
			r.Create = append(r.Create, CreateResult{Outcome: m.creates, Message: "refused"})
		} else {
			r.Create = append(r.Create, CreateResult{Outcome: Created})
		}
	}
	return r
}

var suffix = regexp.MustCompile(`\b(job-(?:\d+-)?)[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// textOf is what a sync does, as text, with the random-looking part of pod names hidden.
func textOf(p Plan, r StatusPlan) string {
	return suffix.ReplaceAllString(p.String()+r.String(), "$1*")
}

func deref32(p *int32) int32 { return ptr.Deref(p, -1) }
