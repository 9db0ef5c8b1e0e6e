// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/plan/run"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

// object reads a manifest.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const cronJob = `
  ownerReferences:
  - {apiVersion: batch/v1, kind: CronJob, name: backup, uid: cj, controller: true}
`

var backup = run.Owner{APIVersion: "batch/v1", Kind: "CronJob", Name: "backup", UID: "cj"}

const timetableOwned = `
  labels: {batch.carillon.dev/none: x}
  ownerReferences:
  - {apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: sync, uid: tt, controller: true}
`

var syncOwner = run.Owner{APIVersion: "batch.carillon.dev/v1alpha1", Kind: "Timetable", Name: "sync", UID: "tt"}

// A run is what its object says, whatever kind that is, and however little it says.
func TestFromObject(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	for name, test := range map[string]struct {
		object string
		want   run.Run
	}{
		"a Job that nobody's schedule made": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: ns, uid: u1, creationTimestamp: "2026-11-23T12:00:00Z"}
spec: {completions: 3}
status: {startTime: "2026-11-23T13:00:01+01:00", active: 2, failed: 1}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "once", Created: noon, Started: noon.Add(time.Second),
			Outcome: run.Active, Completions: 3, PodsFailed: 1, PodsRunning: 2}},
		"a CronJob's, complete": {`
apiVersion: batch/v1
kind: Job
metadata:
  name: backup-29412345
  uid: u1
  annotations: {batch.kubernetes.io/cronjob-scheduled-timestamp: "2026-11-23T13:00:00+01:00"}
` + cronJob + `
status:
  startTime: "2026-11-23T12:00:01Z"
  completionTime: "2026-11-23T12:00:05Z"
  succeeded: 1
  conditions:
  - {type: SuccessCriteriaMet, status: "True"}
  - {type: Complete, status: "True", lastTransitionTime: "2026-11-23T12:00:06Z", reason: CompletionsReached, message: Reached}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "backup-29412345", Owner: backup, Trigger: run.Schedule, ScheduledTime: noon,
			Started: noon.Add(time.Second), Ended: noon.Add(5 * time.Second), Outcome: run.Succeeded, Reason: "CompletionsReached", Message: "Reached", PodsSucceeded: 1}},
		"a CronJob's, failed, its time in its name": {`
apiVersion: batch/v1
kind: Job
metadata:
  name: backup-29412345
  uid: u1
` + cronJob + `
status:
  conditions:
  - {type: Complete, status: "False"}
  - {type: Failed, status: "True", lastTransitionTime: "2026-11-23T12:00:06Z", reason: BackoffLimitExceeded, message: no more}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "backup-29412345", Owner: backup, Trigger: run.Schedule,
			ScheduledTime: time.Unix(29412345*60, 0).UTC(), Ended: noon.Add(6 * time.Second), Outcome: run.Failed, Reason: "BackoffLimitExceeded", Message: "no more"}},
		"made by hand": {`
apiVersion: batch/v1
kind: Job
metadata:
  name: backup-29412345
  uid: u1
  annotations: {cronjob.kubernetes.io/instantiate: manual}
` + cronJob, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "backup-29412345", Owner: backup, Trigger: run.Manual, Outcome: run.Active}},
		"suspended": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1}
spec: {suspend: true}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Active, Suspended: true}},
		"a Job whose Pods are being stopped is not suspended yet": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1}
spec: {suspend: true}
status: {active: 1}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Active, PodsRunning: 1}},
		"a Timetable's retry that makes up": {`
apiVersion: batch/v1
kind: Job
metadata:
  name: sync-20261123-120000-r2
  uid: u1
  labels: {carillon.dev/trigger: catch-up}
  annotations: {carillon.dev/scheduled-time: "2026-11-23T12:00:00Z", carillon.dev/attempt: "2"}
  ownerReferences:
  - {apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: sync, uid: tt, controller: true}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "sync-20261123-120000-r2", Owner: syncOwner, Trigger: run.CatchUp, Retry: 2,
			ScheduledTime: noon, Outcome: run.Active}},
		"a Timetable's Pod": {`
apiVersion: v1
kind: Pod
metadata:
  name: sync-20261123-120000
  uid: u1` + timetableOwned + `
status:
  phase: Failed
  startTime: "2026-11-23T12:00:01Z"
  containerStatuses:
  - {name: main, state: {terminated: {exitCode: 3, finishedAt: "2026-11-23T12:00:05Z"}}}
`, run.Run{UID: "u1", APIVersion: "v1", Kind: "Pod", Name: "sync-20261123-120000", Owner: syncOwner, Trigger: run.Schedule, ScheduledTime: noon,
			Started: noon.Add(time.Second), Ended: noon.Add(5 * time.Second), Outcome: run.Failed, Message: "container main ended with exit code 3"}},
		"Volcano's, aborted": {`
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: v, uid: u1, creationTimestamp: "2026-11-23T12:00:00Z"}
status: {state: {phase: Aborted}}
`, run.Run{UID: "u1", APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "v", Created: noon, Started: noon, Outcome: run.Active, Suspended: true}},
		"Volcano's, terminated": {`
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: v, uid: u1, creationTimestamp: "2026-11-23T12:00:00Z"}
status: {state: {phase: Terminated, message: killed, lastTransitionTime: "2026-11-23T12:00:09Z"}}
`, run.Run{UID: "u1", APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "v", Created: noon, Started: noon, Ended: noon.Add(9 * time.Second),
			Outcome: run.Failed, Reason: "Terminated", Message: "killed"}},
		"a JobSet that has failed": {`
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: s, uid: u1}
status:
  conditions:
  - {type: Failed, status: "True", reason: FailedJobs, message: some, lastTransitionTime: "2026-11-23T12:00:09Z"}
`, run.Run{UID: "u1", APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet", Name: "s", Ended: noon.Add(9 * time.Second), Outcome: run.Failed,
			Reason: "FailedJobs", Message: "some"}},
		"a kind that nobody knows": {`
apiVersion: example.com/v1
kind: Workflow
metadata: {name: w, uid: u1}
status: {phase: Done}
`, run.Run{UID: "u1", APIVersion: "example.com/v1", Kind: "Workflow", Name: "w", Outcome: run.Active}},
		"controlled by something that is no schedule": {`
apiVersion: batch/v1
kind: Job
metadata:
  name: backup-29412345
  uid: u1
  ownerReferences:
  - {apiVersion: example.com/v1, kind: CronJob, name: backup, uid: x, controller: true}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "backup-29412345", Outcome: run.Active}},
		"an owner that is none": {`
apiVersion: batch/v1
kind: Job
metadata:
  name: once
  uid: u1
  ownerReferences:
  - {apiVersion: a/b/c, kind: CronJob, name: backup, uid: x, controller: true}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Active}},
		"ended, and nothing tells when": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1}
status: {conditions: [{type: Failed, status: "True"}]}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Failed}},
		"a Job that is being deleted": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1, deletionTimestamp: "2026-11-23T12:00:00Z", deletionGracePeriodSeconds: 0}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Active, Stopping: true}},
		"a Job that failed because it was deleted": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1, deletionTimestamp: "2026-11-23T12:00:00Z", deletionGracePeriodSeconds: 0}
status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-11-23T12:00:01Z"}]}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Cancelled, Ended: noon.Add(time.Second),
			Reason: "Deleted", Message: "it was deleted before it had ended"}},
		"a Job that was deleted in the second in which it failed": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1, deletionTimestamp: "2026-11-23T12:00:00Z", deletionGracePeriodSeconds: 0}
status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, lastTransitionTime: "2026-11-23T12:00:00Z"}]}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Failed, Ended: noon, Reason: "BackoffLimitExceeded"}},
		"a Job that succeeded although it was deleted": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1, deletionTimestamp: "2026-11-23T12:00:00Z", deletionGracePeriodSeconds: 0}
status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-11-23T12:00:01Z"}]}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Succeeded, Ended: noon.Add(time.Second)}},
		"a Volcano Job that was terminated because it was deleted": {`
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: once, uid: u1, deletionTimestamp: "2026-11-23T12:00:00Z", deletionGracePeriodSeconds: 0}
status: {state: {phase: Terminated, lastTransitionTime: "2026-11-23T12:00:02Z"}}
`, run.Run{UID: "u1", APIVersion: "batch.volcano.sh/v1alpha1", Kind: "Job", Name: "once", Outcome: run.Cancelled, Ended: noon.Add(2 * time.Second),
			Reason: "Deleted", Message: "it was deleted before it had ended"}},
		"a Job whose fields have other types": {`
apiVersion: batch/v1
kind: Job
metadata: {name: once, uid: u1}
spec: {completions: many, suspend: maybe}
status: {conditions: nothing, startTime: 12}
`, run.Run{UID: "u1", APIVersion: "batch/v1", Kind: "Job", Name: "once", Outcome: run.Active}},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, test.object)
			before := o.DeepCopy()
			if diff := cmp.Diff(test.want, run.FromObject(o, nil)); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the object was modified (-before +after):\n%s", diff)
			}
		})
	}
}

// The end of a kind that only its Timetable knows is told by that.
func TestFromObjectOfATimetable(t *testing.T) {
	owner := &timetable.Object{}
	data, err := yaml.YAMLToJSON([]byte(`
apiVersion: batch.carillon.dev/v1alpha1
kind: Timetable
metadata: {name: sync, namespace: ns, uid: tt}
spec:
  schedules: [{cron: "@hourly"}]
  outcome: {succeeded: object.status.phase == "Done", failed: object.status.phase == "Bad"}
  template: {apiVersion: example.com/v1, kind: Workflow, spec: {}}
`))
	if err == nil {
		err = json.Unmarshal(data, owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	for phase, want := range map[string]run.Outcome{"Done": run.Succeeded, "Bad": run.Failed, "Running": run.Active} {
		o := object(t, `
apiVersion: example.com/v1
kind: Workflow
metadata:
  name: sync-20261123-120000
  namespace: ns
  labels: {carillon.dev/timetable-uid: tt}
  ownerReferences:
  - {apiVersion: batch.carillon.dev/v1alpha1, kind: Timetable, name: sync, uid: tt, controller: true}
status: {phase: `+phase+`}
`)
		if got := run.FromObject(o, owner).Outcome; got != want {
			t.Errorf("%s is %s, want %s", phase, got, want)
		}
	}
}

// Whatever an object holds, reading it gives a run that can be shown, and a Job is the same read by its type or
// without.
func FuzzFromObject(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","uid":"u"},"status":{"conditions":[{"type":"Failed","status":"True"}]}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"sync-20261123-120000-r9999999999999999999"},"status":{"phase":"Failed"}}`,
		`{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","status":{"state":{"phase":1}}}`,
		`{"apiVersion":"x/v1","kind":"Y","status":{"conditions":[1,{"type":"Failed","status":"True","reason":{}}],"startTime":"9999-99-99"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := &unstructured.Unstructured{}
		if o.UnmarshalJSON(data) != nil {
			return
		}
		now := at("2026-11-23T12:00:00Z")
		r := run.FromObject(o, nil)
		if r.Outcome == "" || r.Duration(now) < 0 || r.Lateness() < 0 {
			t.Errorf("%+v", r)
		}
		if _, err := json.Marshal(run.Document(r, now)); err != nil && r.Created.Year() < 10000 {
			t.Error(err)
		}
		r.Gone(now)
		if !r.Outcome.Ended() {
			t.Errorf("gone, and %s", r.Outcome)
		}
	})
}

// The executions of containers are what a Pod remembers of them.
func TestAttemptsOf(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	second := func(n int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(n) * time.Second)) }
	controlled := metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "pod", CreationTimestamp: second(0),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: "job", Controller: new(true)}}}
	attempt := func(id, container string, restart int32, started, ended int) run.Attempt {
		a := run.Attempt{ContainerID: id, RunUID: "job", Namespace: "ns", Pod: "p", PodUID: "pod", Container: container, Restart: restart}
		if started >= 0 {
			a.Started = noon.Add(time.Duration(started) * time.Second)
		}
		if ended >= 0 {
			a.Ended = noon.Add(time.Duration(ended) * time.Second)
		}
		return a
	}
	with := func(a run.Attempt, code int32, reason string) run.Attempt {
		a.ExitCode, a.Reason = code, reason
		return a
	}
	placed := func(a run.Attempt, role run.Role) run.Attempt {
		a.Role, a.Mains = role, 2
		return a
	}
	terminated := func(id string, code int32, reason string, started, ended int) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ContainerID: id, ExitCode: code, Reason: reason, StartedAt: second(started), FinishedAt: second(ended)}
	}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want []run.Attempt
	}{
		"nothing has run": {pod: corev1.Pod{ObjectMeta: controlled, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
			{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}}}},
		"init containers first, then one that runs": {
			pod: corev1.Pod{ObjectMeta: controlled, Status: corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "init", State: corev1.ContainerState{Terminated: terminated("containerd://a", 0, "Completed", 1, 2)}}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main", ContainerID: "containerd://b",
					State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(3)}}}}}},
			want: []run.Attempt{with(attempt("a", "init", 0, 1, 2), 0, "Completed"), attempt("b", "main", 0, 3, -1)},
		},
		"each knows what it is": {
			pod: corev1.Pod{ObjectMeta: controlled, Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "init"}, {Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
				Containers:     []corev1.Container{{Name: "main"}, {Name: "other"}},
			}, Status: corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{
					{Name: "init", State: corev1.ContainerState{Terminated: terminated("x://a", 0, "Completed", 1, 2)}},
					{Name: "proxy", State: corev1.ContainerState{Terminated: terminated("x://b", 0, "Completed", 1, 2)}}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: terminated("x://c", 0, "Completed", 1, 2)}}}}},
			want: []run.Attempt{placed(with(attempt("a", "init", 0, 1, 2), 0, "Completed"), run.Init),
				placed(with(attempt("b", "proxy", 0, 1, 2), 0, "Completed"), run.Sidecar), placed(with(attempt("c", "main", 0, 1, 2), 0, "Completed"), run.Main)},
		},
		"one that was restarted, and has ended again": {
			pod: corev1.Pod{ObjectMeta: controlled, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 2,
				LastTerminationState: corev1.ContainerState{Terminated: terminated("x://a", 1, "Error", 1, 2)},
				State:                corev1.ContainerState{Terminated: terminated("x://b", 137, "OOMKilled", 3, 4)}}}}},
			want: []run.Attempt{with(attempt("a", "main", 1, 1, 2), 1, "Error"), with(attempt("b", "main", 2, 3, 4), 137, "OOMKilled")},
		},
		"one that waits for its restart": {
			pod: corev1.Pod{ObjectMeta: controlled, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", RestartCount: 1,
				LastTerminationState: corev1.ContainerState{Terminated: terminated("x://a", 1, "Error", 1, 2)},
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}}},
			want: []run.Attempt{with(attempt("a", "main", 0, 1, 2), 1, "Error")},
		},
		"the same end in both places is one": {
			pod: corev1.Pod{ObjectMeta: controlled, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main",
				LastTerminationState: corev1.ContainerState{Terminated: terminated("x://a", 1, "Error", 1, 2)},
				State:                corev1.ContainerState{Terminated: terminated("x://a", 1, "Error", 1, 2)}}}}},
			want: []run.Attempt{with(attempt("a", "main", 0, 1, 2), 1, "Error")},
		},
		"one that nobody saw end": {
			pod: corev1.Pod{ObjectMeta: controlled, Status: corev1.PodStatus{
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: second(9)}},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main",
					State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}}}}},
			want: []run.Attempt{with(attempt("pod/main/0", "main", 0, -1, 9), 137, "ContainerStatusUnknown")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, run.AttemptsOf(&test.pod)); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
		})
	}
	for owner, want := range map[string]types.UID{"": "pod", "batch/v1 CronJob": "pod", "batch.carillon.dev/v1alpha1 Timetable": "pod",
		"batch/v1 Job": "o", "batch.volcano.sh/v1alpha1 Job": "o"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "pod"}}
		if apiVersion, kind, found := cutSpace(owner); found {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "o", UID: "o", Controller: new(true)}}
		}
		if got := run.RunOf(pod); got != want {
			t.Errorf("a Pod of %q is of run %s, want %s", owner, got, want)
		}
	}
}

func cutSpace(text string) (before, after string, found bool) {
	for i := range text {
		if text[i] == ' ' {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// A run tells of its attempts together: how many have ended, what they used, and the code of the one that matters.
func TestSum(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	ok := run.Attempt{ContainerID: "a", Ended: noon, CPU: time.Second, MemoryPeak: 10, OutputBytes: 3}
	bad := run.Attempt{ContainerID: "b", Ended: noon.Add(-time.Minute), ExitCode: 3, CPU: 2 * time.Second, MemoryPeak: 20, OutputBytes: 4}
	worse := run.Attempt{ContainerID: "c", Ended: noon.Add(-time.Second), ExitCode: 7}
	runs := run.Attempt{ContainerID: "d", Started: noon}
	for name, test := range map[string]struct {
		attempts []run.Attempt
		want     run.Run
	}{
		"none":          {nil, run.Run{Attempts: 9}},
		"one that runs": {[]run.Attempt{runs}, run.Run{Attempts: 9, Started: noon}},
		"one":           {[]run.Attempt{ok}, run.Run{Attempts: 1, ExitCode: new(int32(0)), CPU: time.Second, MemoryPeak: 10, OutputBytes: 3}},
		"one that failed by itself, and was stopped at last": {[]run.Attempt{{ContainerID: "e", Ended: noon, ExitCode: 4},
			{ContainerID: "f", Ended: noon.Add(time.Second), ExitCode: 143, Signal: 15}}, run.Run{Attempts: 2, ExitCode: new(int32(4))}},
		"one that ended well, and its sidecar": {[]run.Attempt{{ContainerID: "e", Ended: noon, Role: run.Main, Mains: 1},
			{ContainerID: "f", Ended: noon.Add(time.Second), ExitCode: 143, Role: run.Sidecar, Mains: 1}}, run.Run{Attempts: 2, ExitCode: new(int32(0))}},
		"the last that fails": {[]run.Attempt{ok, worse, bad, runs},
			run.Run{Attempts: 3, Started: noon, ExitCode: new(int32(7)), CPU: 3 * time.Second, MemoryPeak: 20, OutputBytes: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run.Run{Attempts: 9}
			r.Sum(test.attempts)
			if diff := cmp.Diff(test.want, r); diff != "" {
				t.Errorf("sum (-want +got):\n%s", diff)
			}
		})
	}
}

// Of a run whose object is gone its attempts tell the end, if they leave no doubt.
func TestFoundGone(t *testing.T) {
	noon := at("2026-11-23T12:00:00Z")
	ended := func(pod types.UID, container string, restart int32, second int, code int32) run.Attempt {
		return run.Attempt{ContainerID: string(pod) + container, PodUID: pod, Container: container, Restart: restart,
			Ended: noon.Add(time.Duration(second) * time.Second), ExitCode: code}
	}
	as := func(role run.Role, mains int32, a run.Attempt) run.Attempt {
		a.Role, a.Mains = role, mains
		return a
	}
	main := func(a run.Attempt) run.Attempt { return as(run.Main, 1, a) }
	with := func(a run.Attempt, signal int32, reason string) run.Attempt {
		a.Signal, a.Reason = signal, reason
		return a
	}
	one, two := run.Run{Completions: 1}, run.Run{Completions: 2}
	for name, test := range map[string]struct {
		run      run.Run
		attempts []run.Attempt
		want     run.Outcome
		reason   string
		ended    time.Time
	}{
		"nothing is known":       {want: run.Unknown, reason: "Unseen"},
		"its only Pod succeeded": {run: one, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0))}, want: run.Succeeded, ended: noon.Add(3 * time.Second)},
		"a restart succeeded": {run: one, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 1)), main(ended("p", "main", 1, 4, 0))},
			want: run.Succeeded, ended: noon.Add(4 * time.Second)},
		"a second Pod succeeded": {run: one, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 1)), main(ended("q", "main", 0, 4, 0))},
			want: run.Succeeded, ended: noon.Add(4 * time.Second)},
		"one container of two failed": {run: one, attempts: []run.Attempt{ended("p", "main", 0, 3, 0), ended("p", "side", 0, 2, 9)},
			want: run.Failed, reason: "Error", ended: noon.Add(3 * time.Second)},
		"too few have succeeded": {run: two, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0))}, want: run.Unknown, reason: "Unseen"},
		"enough have succeeded": {run: two, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0)), main(ended("q", "main", 0, 4, 0))},
			want: run.Succeeded, ended: noon.Add(4 * time.Second)},
		"nobody told how many must succeed": {attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0))}, want: run.Unknown, reason: "Unseen"},
		"nobody told what the container is": {run: one, attempts: []run.Attempt{ended("p", "main", 0, 3, 0)}, want: run.Unknown, reason: "Unseen"},
		"an init container has ended":       {run: one, attempts: []run.Attempt{as(run.Init, 1, ended("p", "init", 0, 3, 0))}, want: run.Unknown, reason: "Unseen"},
		"one main container of two":         {run: one, attempts: []run.Attempt{as(run.Main, 2, ended("p", "a", 0, 3, 0))}, want: run.Unknown, reason: "Unseen"},
		"both main containers": {run: one, attempts: []run.Attempt{as(run.Main, 2, ended("p", "a", 0, 3, 0)), as(run.Main, 2, ended("p", "b", 0, 5, 0))},
			want: run.Succeeded, ended: noon.Add(5 * time.Second)},
		"a sidecar was stopped then": {run: one, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0)), with(as(run.Sidecar, 1, ended("p", "proxy", 0, 4, 143)), 15, "Error")},
			want: run.Succeeded, ended: noon.Add(3 * time.Second)},
		"it was stopped":               {run: one, attempts: []run.Attempt{with(main(ended("p", "main", 0, 3, 143)), 15, "Error")}, want: run.Unknown, reason: "Unseen"},
		"it was killed, says the code": {run: one, attempts: []run.Attempt{ended("p", "main", 0, 3, 137)}, want: run.Unknown, reason: "Unseen"},
		"it had too much memory": {run: one, attempts: []run.Attempt{with(main(ended("p", "main", 0, 3, 137)), 9, "OOMKilled")},
			want: run.Failed, reason: "OOMKilled", ended: noon.Add(3 * time.Second)},
		"one that runs tells nothing": {attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0)), {ContainerID: "x", PodUID: "p"}}},
		"one that had ended stays":    {run: run.Run{Outcome: run.Cancelled, Reason: "Deleted", Ended: noon}, want: run.Cancelled, reason: "Deleted", ended: noon},
		"what was unknown becomes known": {run: run.Run{Outcome: run.Unknown, Completions: 1}, attempts: []run.Attempt{main(ended("p", "main", 0, 3, 0))},
			want: run.Succeeded, ended: noon.Add(3 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			r := test.run
			r.FoundGone(test.attempts)
			if r.Outcome != test.want || r.Reason != test.reason || !r.Ended.Equal(test.ended) {
				t.Errorf("%s %q at %s, want %s %q at %s", r.Outcome, r.Reason, r.Ended, test.want, test.reason, test.ended)
			}
		})
	}
	seen := run.FromJob(&batchv1.Job{})
	if seen.Gone(noon); seen.Outcome != run.Cancelled || !seen.Ended.Equal(noon) || seen.Reason != "Deleted" {
		t.Errorf("seen to go: %+v", seen)
	}
}
