// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package timetable_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	"github.com/carillon-dev/carillon/internal/kind/timetable"
)

// running is a Timetable with a run under way.
func running(cron string) *timetable.Object {
	tt := &timetable.Object{Timetable: *tick()}
	tt.Generation, tt.CreationTimestamp = 1, metav1.NewTime(policyNow.AddDate(-2, 0, 0))
	tt.Spec.Schedules = []v1alpha1.Schedule{{Name: "main", Cron: cron}}
	tt.Status.Active = []v1alpha1.ActiveRun{{Name: "a", ScheduledTime: clock("12:10"), Trigger: "Schedule", Attempt: 1, StartTime: clock("12:10")}}
	tt.Status.Cursor = new(clock("12:10"))
	return tt
}

// Reading a Timetable is part of every pass: one as a client has it, as a cache has it, and the same while runs are
// under way.
func BenchmarkRead(b *testing.B) {
	tt := running("*/10 * * * *")
	waiting := tt.DeepCopy()
	waiting.Status.Active = nil
	for name, obj := range map[string]adapter.Object{"whole": tt, "waiting": worldKind.Compact(waiting), "running": worldKind.Compact(tt)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := worldKind.Read(obj, adapter.ReadOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a cache pays for its form.
func BenchmarkCompact(b *testing.B) {
	tt := running("*/10 * * * *")
	b.ReportAllocs()
	for b.Loop() {
		worldKind.Compact(tt)
	}
}

// TT-048: a pass after an outage of 400 days, in each minute of which a time was missed, up to the write of the status.
func BenchmarkOutage(b *testing.B) {
	tt := running("* * * * *")
	tt.Status = v1alpha1.TimetableStatus{}
	tt.CreationTimestamp = metav1.NewTime(policyNow.AddDate(0, 0, -400))
	firstPass(b, tt, tt.CreationTimestamp.Add(time.Second))
	obj := worldKind.Compact(tt)
	b.ReportAllocs()
	for b.Loop() {
		in := cron.Input{Now: policyNow.Add(30 * time.Second), Traits: worldKind.Info().Traits}
		var err error
		if in.Owner, in.Policy, in.Stored, err = worldKind.Read(obj, adapter.ReadOptions{}); err != nil {
			b.Fatal(err)
		}
		plan := cron.Decide(in)
		if len(plan.Starts) != 1 {
			b.Fatalf("nothing starts, or several: %s", plan)
		}
		in.AddStartResult(plan.Starts[0], cron.CreateResultOf(&cron.Child{UID: "j1", Name: plan.Starts[0].Name}, nil))
		if plan = cron.Decide(in); plan.StatusWrite == nil {
			b.Fatal("nothing is written")
		}
		if _, err := worldKind.Patches(obj, *plan.StatusWrite); err != nil {
			b.Fatal(err)
		}
	}
}

// The write of a status when a run has ended.
func BenchmarkPatches(b *testing.B) {
	tt := running("*/10 * * * *")
	for i := range 20 {
		at := clock("12:00").Add(time.Duration(-i) * 10 * time.Minute)
		tt.Status.Ledger = append(tt.Status.Ledger, v1alpha1.LedgerEntry{ScheduledTime: metav1.NewTime(at), Result: "Succeeded", Trigger: "Schedule",
			Run: timetable.RunName("tick", at), Attempts: 1, StartTime: new(metav1.NewTime(at)), EndTime: new(metav1.NewTime(at))})
	}
	obj := worldKind.Compact(tt)
	_, policy, memory, err := worldKind.Read(obj, adapter.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	memory.Active, memory.LastSuccessful = nil, &policyNow
	memory.Results.Counts.Succeeded++
	memory.Results.Ledger = append([]cron.RunOutcome{{Result: cron.Succeeded, Count: 1, First: policyNow, Last: policyNow, Run: "a"}}, memory.Results.Ledger[:19]...)
	b.ReportAllocs()
	for b.Loop() {
		if p, err := worldKind.Patches(obj, cron.StatusWrite{Memory: memory, Now: policyNow.Add(time.Minute), Times: policy.Timing.Times}); err != nil || len(p) != 1 {
			b.Fatal(p, err)
		}
	}
}

// due is a Timetable at a scheduled time, as a cache has it, with a full ledger and the Jobs that its history keeps.
// Text is what the server sends of it.
func due(b *testing.B) (obj adapter.Object, text []byte, jobs []adapter.Object) {
	tt := running("*/10 * * * *")
	tt.Status = v1alpha1.TimetableStatus{}
	firstPass(b, tt, clock("11:59").Time)
	for i := range 20 {
		at := clock("12:00").Add(time.Duration(-i) * 10 * time.Minute)
		tt.Status.Ledger = append(tt.Status.Ledger, v1alpha1.LedgerEntry{ScheduledTime: metav1.NewTime(at), Result: "Succeeded", Trigger: "Schedule",
			Run: timetable.RunName("tick", at), StartTime: new(metav1.NewTime(at)), EndTime: new(metav1.NewTime(at.Add(time.Second)))})
		if i < 3 {
			made, err := worldKind.Build(tt, adapter.Start{Start: cron.Start{Name: timetable.RunName("tick", at), Attempt: 1, Trigger: cron.TriggerSchedule, Time: at}})
			if err != nil {
				b.Fatal(err)
			}
			job := made.(*batchv1.Job)
			job.UID, job.CreationTimestamp = types.UID("job-"+job.Name), metav1.NewTime(at)
			job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True", LastTransitionTime: metav1.NewTime(at.Add(time.Second))}}
			job.Status.CompletionTime = new(metav1.NewTime(at.Add(time.Second)))
			jobs = append(jobs, job)
		}
	}
	tt.Status.Cursor, tt.Status.LastScheduleTime = new(clock("12:00")), new(clock("12:00"))
	text, err := json.Marshal(&tt.Timetable)
	if err != nil {
		b.Fatal(err)
	}
	read := &timetable.Object{} // its times are in the zone of the process
	if err := utiljson.Unmarshal(text, read); err != nil {
		b.Fatal(err)
	}
	return worldKind.Compact(read), text, jobs
}

func inputOf(b *testing.B, obj adapter.Object, jobs []adapter.Object, now time.Time) cron.Input {
	in := cron.Input{Now: now, Traits: worldKind.Info().Traits}
	var err error
	if in.Owner, in.Policy, in.Stored, err = worldKind.Read(obj, adapter.ReadOptions{}); err != nil {
		b.Fatal(err)
	}
	for _, job := range jobs {
		child, err := worldKind.ReadChild(job, batchv1.SchemeGroupVersion.WithKind("Job"), obj)
		if err != nil {
			b.Fatal(err)
		}
		in.Children = append(in.Children, child)
	}
	slices.Reverse(in.Children) // by name, as the shell has them
	return in
}

// withStart makes the child of the start that is due, and gives the input after its create.
func withStart(b *testing.B, obj adapter.Object, in cron.Input) cron.Input {
	plan := cron.Decide(in)
	if len(plan.Starts) != 1 {
		b.Fatalf("nothing starts, or several: %s", plan)
	}
	job, err := worldKind.Build(obj, adapter.Start{Start: plan.Starts[0], Timing: in.Policy.Timing, Memory: plan.StatusWrite.Memory})
	if err != nil {
		b.Fatal(err)
	}
	child, err := worldKind.ReadChild(job, batchv1.SchemeGroupVersion.WithKind("Job"), obj)
	if err != nil {
		b.Fatal(err)
	}
	child.UID = "j1"
	in.AddStartResult(plan.Starts[0], cron.CreateResultOf(&child, nil))
	return in
}

// A start: all but the request that creates the Job, and the decision after its answer. Thousands of Timetables may be
// due at one instant.
func BenchmarkStart(b *testing.B) {
	obj, _, jobs := due(b)
	b.ReportAllocs()
	for b.Loop() {
		in := withStart(b, obj, inputOf(b, obj, jobs, clock("12:10").Time))
		if plan := cron.Decide(in); plan.NextStep() != cron.StepWriteStatus {
			b.Fatalf("nothing is written: %s", plan)
		}
	}
}

// The second half of the same: what is written, and the decision after it.
func BenchmarkRecord(b *testing.B) {
	obj, _, jobs := due(b)
	first := withStart(b, obj, inputOf(b, obj, jobs, clock("12:10").Time))
	b.ReportAllocs()
	for b.Loop() {
		in := first
		if _, err := worldKind.Patches(obj, *cron.Decide(in).StatusWrite); err != nil {
			b.Fatal(err)
		}
		in.AddStatusWriteResult(nil)
		if plan := cron.Decide(in); plan.NextStep() != cron.StepPublish {
			b.Fatalf("something is left: %s", plan)
		}
	}
}

// What the server answers to a write, and sends to the watch once more.
func BenchmarkAnswer(b *testing.B) {
	_, text, _ := due(b)
	b.ReportAllocs()
	for b.Loop() {
		tt := &timetable.Object{}
		if err := utiljson.Unmarshal(text, tt); err != nil {
			b.Fatal(err)
		}
		worldKind.Compact(tt)
	}
}
