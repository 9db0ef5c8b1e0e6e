// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
)

// facts says what one sync does, a word per fact. Lists are sorted and joined by commas; "-" is nothing. Without a
// write the status is the stored one.
//
//	skip verdict adopt release      create: a number, or the indexes
//	delete (finalizer stays)        evict (finalizer first)
//	unfinalize cleanup              write: no, lazy, yes, end; urgency
//	  (pods as NAME, or as NAME@VERSION when the call names their version)
//	active ready term succ fail     usucc ufail: uncounted UIDs
//	conds                           start: none, now, kept; completion: none, now, other
//	completed failedidx             events wake action look
func factsOf(j *batchv1.Job, p Plan, r StatusPlan) map[string]string {
	list := func(items []string) string {
		if len(items) == 0 {
			return "-"
		}
		slices.Sort(items)
		return strings.Join(items, ",")
	}
	names := func(refs []PodRef) string {
		var items []string
		for _, ref := range refs {
			if ref.ResourceVersion != "" {
				ref.Name += "@" + ref.ResourceVersion
			}
			items = append(items, ref.Name)
		}
		return list(items)
	}
	uids := func(uids []types.UID) string {
		var items []string
		for _, uid := range uids {
			items = append(items, string(uid))
		}
		return list(items)
	}
	f := map[string]string{
		"skip": or(string(p.Skip), "-"), "verdict": or(p.Verdict.Reason, "-"), "action": string(p.Action),
		"adopt": names(p.Claim.Adopt), "release": names(p.Claim.Release),
		"unfinalize": names(r.Unfinalize), "cleanup": names(p.Cleanup), "stale": strconv.FormatBool(p.RelistPods),
	}
	var deleted, evicted, events []string
	for _, d := range p.Delete {
		if d.Unfinalize {
			evicted = append(evicted, d.Name)
		} else {
			deleted = append(deleted, d.Name)
		}
	}
	f["delete"], f["evict"] = list(deleted), list(evicted)
	f["create"] = strconv.Itoa(len(p.Create))
	if CompletionMode(j) == batchv1.IndexedCompletion {
		var indexes []string
		for _, c := range p.Create {
			indexes = append(indexes, strconv.Itoa(c.Index))
		}
		f["create"] = or(strings.Join(indexes, ","), "-")
	}
	for _, list := range [][]Event{p.Events, r.Events, r.Write.Events} {
		for _, n := range list {
			events = append(events, n.Reason)
		}
	}
	f["events"] = or(strings.Join(events, ","), "-")
	f["wake"] = "-"
	if wake := Earlier(p.Wake, r.Wake); !wake.IsZero() {
		f["wake"] = wake.Sub(now).String()
	}
	status := &j.Status
	f["urgency"] = or(string(r.Write.Urgency), "-")
	switch w := r.Write; {
	case w.Status == nil:
		f["write"] = "no"
	case w.Finished:
		f["write"], status = "end", w.Status
	case w.Urgency == UrgencyLazy:
		f["write"], status = "lazy", w.Status
	default:
		f["write"], status = "yes", w.Status
	}
	f["active"] = strconv.Itoa(int(status.Active))
	f["ready"] = strconv.Itoa(int(deref32(status.Ready)))
	f["term"] = strconv.Itoa(int(deref32(status.Terminating)))
	f["succ"] = strconv.Itoa(int(status.Succeeded))
	f["fail"] = strconv.Itoa(int(status.Failed))
	f["usucc"], f["ufail"] = "nil", "nil"
	if u := status.UncountedTerminatedPods; u != nil {
		f["usucc"], f["ufail"] = uids(u.Succeeded), uids(u.Failed)
	}
	var conditions []string
	for _, c := range status.Conditions {
		text := string(c.Type) + ":" + c.Reason
		if c.Status != corev1.ConditionTrue {
			text = string(c.Type) + "=" + string(c.Status)
		}
		conditions = append(conditions, text)
	}
	f["conds"] = or(strings.Join(conditions, ","), "-")
	switch {
	case status.StartTime == nil:
		f["start"] = "none"
	case status.StartTime.Time.Equal(now):
		f["start"] = "now"
	default:
		f["start"] = "kept"
	}
	switch {
	case status.CompletionTime == nil:
		f["completion"] = "none"
	case status.CompletionTime.Time.Equal(now):
		f["completion"] = "now"
	default:
		f["completion"] = "other"
	}
	f["completed"] = or(status.CompletedIndexes, "-")
	f["failedidx"] = "nil"
	if status.FailedIndexes != nil {
		f["failedidx"] = or(*status.FailedIndexes, "-")
	}
	return f
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// One sync: a Job, its pods, and what has to happen. Only the facts that want names are compared. Every write is
// checked against the API server's rules.
type syncTest struct {
	job          *batchv1.Job
	pods         []*corev1.Pod
	expectations Expectations
	options      Options
	stale        bool // the pods may be older than the Job
	mishaps      mishaps
	want         string
}

func runSyncs(t *testing.T, tests map[string]syncTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.job.DeepCopy()
			options := test.options
			options.Standalone = true
			plan := Decide(Snapshot{Job: test.job, Pods: test.pods, Now: now, Expectations: test.expectations, Options: options, PodsCurrent: !test.stale})
			record := plan.PlanStatus(test.mishaps.carryOut(plan))
			got := factsOf(test.job, plan, record)
			for word := range strings.FieldsSeq(test.want) {
				key, want, _ := strings.Cut(word, "=")
				if have, ok := got[key]; !ok || have != want {
					t.Errorf("%s is %q, want %q", key, have, want)
				}
			}
			if record.Write.Status != nil {
				after := before.DeepCopy()
				after.Status = *record.Write.Status
				for _, v := range CheckStatus(before, after) {
					t.Errorf("the write breaks %s", v)
				}
			}
			if d := cmp.Diff(before, test.job); d != "" {
				t.Errorf("the snapshot was changed (-before +after):\n%s", d)
			}
			if wake := Earlier(plan.Wake, record.Wake); !wake.IsZero() && !wake.After(now) {
				t.Errorf("wake-up at %s is not in the future", wake)
			}
			if t.Failed() {
				t.Logf("the sync:\n%s", textOf(plan, record))
			}
		})
	}
}

func creating(names ...string) Expectations {
	m := Expectations{Creating: map[string]time.Time{}}
	for _, n := range names {
		m.Creating[n] = now.Add(-time.Second)
	}
	return m
}

// 10.1 of the contract: start, parallelism, completion.
func TestOneSyncStartsAndCompletes(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-001 first sync starts as many pods as may run": {
			job:  aJob("p2 c5"),
			want: "create=2 active=2 ready=0 term=0 succ=0 fail=0 start=now usucc=- ufail=- conds=- write=yes events=SuccessfulCreate,SuccessfulCreate action=pods_created",
		},
		"JOB-002 a work queue starts parallelism pods": {
			job: aJob("p5 c-"), want: "create=5 active=5 conds=-",
		},
		"JOB-004 enough pods run": {
			job: aJob("p3 c5", started(time.Minute)), pods: somePods("a ready", "b ready", "c running"),
			want: "create=0 delete=- evict=- unfinalize=- active=3 ready=2 action=tracking",
		},
		"JOB-005 one of two succeeded": {
			job: aJob("p2 c5", started(time.Minute)), pods: somePods("a running", "b succeeded"),
			want: "create=1 unfinalize=b active=2 usucc=b succ=0 conds=-",
		},
		"JOB-006 surplus pods go without counting": {
			job: aJob("p2 c5", started(time.Minute)), pods: numbered(10, "p", "running"),
			want: "create=0 delete=- evict=p2,p3,p4,p5,p6,p7,p8,p9 active=2 term=8 fail=0 unfinalize=- action=pods_deleted",
		},
		"JOB-007 remaining completions bound the pods": {
			job: aJob("p3 c4", started(time.Minute)), pods: somePods("a ready", "b ready", "c running", "d succeeded", "e succeeded"),
			want: "evict=c active=2 unfinalize=d,e usucc=d,e",
		},
		"JOB-008 a work queue with a success starts no more": {
			job: aJob("p2 c-", started(time.Minute)), pods: somePods("a running", "b succeeded"),
			want: "create=0 active=1 usucc=b conds=-",
		},
		"JOB-009 a work queue ends with the last pod": {
			job: aJob("p2 c-", started(time.Minute)), pods: somePods("a succeeded", "b failed"),
			want: "write=end succ=1 fail=1 conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached unfinalize=a,b events=Completed",
		},
		"JOB-011 five successes end the Job in one write (OPT-01)": {
			job: aJob("p2 c5", started(time.Minute)), pods: numbered(5, "p", "succeeded"),
			want: "write=end succ=5 usucc=- ufail=- completion=now conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached unfinalize=p0,p1,p2,p3,p4 events=Completed wake=-",
		},
		"JOB-012 a sync creates no more than its limit": {
			job: aJob("p54 c56"), options: Options{MaxPodChanges: 10}, want: "create=10 active=10",
		},
		"JOB-012 a sync deletes no more than its limit": {
			job: aJob("p2 c56", started(time.Minute)), pods: numbered(30, "p", "running"), options: Options{MaxPodChanges: 10},
			want: "create=0 active=20 term=10",
		},
		"JOB-013 parallelism of a work queue goes down": {
			job: aJob("p2 c- bl2", started(time.Minute)), pods: numbered(5, "p", "running"),
			want: "evict=p2,p3,p4 active=2 term=3 fail=0 conds=-",
		},
		"JOB-013 pods that scaling down removed do not count": {
			job: aJob("p4 c- bl2", started(time.Minute)), pods: somePods("a running", "b running", "c failed deleting -F", "d failed deleting -F", "e failed deleting -F"),
			want: "create=2 active=4 fail=0 conds=-",
		},
		"JOB-015 nothing to complete": {
			job: aJob("p1 c0"), want: "create=0 write=end start=now completion=now conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-016 whatever is not terminal is active": {
			job: aJob("p4 c4", started(time.Minute)), pods: somePods("a pending", "b unknown", "c nophase", "d running"),
			want: "create=0 active=4",
		},
		"JOB-017 no parallelism, first sync": {
			job: aJob("p0 c3"), want: "create=0 active=0 conds=- write=yes wake=-",
		},
		"JOB-017 no parallelism, second sync": {
			job: aJob("p0 c3", started(time.Minute)), want: "create=0 write=no wake=-",
		},
		"JOB-018 parallelism goes up": {
			job: aJob("p3 c3", started(time.Minute)), pods: somePods("a running"), want: "create=2 active=3",
		},
		"JOB-019 unknown completion mode": {
			job:  aJob("", func(j *batchv1.Job) { j.Spec.CompletionMode = ptr.To(batchv1.CompletionMode("Foo")) }),
			pods: somePods("a running"),
			want: "skip=unknown events=UnknownCompletionMode write=no create=0 delete=-",
		},
		"JOB-020 a finished Job": {
			job: aJob("", started(time.Minute), withCondition(batchv1.JobComplete, "True", "x")), pods: somePods("a succeeded -F"),
			want: "skip=finished write=no cleanup=- wake=-",
		},
		"JOB-022 Failed=False is overwritten, not doubled": {
			job:  aJob("ads10", started(time.Minute), withCondition(batchv1.JobFailed, "False", "x")),
			want: "write=end conds=Failed:DeadlineExceeded,FailureTarget:DeadlineExceeded",
		},
		"JOB-023 FailureTarget=False means nothing": {
			job: aJob("", started(time.Minute), withCondition(batchv1.JobFailureTarget, "False", "x")), pods: somePods("a running"),
			want: "delete=- active=1 conds=FailureTarget=False verdict=-",
		},
		"JOB-023 SuccessCriteriaMet=False means nothing": {
			job: aJob("", started(time.Minute), withCondition(batchv1.JobSuccessCriteriaMet, "False", "x")), pods: somePods("a running"),
			want: "delete=- active=1 conds=SuccessCriteriaMet=False verdict=-",
		},
		"JOB-024 FailureTarget=False becomes True in place (Q-08)": {
			job: aJob("bl0", started(time.Minute), withCondition(batchv1.JobFailureTarget, "False", "x")), pods: somePods("a failed"),
			want: "write=end fail=1 conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"an Indexed Job without completions is left alone": {
			job: aJob("indexed", func(j *batchv1.Job) { j.Spec.Completions = nil }), want: "skip=malformed write=no create=- events=MissingCompletions",
		},
		"too many successes are told": {
			job: aJob("p1 c1", started(time.Minute)), pods: somePods("a succeeded", "b succeeded"), want: "write=end succ=2 events=TooManySucceededPods,Completed",
		},
	})
}

// 10.2: who belongs to the Job.
func TestOneSyncClaimsPods(t *testing.T) {
	t.Parallel()
	deleting := func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(ago(time.Second)) }
	runSyncs(t, map[string]syncTest{
		"JOB-039 an orphan that matches is adopted and counts": {
			job: aJob("p2 c2", started(time.Minute)), pods: func() []*corev1.Pod {
				pods := somePods("a running orphan", "b running")
				pods[0].ResourceVersion = "7"
				return pods
			}(), want: "adopt=a@7 create=0 active=2",
		},
		"JOB-040 an owned pod that does not match is released and replaced": {
			job: aJob("p2 c2", started(time.Minute)), pods: somePods("a running stranger", "b running"), want: "release=a create=1 active=2",
		},
		"JOB-041 a Job that is being deleted adopts nothing": {
			job: aJob("", deleting), pods: somePods("a running orphan"), want: "adopt=- active=0",
		},
		"a Job that is being deleted releases nothing": {
			job: aJob("", deleting), pods: somePods("a running stranger"), want: "release=- active=0 cleanup=a",
		},
		"but its pods that do not match lose the finalizer, once, uncounted": {
			job: aJob("p2 c2", deleting), pods: somePods("a succeeded stranger", "b failed stranger", "c running stranger -F"), expectations: Expectations{Unfinalizing: sets.New[types.UID]("b")},
			want: "release=- cleanup=a unfinalize=- usucc=- ufail=-",
		},
		"JOB-043 a pod that is being deleted is not adopted": {
			job: aJob(""), pods: somePods("a running orphan deleting"), want: "adopt=- create=1",
		},
		"an orphan that this process has counted is not adopted again": {
			job: aJob("p2 c2", started(time.Minute)), pods: somePods("a succeeded orphan"), expectations: Expectations{Unfinalizing: sets.New[types.UID]("a")}, want: "adopt=- create=2 usucc=-",
		},
		"JOB-044 all orphans in one claim": {
			job: aJob("p3 c3"), pods: somePods("a orphan", "b orphan", "c orphan"), want: "adopt=a,b,c create=0 active=3",
		},
		"JOB-045 pods of others are ignored": {
			job: aJob(""), pods: somePods("a running foreign", "b succeeded foreign"), want: "adopt=- create=1 active=1 unfinalize=-",
		},
		"JOB-046 an owned pod without finalizer counts as active": {
			job: aJob("", started(time.Minute)), pods: somePods("a running -F"), want: "create=0 active=1",
		},
		"JOB-046 and not as succeeded": {
			job: aJob("", started(time.Minute)), pods: somePods("a succeeded -F"), want: "create=1 succ=0 usucc=- unfinalize=-",
		},
		"an adopted pod that succeeded is counted": {
			job: aJob("", started(time.Minute)), pods: somePods("a succeeded orphan"), want: "adopt=a write=end succ=1 unfinalize=a",
		},
		"a pod of another namespace is ignored": {
			job: aJob(""), pods: func() []*corev1.Pod { p := aPod("a running"); p.Namespace = "x"; return []*corev1.Pod{p, nil} }(), want: "create=1",
		},
		"a selector that cannot be read releases nothing": {
			job: aJob("", func(j *batchv1.Job) { j.Spec.Selector = nil }), pods: somePods("a running", "b orphan"), want: "release=- adopt=- active=1",
		},
	})
}
