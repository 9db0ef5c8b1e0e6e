// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package outcome_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/carillon-dev/carillon/internal/outcome"
)

// object reads YAML as a client reads an object: whole numbers are int64.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func at(clock string) time.Time {
	t, err := time.Parse(time.TimeOnly, clock)
	if err != nil {
		panic(err)
	}
	return t.AddDate(2026, 4, 3)
}

var (
	unfinished = outcome.Outcome{}
	succeeded  = func(clock string) outcome.Outcome { return outcome.Outcome{Phase: outcome.Succeeded, Ended: at(clock)} }
	failed     = func(clock, message string) outcome.Outcome {
		return outcome.Outcome{Phase: outcome.Failed, Ended: at(clock), Message: message}
	}
)

// The outcome of a known kind follows from its status (the first table of timetable.md 3.9).
func TestKnownKinds(t *testing.T) {
	deadline := failed("12:12:30", "Job was active longer than specified deadline")
	deadline.DeadlineExceeded = true
	for kind, cases := range map[[2]string]map[string]struct {
		object string
		want   outcome.Outcome
	}{
		{"batch/v1", "Job"}: {
			"without a status": {`{}`, unfinished},
			"running":          {`{status: {active: 1, startTime: "2026-05-04T12:10:00Z"}}`, unfinished},
			"complete": {`{status: {completionTime: "2026-05-04T12:12:30Z", conditions: [
				{type: SuccessCriteriaMet, status: "True", lastTransitionTime: "2026-05-04T12:12:30Z"},
				{type: Complete, status: "True", lastTransitionTime: "2026-05-04T12:12:31Z"}]}}`, succeeded("12:12:30")},
			"complete, at no time of its own": {`{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-05-04T12:12:31Z"}]}}`, succeeded("12:12:31")},
			"complete, at no time":            {`{status: {conditions: [{type: Complete, status: "True"}]}}`, outcome.Outcome{Phase: outcome.Succeeded}},
			"failed": {`{status: {conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded,
				message: Job has reached the specified backoff limit, lastTransitionTime: "2026-05-04T12:12:30Z"}]}}`, failed("12:12:30", "Job has reached the specified backoff limit")},
			"past its deadline": {`{status: {conditions: [{type: Failed, status: "True", reason: DeadlineExceeded,
				message: Job was active longer than specified deadline, lastTransitionTime: "2026-05-04T12:12:30Z"}]}}`, deadline},
			"about to fail":             {`{status: {conditions: [{type: FailureTarget, status: "True"}]}}`, unfinished},
			"suspended":                 {`{spec: {suspend: true}, status: {conditions: [{type: Suspended, status: "True"}]}}`, unfinished},
			"conditions that are false": {`{status: {conditions: [{type: Complete, status: "False"}, {type: Failed, status: Unknown}]}}`, unfinished},
			"both, failed first": {`{status: {completionTime: "2026-05-04T12:00:00Z", conditions: [{type: Failed, status: "True", lastTransitionTime: "2026-05-04T12:12:30Z"},
				{type: Complete, status: "True"}]}}`, failed("12:12:30", "")},
			"both, complete first": {`{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-05-04T12:12:30Z"},
				{type: Failed, status: "True"}]}}`, succeeded("12:12:30")},
			"a time with an offset": {`{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "2026-05-04T14:12:30+02:00"}]}}`, succeeded("12:12:30")},
			"rubbish":               {`{status: {conditions: [1, x, {type: 1, status: []}, {type: Complete, status: "True", lastTransitionTime: soon}]}}`, outcome.Outcome{Phase: outcome.Succeeded}},
			"conditions of no list": {`{status: {conditions: {type: Complete, status: "True"}}}`, unfinished},
			"a status of no object": {`{status: Complete}`, unfinished},
		},
		{"v1", "Pod"}: {
			"without a status": {`{}`, unfinished},
			"pending":          {`{status: {phase: Pending}}`, unfinished},
			"running":          {`{status: {phase: Running}}`, unfinished},
			"unknown":          {`{status: {phase: Unknown}}`, unfinished},
			"succeeded": {`{status: {phase: Succeeded, containerStatuses: [{state: {terminated: {finishedAt: "2026-05-04T12:11:00Z", exitCode: 0}}},
				{state: {terminated: {finishedAt: "2026-05-04T12:12:30Z"}}}], initContainerStatuses: [{state: {terminated: {finishedAt: "2026-05-04T12:10:30Z"}}}]}}`, succeeded("12:12:30")},
			"succeeded, with a sidecar": {`{status: {phase: Succeeded, containerStatuses: [{state: {terminated: {finishedAt: "2026-05-04T12:11:00Z"}}}],
				initContainerStatuses: [{state: {terminated: {finishedAt: "2026-05-04T12:11:02Z"}}}]}}`, succeeded("12:11:02")},
			"failed": {`{status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {finishedAt: "2026-05-04T12:11:00Z", exitCode: 0}}},
				{name: b, state: {terminated: {finishedAt: "2026-05-04T12:12:30Z", exitCode: 3}}}]}}`, failed("12:12:30", "container b ended with exit code 3")},
			"failed in an init container": {`{status: {phase: Failed, initContainerStatuses: [{name: i, state: {terminated: {finishedAt: "2026-05-04T12:12:30Z", exitCode: 1}}}],
				containerStatuses: [{name: a, state: {waiting: {reason: PodInitializing}}}], conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-05-04T12:10:01Z"}]}}`,
				failed("12:10:01", "container i ended with exit code 1")},
			"evicted": {`{status: {phase: Failed, reason: Evicted, message: The node was low on resource, conditions: [{type: Initialized, status: "True"},
				{type: Ready, status: "False", lastTransitionTime: "2026-05-04T12:12:30Z"}]}}`, failed("12:12:30", "The node was low on resource")},
			"refused by the node": {`{status: {phase: Failed, reason: OutOfcpu}}`, outcome.Outcome{Phase: outcome.Failed, Message: "OutOfcpu"}},
		},
		{"jobset.x-k8s.io/v1alpha2", "JobSet"}: {
			"without a status": {`{}`, unfinished},
			"started":          {`{status: {conditions: [{type: StartupPolicyCompleted, status: "True"}]}}`, unfinished},
			"completed": {`{status: {terminalState: Completed, conditions: [{type: Completed, status: "True", reason: AllJobsCompleted, lastTransitionTime: "2026-05-04T12:12:30Z"}]}}`,
				succeeded("12:12:30")},
			"failed": {`{status: {conditions: [{type: Failed, status: "True", reason: FailedJobs, message: jobset failed due to one or more job failures,
				lastTransitionTime: "2026-05-04T12:12:30Z"}]}}`, failed("12:12:30", "jobset failed due to one or more job failures")},
			"a condition of Job": {`{status: {conditions: [{type: Complete, status: "True"}]}}`, unfinished},
		},
		{"batch.volcano.sh/v1alpha1", "Job"}: {
			"without a status": {`{}`, unfinished},
			"running":          {`{status: {state: {phase: Running}}}`, unfinished},
			"aborted":          {`{status: {state: {phase: Aborted, lastTransitionTime: "2026-05-04T12:12:30Z"}}}`, unfinished},
			"completing":       {`{status: {state: {phase: Completing}}}`, unfinished},
			"completed":        {`{status: {state: {phase: Completed, lastTransitionTime: "2026-05-04T12:12:30Z"}}}`, succeeded("12:12:30")},
			"failed":           {`{status: {state: {phase: Failed, message: no more retries, lastTransitionTime: "2026-05-04T12:12:30Z"}}}`, failed("12:12:30", "no more retries")},
			"terminated":       {`{status: {state: {phase: Terminated, lastTransitionTime: "2026-05-04T12:12:30Z"}}}`, failed("12:12:30", "")},
		},
	} {
		rule := outcome.Known(kind[0], kind[1])
		if rule == nil {
			t.Fatalf("%v is not known", kind)
		}
		for sentence, c := range cases {
			obj := object(t, c.object)
			got, err := rule.Of(obj)
			if err != nil {
				t.Errorf("%v, %s: %v", kind, sentence, err)
			}
			if !got.Ended.Equal(c.want.Ended) {
				t.Errorf("%v, %s: ended %v, want %v", kind, sentence, got.Ended, c.want.Ended)
			}
			got.Ended = c.want.Ended
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%v, %s (-want +got):\n%s", kind, sentence, diff)
			}
			if diff := cmp.Diff(object(t, c.object), obj); diff != "" {
				t.Errorf("%v, %s: changed:\n%s", kind, sentence, diff)
			}
		}
	}
}

func TestOtherKinds(t *testing.T) {
	for _, kind := range [][2]string{{"batch/v2", "Job"}, {"v1", "ConfigMap"}, {"v1", "Job"}, {"velero.io/v1", "Backup"}, {"jobset.x-k8s.io/v1", "JobSet"}, {"", ""}} {
		if outcome.Known(kind[0], kind[1]) != nil {
			t.Errorf("%v is known", kind)
		}
	}
}

// A Job says the same, read as a Job or as what JSON holds.
func TestTypedJobsSayTheSame(t *testing.T) {
	moment := rapid.Custom(func(t *rapid.T) metav1.Time {
		if rapid.Bool().Draw(t, "absent") {
			return metav1.Time{}
		}
		return metav1.NewTime(at("12:00:00").Add(time.Duration(rapid.IntRange(0, 9999).Draw(t, "seconds")) * time.Second))
	})
	rapid.Check(t, func(t *rapid.T) {
		job := &batchv1.Job{}
		if done := moment.Draw(t, "completed"); !done.IsZero() {
			job.Status.CompletionTime = &done
		}
		for range rapid.IntRange(0, 4).Draw(t, "conditions") {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
				Type:               rapid.SampledFrom([]batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended, batchv1.JobFailureTarget}).Draw(t, "type"),
				Status:             rapid.SampledFrom([]corev1.ConditionStatus{"True", "True", "False", "Unknown"}).Draw(t, "status"),
				Reason:             rapid.SampledFrom([]string{"", "DeadlineExceeded", "BackoffLimitExceeded"}).Draw(t, "reason"),
				Message:            rapid.SampledFrom([]string{"", "because"}).Draw(t, "message"),
				LastTransitionTime: moment.Draw(t, "since"),
			})
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
		if err != nil {
			t.Fatal(err)
		}
		want, err := outcome.Known("batch/v1", "Job").Of(fields)
		if err != nil {
			t.Fatal(err)
		}
		got := outcome.OfJob(job)
		if !got.Ended.Equal(want.Ended) {
			t.Fatalf("ended %v, want %v", got.Ended, want.Ended)
		}
		got.Ended = want.Ended
		if got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}
