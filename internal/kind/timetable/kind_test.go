// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
	"github.com/carillon-dev/carillon/internal/testkit/vectors"
)

// Each field of a spec is read as the contract says; one that is absent counts as its default, as it does where the API
// server has not filled it in.
func TestReadPolicy(t *testing.T) {
	kept := cron.Retention{Limit: new(int32(3))}
	fixture := func(change func(*cron.Policy)) cron.Policy {
		p := cron.Policy{Room: cron.Room{Limit: 1, WaitLimit: 1}, CatchUp: cron.CatchUp{Policy: cron.CatchUpLatest, Limit: 10}, Succeeded: kept, Failed: kept,
			KeepAtLeast: time.Minute, Ledger: 20, LateAfter: 10 * time.Minute, Conditions: true}
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		spec string
		want func(*cron.Policy)
	}{
		"nothing":       {want: func(p *cron.Policy) {}},
		"deadline":      {"{startingDeadline: 1h1s}", func(p *cron.Policy) { p.Deadline = new(int64(3601)) }},
		"catch up none": {"{catchUp: {policy: None}}", func(p *cron.Policy) { p.CatchUp.Policy = cron.CatchUpNone }},
		"catch up all":  {"{catchUp: {policy: All, limit: 4}}", func(p *cron.Policy) { p.CatchUp = cron.CatchUp{Policy: cron.CatchUpAll, Limit: 4} }},
		"forbid, limit": {"{concurrency: {limit: 4}}", func(p *cron.Policy) { p.Room.Limit = 4 }},
		"queue":         {"{concurrency: {policy: Queue}}", func(p *cron.Policy) { p.Room = cron.Room{Limit: 1, WaitLimit: 10, Queues: true} }},
		"queue, places": {"{concurrency: {policy: Queue, queueLimit: 0}}", func(p *cron.Policy) { p.Room = cron.Room{Limit: 1, Queues: true} }},
		"replace":       {"{concurrency: {policy: Replace, limit: 2}}", func(p *cron.Policy) { p.Room = cron.Room{Limit: 2, WaitLimit: 1, Stops: true} }},
		"allow":         {"{concurrency: {policy: Allow}}", func(p *cron.Policy) { p.Room.Limit = 100 }},
		"suspend":       {"{suspend: true}", func(p *cron.Policy) { p.Suspend = true }},
		"retry": {"{retry: {limit: 2}}", func(p *cron.Policy) {
			p.Retry = cron.Retry{Limit: 2, Delay: 10 * time.Second, MaxDelay: 10 * time.Minute}
		}},
		"retry, delays": {"{retry: {limit: 1, delay: 1m, maxDelay: 2m}}", func(p *cron.Policy) { p.Retry = cron.Retry{Limit: 1, Delay: time.Minute, MaxDelay: 2 * time.Minute} }},
		"timeout":       {"{timeout: 1m}", func(p *cron.Policy) { p.Timeout = time.Minute }},
		"late after":    {"{lateAfter: 1m}", func(p *cron.Policy) { p.LateAfter = time.Minute }},
		"history": {"{history: {succeeded: {limit: 0, maxAge: 1h}, failed: {limit: 7}, ledger: 0}}", func(p *cron.Policy) {
			p.Succeeded, p.Failed, p.Ledger = cron.Retention{Limit: new(int32(0)), MaxAge: time.Hour}, cron.Retention{Limit: new(int32(7))}, 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range []*world{newWorld(t, c.spec), withoutDefaults(t, c.spec)} {
				owner, policy, _, err := worldKind.Read(w.stored(), adapter.ReadOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if policy.Timing.Times == nil || policy.Timing.Obstacle != nil || policy.Timing.Fingerprint == "" {
					t.Errorf("timing %+v", policy.Timing)
				}
				template, _ := timetable.ReadTemplate(&w.stored().Spec)
				if policy.Template != template.Fingerprint() {
					t.Errorf("template %q", policy.Template)
				}
				policy.Timing, policy.Template = cron.Timing{}, ""
				if policy.CatchUp.Policy == "" {
					policy.CatchUp.Policy = cron.CatchUpLatest
				}
				if diff := cmp.Diff(fixture(c.want), policy); diff != "" {
					t.Error(diff)
				}
				if owner.Name != "tick" || owner.Namespace != "ops" || owner.UID != "u1" || !owner.ScheduleUnchangedSince.IsZero() {
					t.Errorf("owner %+v", owner)
				}
			}
		})
	}
}

// withoutDefaults is a Timetable whose absent fields nobody has filled in.
func withoutDefaults(t *testing.T, spec string) *world {
	w := newWorld(t, "")
	bare := vectors.Timetable(t)
	if spec == "" {
		spec = "{}"
	}
	w.timetable["spec"] = merged(bare["spec"], map[string]any(vectors.Decode(t, spec)))
	return w
}

// What a status holds comes back as it was: a pass that changes nothing writes nothing.
func TestStatusIsReadAsItWasWritten(t *testing.T) {
	words := []string{"", "RunFailed", "Timeout", "Replaced", "Deleted", "Suspended", "Superseded", "QueueFull", "Edited", "Outage", "CatchUpLimit",
		"Deadline", "CreateFailed", "NameTaken", "OfANewerVersion"}
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		moment := func() metav1.Time { return metav1.Unix(1777896000+r.Int64N(100_000), 0) }
		maybe := func() *metav1.Time {
			if r.IntN(2) == 0 {
				return nil
			}
			return new(moment())
		}
		s := v1alpha1.TimetableStatus{ObservedGeneration: 1, LastScheduleTime: maybe(), LastStartTime: new(metav1.Unix(1777996001, 0)), LastSuccessfulTime: maybe(),
			LastSuccessScheduledTime: maybe(), LastFailureTime: maybe(), LastMissedTime: maybe(), MissRecordedTime: maybe(), Cursor: maybe(),
			ConsecutiveFailures: r.Int32N(9), ConsecutiveReplaced: r.Int32N(9), Counts: v1alpha1.Counts{Started: r.Int64N(9), Missed: r.Int64N(9)},
			CheckedTemplate: "0123456789abcdef", Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}, Pause: &v1alpha1.Pause{Since: maybe(), Base: r.Int32N(9)},
			Timing: &v1alpha1.Timing{Fingerprint: "0123456789abcdef", Since: moment()}}
		for range r.IntN(4) {
			s.Active = append(s.Active, v1alpha1.ActiveRun{Name: "a", UID: "u", ScheduledTime: moment(), Trigger: v1alpha1.TriggerCatchUp, Attempt: 1 + r.Int32N(3),
				StartTime: moment(), RetryAt: maybe(), Stopping: words[r.IntN(4)]})
			s.Waiting = append(s.Waiting, v1alpha1.WaitingTime{ScheduledTime: moment(), Trigger: v1alpha1.TriggerSchedule, Reason: "CreateFailed", Since: maybe(),
				Message: "the words of the server"})
			s.Waiting[len(s.Waiting)-1].StartsAt = s.Waiting[len(s.Waiting)-1].ScheduledTime
			s.Ledger = append(s.Ledger, v1alpha1.LedgerEntry{ScheduledTime: moment(), Trigger: v1alpha1.TriggerSchedule, Result: v1alpha1.ResultFailed,
				Reason: words[r.IntN(len(words))], Run: "r", Attempts: 2, StartTime: maybe(), EndTime: maybe(), Message: "why"},
				v1alpha1.LedgerEntry{ScheduledTime: moment(), Until: new(moment()), Count: 2 + r.Int32N(9), Result: v1alpha1.ResultMissed, Reason: "Outage"})
		}
		s.ActiveCount, s.WaitingCount = int32(len(s.Active)), int32(len(s.Waiting))
		tt := readable(t, s)
		_, policy, memory, err := worldKind.Read(tt, adapter.ReadOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		patches, err := worldKind.Patches(tt, cron.StatusWrite{Memory: memory, Now: policyNow, Times: policy.Timing.Times})
		if err != nil {
			rt.Fatal(err)
		}
		for _, p := range patches { // next follows from the clock
			var patch struct{ Status map[string]any }
			if err := utiljson.Unmarshal(p.Data, &patch); err != nil {
				rt.Fatal(err)
			}
			delete(patch.Status, "next")
			if len(patch.Status) > 0 {
				rt.Fatalf("changes %v", patch.Status)
			}
		}
	})
}

var policyNow = time.Date(2026, 5, 4, 12, 10, 0, 0, time.UTC)

// readable is a Timetable with that status, as a cache holds it.
func readable(t *testing.T, s v1alpha1.TimetableStatus) *timetable.Object {
	t.Helper()
	from := tick()
	from.Generation = 1
	from.CreationTimestamp = metav1.Unix(1777890000, 0)
	from.Spec.Schedules = []v1alpha1.Schedule{{Name: "main", Cron: "*/10 * * * *"}}
	from.Status = s
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	tt := &timetable.Object{}
	if err := json.Unmarshal(text, tt); err != nil {
		t.Fatal(err)
	}
	return tt
}

// TT-184: the largest status that there may be is read and written.
func TestWorstStatusIsReadAndWritten(t *testing.T) {
	tt := readable(t, *vectors.WorstTimetableStatus(policyNow))
	_, policy, memory, err := worldKind.Read(tt, adapter.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	memory.Cursor = new(policyNow.Add(time.Hour))
	patches, err := worldKind.Patches(tt, cron.StatusWrite{Memory: memory, Now: policyNow, Times: policy.Timing.Times})
	if err != nil || len(patches) != 1 || len(patches[0].Data) > 200<<10 {
		t.Errorf("%d patches, %v", len(patches), err)
	}
}

// A child says how it ended by its kind; whose it is, by its controller and its label together (TT-020, TT-240).
func TestReadChild(t *testing.T) {
	tt := readable(t, v1alpha1.TimetableStatus{})
	job := func(change func(*batchv1.Job)) *batchv1.Job {
		j := &batchv1.Job{}
		j.Namespace, j.Name, j.UID = "ops", "tick-20260504-121000-r2", "j1"
		j.Labels = map[string]string{v1alpha1.LabelTimetableUID: "u1"}
		j.Annotations = map[string]string{v1alpha1.AnnotationScheduledTime: "2026-05-04T12:10:00Z", v1alpha1.AnnotationAttempt: "2"}
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(tt, v1alpha1.GroupVersion.WithKind("Timetable"))}
		change(j)
		return j
	}
	ended := func(kind batchv1.JobConditionType, reason string) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(policyNow)}}
		}
	}
	for name, c := range map[string]struct {
		job  *batchv1.Job
		want func(*cron.Child)
	}{
		"unfinished":        {job(func(*batchv1.Job) {}), func(*cron.Child) {}},
		"complete":          {job(ended(batchv1.JobComplete, "")), func(c *cron.Child) { c.Phase, c.Succeeded, c.Finished = cron.Complete, true, &policyNow }},
		"failed":            {job(ended(batchv1.JobFailed, "BackoffLimitExceeded")), func(c *cron.Child) { c.Phase, c.Finished = cron.Failed, &policyNow }},
		"deadline exceeded": {job(ended(batchv1.JobFailed, "DeadlineExceeded")), func(c *cron.Child) { c.Phase, c.TimedOut, c.Finished = cron.Failed, true, &policyNow }},
		"without our label": {job(func(j *batchv1.Job) { j.Labels = nil }), func(c *cron.Child) { c.Controller = nil }},
		"made up for":       {job(func(j *batchv1.Job) { j.Labels[v1alpha1.LabelTrigger] = "catch-up" }), func(c *cron.Child) { c.Trigger = cron.TriggerCatchUp }},
		"no number":         {job(func(j *batchv1.Job) { delete(j.Annotations, v1alpha1.AnnotationAttempt) }), func(c *cron.Child) { c.Attempt, c.Trigger, c.Stamp = 0, "", "" }},
		"part of a second": {job(func(j *batchv1.Job) { j.Annotations[v1alpha1.AnnotationScheduledTime] = "2026-05-04T12:10:00.5Z" }),
			func(c *cron.Child) { c.Attempt, c.Trigger, c.Stamp = 0, "", "" }},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(c.job)
			if err != nil {
				t.Fatal(err)
			}
			loose := &unstructured.Unstructured{}
			if err := utiljson.Unmarshal(text, &loose.Object); err != nil {
				t.Fatal(err)
			}
			kind := batchv1.SchemeGroupVersion.WithKind("Job")
			want := cron.Child{APIVersion: "batch/v1", Kind: "Job", Namespace: "ops", Name: "tick-20260504-121000-r2", UID: "j1", Attempt: 2,
				Trigger: cron.TriggerSchedule, Controller: &c.job.OwnerReferences[0], Stamp: "2026-05-04T12:10:00Z", OwnDeadline: true}
			c.want(&want)
			for form, obj := range map[string]adapter.Object{"typed": c.job, "unstructured": loose.DeepCopy(), "trimmed": worldKind.TrimChild(loose, kind)} {
				got, err := worldKind.ReadChild(obj, kind, tt)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
					t.Errorf("%s: %s", form, diff)
				}
			}
		})
	}
	if _, err := worldKind.ReadChild(&corev1.Pod{}, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, tt); err == nil {
		t.Error("a Pod of its Go type is read")
	}
}

// What is no Timetable is an error and no panic; what cannot be read says so, and has no children.
func TestOtherObjects(t *testing.T) {
	if _, _, _, err := worldKind.Read(&corev1.Pod{}, adapter.ReadOptions{}); err == nil {
		t.Error("a Pod is read")
	}
	if _, err := worldKind.Patches(&corev1.Pod{}, cron.StatusWrite{}); err == nil {
		t.Error("a Pod is patched")
	}
	if _, err := worldKind.Build(&corev1.Pod{}, adapter.Start{}); err == nil {
		t.Error("a Pod's child is built")
	}
	broken := &timetable.Object{}
	if err := json.Unmarshal([]byte(`{"metadata": {"name": "tick", "uid": "u1"}, "spec": {"schedules": 7}}`), broken); err != nil {
		t.Fatal(err)
	}
	owner, _, _, err := worldKind.Read(broken, adapter.ReadOptions{})
	var unreadable *adapter.Unreadable
	if !errors.As(err, &unreadable) || owner.Name != "tick" {
		t.Errorf("%+v, %v", owner, err)
	}
	if kinds := worldKind.ChildKinds(broken); kinds != nil {
		t.Errorf("it has children %v", kinds)
	}
	if worldKind.MayBeChild(v1alpha1.GroupVersion.WithKind("Timetable")) || !worldKind.MayBeChild(schema.GroupVersionKind{Group: "batch", Kind: "Job"}) {
		t.Error("which kinds may be children (TT-202)")
	}
}

// The event of a pause names what ends it.
func TestResumeAnnotation(t *testing.T) {
	if got := (timetable.Kind{}).Info().Traits.ResumeAnnotation; got != v1alpha1.AnnotationResume {
		t.Errorf("the annotation is %q", got)
	}
}
