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

// facts says what one sync does, a word per fact. Lists are sorted and joined
// by commas; "-" is nothing. Without a write the status is the stored one.
//
//	skip verdict adopt release      create: a number, or the indexes
//	delete (finalizer stays)        evict (finalizer first)
//	unfinalize cleanup              write: no, lazy, yes, end
//	active ready term succ fail     usucc ufail: uncounted UIDs
//	conds                           start: none, now, kept; completion: none, now, other
//	completed failedidx             events wake action look
func factsOf(j *batchv1.Job, p Plan, r Record) map[string]string {
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
		"unfinalize": names(r.Unfinalize), "cleanup": names(p.Cleanup), "look": strconv.FormatBool(p.LookAgain),
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
	for _, notes := range [][]Note{p.Notes, r.Notes, r.Write.Notes} {
		for _, n := range notes {
			events = append(events, n.Reason)
		}
	}
	f["events"] = or(strings.Join(events, ","), "-")
	f["wake"] = "-"
	if wake := earlier(p.Wake, r.Wake); !wake.IsZero() {
		f["wake"] = wake.Sub(now).String()
	}
	status := &j.Status
	switch w := r.Write; {
	case w.Status == nil:
		f["write"] = "no"
	case w.Finished:
		f["write"], status = "end", w.Status
	case w.Lazy:
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

// One sync: a Job, its pods, and what has to happen. Only the facts that want
// names are compared. Every write is checked against the API server's rules.
type syncTest struct {
	job     *batchv1.Job
	pods    []*corev1.Pod
	memory  Memory
	options Options
	stale   bool // the pods may be older than the Job
	mishaps mishaps
	want    string
}

func runSyncs(t *testing.T, tests map[string]syncTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := test.job.DeepCopy()
			options := test.options
			options.Standalone = true
			plan := Decide(Snapshot{Job: test.job, Pods: test.pods, Now: now, Memory: test.memory, Options: options, PodsCurrent: !test.stale})
			record := plan.Record(test.mishaps.carryOut(plan))
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
			if wake := earlier(plan.Wake, record.Wake); !wake.IsZero() && !wake.After(now) {
				t.Errorf("wake-up at %s is not in the future", wake)
			}
			if t.Failed() {
				t.Logf("the sync:\n%s", told(plan, record))
			}
		})
	}
}

func creating(names ...string) Memory {
	m := Memory{Creating: map[string]time.Time{}}
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
			job: aJob("p2 c2", started(time.Minute)), pods: somePods("a running orphan", "b running"), want: "adopt=a create=0 active=2",
		},
		"JOB-040 an owned pod that does not match is released and replaced": {
			job: aJob("p2 c2", started(time.Minute)), pods: somePods("a running stranger", "b running"), want: "release=a create=1 active=2",
		},
		"JOB-041 a Job that is being deleted adopts nothing": {
			job: aJob("", deleting), pods: somePods("a running orphan"), want: "adopt=- active=0",
		},
		"a Job that is being deleted releases nothing": {
			job: aJob("", deleting), pods: somePods("a running stranger"), want: "release=- active=0",
		},
		"JOB-043 a pod that is being deleted is not adopted": {
			job: aJob(""), pods: somePods("a running orphan deleting"), want: "adopt=- create=1",
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

// 10.3: exactly once.
func TestOneSyncCountsPods(t *testing.T) {
	t.Parallel()
	inFlight := func(uids ...types.UID) Memory { return Memory{Unfinalizing: sets.New(uids...)} }
	runSyncs(t, map[string]syncTest{
		"JOB-061 finished pods are recorded before their finalizers go": {
			job: aJob("p6 c6", started(time.Minute)), pods: somePods("a succeeded", "b failed", "c succeeded", "d failed", "e pending deleting", "f pending", "g running"),
			want: "usucc=a,c ufail=b,d,e unfinalize=a,b,c,d,e succ=0 fail=0 term=1 write=yes",
		},
		"JOB-061 the next write counts them": {
			job: aJob("p2 c6", started(time.Minute), uncounted("a c", "b d e")), pods: somePods("a succeeded -F", "c succeeded -F", "f pending", "g running"),
			want: "usucc=- ufail=- unfinalize=- succ=2 fail=3 wake=-",
		},
		"JOB-062 settling and recording share a write": {
			job: aJob("p4 c9", started(time.Minute), counted(2, 3), uncounted("a e", "b f")), pods: somePods("a succeeded", "b failed", "c succeeded", "d failed", "e succeeded -F"),
			want: "succ=3 fail=4 usucc=a,c ufail=b,d unfinalize=a,b,c,d",
		},
		"JOB-063 finalizers on their way are not waited for twice": {
			job: aJob("p9 c9 bl9", started(time.Minute), uncounted("c", "g")), memory: inFlight("c", "d", "g", "h"),
			pods: somePods("a succeeded", "c succeeded", "d succeeded", "e failed", "g failed", "h failed"),
			want: "unfinalize=a,e usucc=a ufail=e succ=1 fail=1",
		},
		"JOB-066 settling goes on beside new records": {
			job: aJob("p3 c9", started(time.Minute), uncounted("a", "b")), pods: somePods("a succeeded -F", "c succeeded", "d failed"),
			want: "succ=1 fail=1 usucc=c ufail=d unfinalize=c,d",
		},
		"JOB-069 a recorded failure stays one": {
			job: aJob("p1 c3", started(time.Minute), uncounted("", "a")), pods: somePods("a succeeded"),
			want: "usucc=- ufail=a succ=0 unfinalize=a create=1",
		},
		"JOB-070 a recorded pod that is gone is counted": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a", "")), want: "usucc=- succ=1",
		},
		"JOB-074 CP-04 recorded but nothing released": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a b", "")), pods: somePods("a succeeded", "b succeeded"),
			want: "usucc=a,b succ=0 unfinalize=a,b create=1",
		},
		"JOB-075 CP-05 half released, those deleted": {
			job: aJob("p1 c5", started(time.Minute), uncounted("a b c d", "")), pods: somePods("c succeeded", "d succeeded"),
			want: "usucc=c,d succ=2 unfinalize=c,d",
		},
		"JOB-076 CP-06 all released, the end follows at once": {
			job:  aJob("p1 c2", started(time.Minute), uncounted("a b", ""), withCondition(batchv1.JobSuccessCriteriaMet, "True", "CompletionsReached")),
			want: "write=end succ=2 usucc=- conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-077 FailureTarget outlives the pod that caused it": {
			job:  aJob("", started(time.Minute), uncounted("", "a"), withCondition(batchv1.JobFailureTarget, "True", "PodFailurePolicy")),
			want: "write=end fail=1 conds=FailureTarget:PodFailurePolicy,Failed:PodFailurePolicy events=PodFailurePolicy",
		},
		"JOB-080 with creations pending the decision is kept, the end waits (Q-04)": {
			job: aJob("bl0 deleting", started(time.Minute)), pods: somePods("a failed"), memory: creating("job-zzzzz"),
			want: "conds=FailureTarget:BackoffLimitExceeded ufail=a unfinalize=a write=yes wake=1s",
		},
		"JOB-083 a missing pod proves nothing while the pods are older than the Job (A2)": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a b", "")), pods: somePods("b succeeded -F"), stale: true,
			want: "usucc=a succ=1 look=true",
		},
		"JOB-087 a finalizer stripped by somebody: not counted, replaced": {
			job: aJob("p1 c1", started(time.Minute)), pods: somePods("a succeeded -F"), want: "create=1 succ=0 usucc=-",
		},
		"ignored failures need no record": {
			job: aJob("p2 c2 bl0", started(time.Minute), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3))), pods: somePods("a failed exit3", "b running"),
			want: "ufail=- fail=0 unfinalize=a active=2 conds=-",
		},
		"settling alone can wait (OPT-02)": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a", ""), func(j *batchv1.Job) { j.Status.Active = 1 }), pods: somePods("a succeeded -F", "b running"),
			want: "write=lazy succ=1 usucc=-",
		},
		"ready alone can wait (OPT-03)": {
			job: aJob("p1 c3", started(time.Minute), func(j *batchv1.Job) { j.Status.Active = 1 }), pods: somePods("b ready"),
			want: "write=lazy ready=1 active=1",
		},
		"active cannot wait": {
			job: aJob("p0 c3", started(time.Minute)), pods: nil, want: "write=no",
		},
		"garbage in the stored status is repaired": {
			job: aJob("p1 c3", started(time.Minute), uncounted("a a", "a"), func(j *batchv1.Job) {
				j.Status.UncountedTerminatedPods.Failed = append(j.Status.UncountedTerminatedPods.Failed, "")
			}),
			pods: somePods("a succeeded"), want: "usucc=a ufail=- unfinalize=a",
		},
		"the same pod twice counts once": {
			job: aJob("p1 c3", started(time.Minute)), pods: somePods("a succeeded", "a succeeded"), want: "usucc=a",
		},
	})
}

// JOB-060: stored, recorded and fresh pods add up.
func TestTotalsAddUp(t *testing.T) {
	t.Parallel()
	j := aJob("p9 c9 bl9", started(time.Minute), counted(1, 1), uncounted("a c", "e f"))
	p := Decide(Snapshot{Job: j, Now: now, PodsCurrent: true, Options: Options{Standalone: true},
		Pods: somePods("a succeeded -F", "b succeeded -F", "e failed -F", "c succeeded", "d succeeded", "f failed", "g failed")})
	if p.sync.succeeded != 4 || p.sync.failed != 4 {
		t.Errorf("%d succeeded and %d failed, want 4 and 4", p.sync.succeeded, p.sync.failed)
	}
}

// The limits of one status write.
func TestOneWriteRecordsLimitedNumber(t *testing.T) {
	t.Parallel()
	t.Run("JOB-067 at most 500 UIDs", func(t *testing.T) {
		t.Parallel()
		pods := append(numbered(500, "s", "succeeded"), somePods("a succeeded -F", "b failed")...)
		j := aJob("p1 c501 bl6", started(time.Minute), uncounted("a", "b"))
		p := Decide(Snapshot{Job: j, Pods: pods, Now: now, PodsCurrent: true, Options: Options{Standalone: true}})
		r := p.Record(Results{})
		u := r.Write.Status.UncountedTerminatedPods
		if len(u.Succeeded) != 499 || len(u.Failed) != 1 || r.Write.Status.Succeeded != 1 {
			t.Errorf("recorded %d+%d, counted %d; want 499+1 and 1", len(u.Succeeded), len(u.Failed), r.Write.Status.Succeeded)
		}
		if r.Write.Finished || len(r.Unfinalize) != 500 || !r.Wake.Equal(now.Add(soon)) {
			t.Errorf("finished %t, %d finalizers, wake %s: want the rest in the next sync", r.Write.Finished, len(r.Unfinalize), r.Wake)
		}
	})
	t.Run("JOB-068 at most 500 finalizers", func(t *testing.T) {
		t.Parallel()
		j := aJob("p1 c501 indexed", started(time.Minute))
		r := Decide(Snapshot{Job: j, Pods: numbered(501, "s", "succeeded iN"), Now: now, PodsCurrent: true, Options: Options{Standalone: true}}).Record(Results{})
		if r.Write.Finished || len(r.Unfinalize) != 500 || r.Write.Status.CompletedIndexes != "0-500" {
			t.Errorf("finished %t, %d finalizers, completed %s", r.Write.Finished, len(r.Unfinalize), r.Write.Status.CompletedIndexes)
		}
	})
}

// 10.4: deletion of the Job.
func TestOneSyncOfADeletedJob(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-106 all finalizers go, only ended pods count": {
			job: aJob("p2 c5 deleting", started(time.Minute)), pods: somePods("a pending", "b running", "c succeeded"),
			want: "unfinalize=a,b,c usucc=c ufail=- active=2 create=0 delete=- evict=-",
		},
		"JOB-107 suspending a deleted Job touches no pod": {
			job: aJob("p2 c5 deleting suspend", started(time.Minute)), pods: somePods("a pending", "b running"),
			want: "unfinalize=a,b delete=- evict=- conds=- start=kept",
		},
		"CP-14 running pods are released uncounted": {
			job: aJob("p2 c5 deleting", started(time.Minute)), pods: somePods("a running deleting", "b running"),
			want: "unfinalize=a,b ufail=a term=1 active=1",
		},
		"JOB-112 CP-15 leftovers of a finished Job": {
			job: aJob("", started(time.Minute), withCondition(batchv1.JobFailed, "True", "x")), pods: somePods("a failed", "b succeeded -F", "c failed foreign"),
			want: "skip=finished cleanup=a write=no",
		},
		"Q-17 nobody hears that a deleted Job failed": {
			job: aJob("p1 bl0 deleting", started(time.Minute)), pods: somePods("a failed"), want: "write=end events=- conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
	})
}

// 10.5: failures and backoff.
func TestOneSyncHandlesFailures(t *testing.T) {
	t.Parallel()
	runSyncs(t, map[string]syncTest{
		"JOB-120 a failure within the limit is retried": {
			job: aJob("bl1", started(time.Hour)), pods: somePods("a failed"), want: "create=1 ufail=a conds=-",
		},
		"JOB-120 one more ends the Job": {
			job: aJob("bl1", started(time.Hour)), pods: somePods("a failed", "b failed"),
			want: "write=end fail=2 conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded events=BackoffLimitExceeded completion=none",
		},
		"JOB-121 six of six": {
			job: aJob("bl6 p2 c9", started(time.Hour)), pods: append(numbered(6, "f", "failed"), aPod("r running")), want: "create=1 active=2 conds=-",
		},
		"JOB-121 seven of six": {
			job: aJob("bl6 p2 c9", started(time.Hour)), pods: numbered(7, "f", "failed"), want: "write=end fail=7",
		},
		"JOB-123 first the decision is written": {
			job: aJob("bl0 p3 c3", started(time.Hour)), pods: somePods("a ready", "b ready", "c failed"),
			want: "delete=- active=2 ready=2 ufail=c unfinalize=c conds=FailureTarget:BackoffLimitExceeded write=yes wake=10ms create=0",
		},
		"JOB-123 JOB-269 then the pods are stopped and counted": {
			job:  aJob("bl0 p3 c3", started(time.Hour), uncounted("", "c"), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			pods: somePods("a ready", "b ready", "c failed -F"),
			want: "delete=a,b active=0 ready=0 term=2 fail=1 ufail=a,b unfinalize=a,b conds=FailureTarget:BackoffLimitExceeded create=0",
		},
		"JOB-123 Failed only after they are gone": {
			job:  aJob("bl0 p3 c3", started(time.Hour), counted(0, 1), uncounted("", "a b"), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded")),
			want: "write=end fail=3 term=0 conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-124 a blocked pod delays the end": {
			job:  aJob("bl0 p2 c2", started(time.Hour), counted(0, 2), withCondition(batchv1.JobFailureTarget, "True", "BackoffLimitExceeded"), func(j *batchv1.Job) { j.Status.Terminating = ptr.To[int32](1) }),
			pods: somePods("a running deleting -F"), want: "write=no term=1 delete=-",
		},
		"JOB-128 backoff stops creation, not the truth": {
			job: aJob("p2 c2", started(time.Hour)), pods: somePods("a ready", "b failed end4"), want: "create=0 active=1 ready=1 wake=1s",
		},
		"JOB-128 remembered backoff": {
			job: aJob("p2 c2", started(time.Hour), counted(0, 2)), pods: somePods("a ready"), memory: Memory{Backoff: Backoff{Failures: 2, Last: now.Add(-5 * time.Second)}},
			want: "create=0 active=1 ready=1 wake=15s",
		},
		"JOB-131 an ignored failure delays too": {
			job: aJob("", started(time.Hour), failurePolicy(onExit(batchv1.PodFailurePolicyActionIgnore, 3))), pods: somePods("a failed exit3 end4"), want: "create=0 fail=0 unfinalize=a wake=6s",
		},
		"JOB-132 scaling up waits for the backoff": {
			job: aJob("p3 c3", started(time.Hour), counted(0, 1)), memory: Memory{Backoff: Backoff{Failures: 1, Last: now.Add(-3 * time.Second)}}, want: "create=0 wake=7s",
		},
		"JOB-133 after a restart the record is gone": {
			job: aJob("", started(time.Hour), counted(0, 1)), pods: somePods("a failed end4 -F"), want: "create=1",
		},
		"JOB-136 OnFailure, limit 0, no restart": {
			job: aJob("bl0 onfailure", started(time.Hour)), pods: somePods("a running"), want: "conds=- active=1",
		},
		"JOB-136 OnFailure, limit 1, one restart": {
			job: aJob("bl1 onfailure", started(time.Hour)), pods: somePods("a running restarts1"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-136 OnFailure, limit 1, one restart, pending": {
			job: aJob("bl1 onfailure", started(time.Hour)), pods: somePods("a pending restarts1"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-136 OnFailure, limit 2, restarts add up": {
			job: aJob("bl2 onfailure p2 c2", started(time.Hour)), pods: somePods("a running restarts1", "b running restarts1"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-136 OnFailure, limit 3, not yet": {
			job: aJob("bl3 onfailure p2 c2", started(time.Hour)), pods: somePods("a running restarts1", "b running restarts1"), want: "conds=-",
		},
		"JOB-137 restarts of init containers count": {
			job: aJob("bl2 onfailure", started(time.Hour)), pods: somePods("a running initrestarts2"), want: "conds=FailureTarget:BackoffLimitExceeded",
		},
		"JOB-137 restarts of succeeded pods do not": {
			job: aJob("bl2 onfailure p2 c3", started(time.Hour)), pods: somePods("a succeeded restarts5", "b running"), want: "conds=-",
		},
		"JOB-138 OnFailure, suspended below the limit": {
			job: aJob("bl3 onfailure p2 c2 suspend", started(time.Hour)), pods: somePods("a running restarts1", "b running"), want: "evict=a,b conds=Suspended:JobSuspended fail=0",
		},
		"JOB-139 the limit was lowered": {
			job: aJob("bl1", started(time.Hour), counted(0, 2)), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-140 no pod could be created": {
			job: aJob("p5 c5"), mishaps: mishaps{creates: CreateFailed}, want: "create=5 active=0 events=FailedCreate,FailedCreate,FailedCreate,FailedCreate,FailedCreate",
		},
		"JOB-141 the quota ended after ten": {
			job: aJob("p100 c100"), mishaps: mishaps{creates: CreateFailed, createUpTo: 10}, want: "create=100 active=10",
		},
		"JOB-142 the namespace is going away (Q-02)": {
			job: aJob("p2 c2"), mishaps: mishaps{creates: NamespaceTerminating}, want: "active=0 events=- wake=10s",
		},
		"JOB-143 a pod that could not be deleted stays active": {
			job: aJob("p1 c5", started(time.Hour)), pods: somePods("a ready", "b running", "c running"), mishaps: mishaps{deletes: sets.New("b")}, want: "evict=b,c active=2 term=1 events=SuccessfulDelete,FailedDelete",
		},
		"JOB-144 batches of 500": {
			job: aJob("p1200 c1200"), want: "create=500 active=500",
		},
		"JOB-144 the next batch waits until the first is visible": {
			job: aJob("p1200 c1200", started(time.Second)), memory: creating("job-zzzzz"), want: "create=0 wake=9s",
		},
		"a creation that never shows is given up": {
			job: aJob("", started(time.Minute)), memory: Memory{Creating: map[string]time.Time{"job-zzzzz": now.Add(-time.Minute)}}, want: "create=1",
		},
		"JOB-081 a creation that shows is not waited for": {
			job: aJob("p2 c5", started(time.Minute)), pods: somePods("a running", "b running"), memory: creating("b"), want: "create=0 evict=- active=2 action=tracking",
		},
		"what we are deleting is on its way out already": {
			job: aJob("p1 c5", started(time.Minute)), pods: somePods("a running", "b running"), memory: Memory{Deleting: map[types.UID]time.Time{"b": now.Add(-time.Second)}, Unfinalizing: sets.New[types.UID]("b")},
			want: "evict=- active=1 term=1 create=0",
		},
		"a deletion that never shows is sent again": {
			job: aJob("p0 c5", started(time.Minute)), pods: somePods("b running"), memory: Memory{Deleting: map[types.UID]time.Time{"b": now.Add(-time.Minute)}},
			want: "evict=b active=0 term=1",
		},
	})
}

// 10.6 and 10.7: deadline, suspend, resume.
func TestOneSyncKeepsTime(t *testing.T) {
	t.Parallel()
	was := func(active int32) func(*batchv1.Job) {
		return func(j *batchv1.Job) { j.Status.Active, j.Status.Ready = active, ptr.To(active) }
	}
	isSuspended := withCondition(batchv1.JobSuspended, "True", "JobSuspended")
	neverStarted := func(j *batchv1.Job) { j.Status.StartTime = nil }
	runSyncs(t, map[string]syncTest{
		"JOB-150 the deadline has passed": {
			job: aJob("p2 c3 ads10", started(15*time.Second), was(1)), pods: somePods("a running", "b succeeded"), want: "conds=FailureTarget:DeadlineExceeded usucc=b delete=- active=1 wake=10ms",
		},
		"JOB-150 pods are stopped and count": {
			job: aJob("p2 c3 ads10", started(15*time.Second), was(1), withCondition(batchv1.JobFailureTarget, "True", "DeadlineExceeded"), uncounted("b", "")), pods: somePods("a running"),
			want: "delete=a ufail=a succ=1 active=0 term=1",
		},
		"JOB-151 exactly now, no pods": {
			job: aJob("ads10", started(10*time.Second)), want: "write=end conds=FailureTarget:DeadlineExceeded,Failed:DeadlineExceeded events=DeadlineExceeded",
		},
		"JOB-152 too many failures weigh more": {
			job: aJob("ads10 bl0", started(15*time.Second)), pods: somePods("a failed"), want: "write=end conds=FailureTarget:BackoffLimitExceeded,Failed:BackoffLimitExceeded",
		},
		"JOB-154 no deadline while suspended": {
			job: aJob("ads10 suspend", started(15*time.Second)), want: "conds=Suspended:JobSuspended start=none wake=-",
		},
		"JOB-155 the timer of a new Job": {
			job: aJob("ads1"), want: "create=1 wake=1s",
		},
		"JOB-156 the deadline was shortened": {
			job: aJob("ads20", started(15*time.Second), was(1)), pods: somePods("a ready"), want: "wake=5s conds=-",
		},
		"JOB-157 deadline 0": {
			job: aJob("ads0"), want: "create=0 write=end conds=FailureTarget:DeadlineExceeded,Failed:DeadlineExceeded start=now",
		},
		"JOB-158 resumed with an old start time (Q-06)": {
			job: aJob("ads10", started(time.Minute), isSuspended), want: "create=1 conds=Suspended=False start=now wake=10s events=SuccessfulCreate,Resumed",
		},
		"a deadline beyond all time": {
			job: aJob("", started(time.Minute), func(j *batchv1.Job) { j.Spec.ActiveDeadlineSeconds = ptr.To[int64](1 << 62) }), want: "create=1 conds=-",
		},
		"JOB-170 created suspended": {
			job: aJob("p2 c2 suspend"), want: "create=0 active=0 ready=0 term=0 start=none conds=Suspended:JobSuspended events=Suspended",
		},
		"JOB-170 resumed": {
			job: aJob("p2 c2", started(0), neverStarted, isSuspended), want: "create=2 start=now conds=Suspended=False",
		},
		"JOB-171 suspended while running": {
			job: aJob("p2 c2 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b ready"), want: "evict=a,b active=0 ready=0 term=2 fail=0 start=none conds=Suspended:JobSuspended",
		},
		"JOB-172 two ready pods go": {
			job: aJob("p2 c3 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b ready"), want: "evict=a,b ready=0 term=2",
		},
		"JOB-173 suspending waits for own creations": {
			job: aJob("p2 c3 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b ready"), memory: creating("job-zzzzz"), want: "evict=- conds=- active=2",
		},
		"JOB-174 resumed after a run": {
			job: aJob("p2 c2", started(0), neverStarted, isSuspended), want: "create=2 conds=Suspended=False start=now events=SuccessfulCreate,SuccessfulCreate,Resumed",
		},
		"JOB-175 suspended with nothing to complete": {
			job: aJob("p2 c0 suspend"), want: "write=end start=none completion=now conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-177 a suspended Job stays suspended": {
			job: aJob("p2 c2 suspend", started(0), neverStarted, isSuspended), want: "write=no create=0 wake=-",
		},
		"JOB-182 a suspended Job that was scaled to what is done (Q-03)": {
			job: aJob("p1 c1 indexed suspend", started(0), neverStarted, isSuspended, indexesDone("0", ""), counted(1, 0)), want: "write=end start=now completion=now",
		},
		"JOB-183 suspended and resumed unseen": {
			job: aJob("", started(time.Minute), was(1)), pods: somePods("a ready"), want: "write=no conds=-",
		},
		"JOB-184 ended pods count, the rest goes": {
			job: aJob("p3 c5 suspend", started(time.Minute)), pods: somePods("a succeeded", "b succeeded", "c running"), want: "evict=c usucc=a,b unfinalize=a,b conds=Suspended:JobSuspended",
		},
		"JOB-185 complete rather than suspended": {
			job: aJob("p2 c2 suspend", started(time.Minute)), pods: somePods("a succeeded", "b succeeded"), want: "write=end conds=SuccessCriteriaMet:CompletionsReached,Complete:CompletionsReached",
		},
		"JOB-187 resuming waits for the old pods when only failed ones are replaced": {
			job: aJob("p2 c2 prp=Failed", started(0), neverStarted, isSuspended), pods: somePods("a running deleting -F"), want: "create=1 term=1",
		},
		"JOB-188 a pod that could not be deleted": {
			job: aJob("p2 c2 suspend", started(time.Minute)), pods: somePods("a ready", "b ready"), mishaps: mishaps{deletes: sets.New("a")}, want: "active=1 ready=1 term=1 conds=Suspended:JobSuspended",
		},
		"CP-16 suspending goes on where it stopped": {
			job: aJob("p2 c2 suspend", started(time.Minute), was(2)), pods: somePods("a ready", "b running deleting -F"), want: "evict=a active=0 term=2 conds=Suspended:JobSuspended start=none",
		},
		"CP-17 resuming goes on where it stopped": {
			job: aJob("p2 c2", started(0), neverStarted, isSuspended), pods: somePods("a running", "b running"), want: "create=0 active=2 conds=Suspended=False start=now",
		},
		"JOB-356 the clock went back (Q-16)": {
			job: aJob("", started(-time.Hour)), pods: somePods("a succeeded"), want: "write=end completion=other start=kept",
		},
		"a Suspended condition of unknown status is not a resumption": {
			job: aJob("", started(time.Minute), was(1), withCondition(batchv1.JobSuspended, "Unknown", "x")), pods: somePods("a ready"), want: "write=no",
		},
		"startTime that an older controller left is cleared": {
			job: aJob("suspend", started(time.Minute), isSuspended), want: "start=none write=yes events=-",
		},
	})
}
