// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
	runs "github.com/carillon-dev/carillon/internal/plan/run"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// Run is an object that was made from a CronJob or Timetable.
type Run struct {
	cron.Child
	// ScheduledTime is the scheduled time that it was made for, zero if it does not tell; TimeFrom is what tells it.
	ScheduledTime time.Time
	TimeFrom      string
	// ByHand: somebody made it, and no schedule.
	ByHand bool
	// Trigger is Schedule, CatchUp or Manual; "" if it does not tell.
	Trigger string
	// Ended is when it ended; zero if it has not, or does not tell.
	Ended time.Time
	// Job is the object as a Job of batch/v1; nil if it is another kind.
	Job *batchv1.Job
	// Remembered is what a journal has of it; nil if the object is there.
	Remembered *runs.Run
}

// by is how evidence names it: "Job backup-29412345".
func (r *Run) by() string { return r.Kind + " " + r.Name }

// Active tells whether it has not ended.
func (r *Run) Active() bool { return r.Phase != cron.Complete && r.Phase != cron.Failed }

// covers tells whether it existed and had not ended at an instant, as far as it tells.
func (r *Run) covers(t time.Time) bool {
	switch {
	case r.Created.IsZero() || r.Created.After(t):
		return false
	case r.Active():
		return true
	}
	return r.Ended.After(t)
}

// result is how it ended, in one word.
func (r *Run) result() string {
	if r.Remembered != nil {
		return string(r.Remembered.Outcome)
	}
	switch r.Phase {
	case cron.Complete:
		return "Succeeded"
	case cron.Failed:
		return "Failed"
	}
	return "Active"
}

// facts are those for the answer.
func (r *Run) facts() *RunFacts {
	f := &RunFacts{Kind: r.Kind, Name: r.Name, Trigger: r.Trigger, Attempt: max(1, r.Attempt), ScheduledTime: optional(r.ScheduledTime),
		StartTime: optional(r.Created), EndTime: optional(r.Ended), Result: r.result()}
	if r.ByHand {
		f.ScheduledTime = nil
	}
	if f.ScheduledTime != nil && f.StartTime != nil {
		f.LateSeconds = new(max(0, r.Created.Sub(r.ScheduledTime).Seconds()))
	}
	return f
}

// runsOf are the objects that a CronJob or Timetable controls, and those that somebody made from it by hand.
func runsOf(s *workload.Scheduled, objects []workload.Object) []Run {
	var found []Run
	for _, o := range objects {
		ref := metav1.GetControllerOfNoCopy(o.Content)
		if !refersTo(ref, s) || cmp.Or(o.Content.GetNamespace(), s.Owner.Namespace) != s.Owner.Namespace {
			continue
		}
		found = append(found, readRun(s, o.Content))
	}
	slices.SortStableFunc(found, func(a, b Run) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	return found
}

func readRun(s *workload.Scheduled, content *unstructured.Unstructured) Run {
	info := s.Kind.Info()
	gvk := content.GroupVersionKind()
	run := Run{Child: adapter.Child(content, gvk, info)}
	if typed, err := s.Child(content); err == nil {
		if child, err := s.Kind.ReadChild(typed, gvk, s.Typed); err == nil {
			run.Child = child
		}
	}
	run.Namespace = s.Owner.Namespace
	if gvk == batchv1.SchemeGroupVersion.WithKind("Job") {
		run.Job, _ = as[batchv1.Job](content)
	}
	run.Ended = endOf(&run)
	origin := runs.OriginOf(s.Kind, s.Owner.Name, content)
	run.ByHand, run.Trigger = origin.Trigger == runs.Manual, string(origin.Trigger)
	if run.ByHand {
		return run
	}
	run.ScheduledTime, run.TimeFrom = origin.ScheduledTime, origin.TimeFrom
	if origin.Retry > 0 {
		run.Attempt = origin.Retry
	}
	return run
}

// endOf is when a run ended.
func endOf(r *Run) time.Time {
	if r.Active() {
		return time.Time{}
	}
	if r.Finished != nil {
		return *r.Finished
	}
	if r.Job != nil {
		if c := job.FinishedCondition(r.Job.Status.Conditions); c != nil {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// timeInName reads the scheduled time out of the name that a CronJob or Timetable gives what it starts.
func timeInName(s *workload.Scheduled, name string) (time.Time, bool) {
	return runs.TimeInName(s.Kind, s.Owner.Name, name)
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// runsAt are the runs of a scheduled time, by attempt.
func (e *Evidence) runsAt(t time.Time) []*Run {
	var found []*Run
	for i := range e.Runs {
		if r := &e.Runs[i]; !r.ByHand && r.ScheduledTime.Equal(t) && !r.ScheduledTime.IsZero() {
			found = append(found, r)
		}
	}
	return found
}

// newestRun is the latest one that the schedule has started, nil if there is none.
func (e *Evidence) newestRun() *Run {
	for i := len(e.Runs) - 1; i >= 0; i-- {
		if r := &e.Runs[i]; !r.ByHand && !r.ScheduledTime.IsZero() {
			return r
		}
	}
	return nil
}

// activeAt are the runs that existed and had not ended at an instant; except is left out.
func (e *Evidence) activeAt(t time.Time, except *Run) []*Run {
	var found []*Run
	for i := range e.Runs {
		if r := &e.Runs[i]; r != except && r.covers(t) {
			found = append(found, r)
		}
	}
	return found
}

// describe tells of a run as evidence.
func (b *builder) describe(r *Run) {
	text := "created " + b.clock(r.Created)
	if r.Created.IsZero() {
		text = "it exists"
	}
	switch {
	case r.ByHand:
		text += ", by hand"
	case r.TimeFrom != "":
		text += " for " + b.clock(r.ScheduledTime)
		if r.Remembered == nil {
			text += " (" + r.TimeFrom + ")"
		}
	}
	switch {
	case !r.Active() && !r.Ended.IsZero():
		text += fmt.Sprintf("; %s %s", strings.ToLower(r.result()), b.clock(r.Ended))
	case !r.Active():
		text += "; " + strings.ToLower(r.result())
	case r.Suspended:
		text += "; suspended"
	default:
		text += "; not finished"
		if r.Status != "" {
			text += " (" + r.Status + ")"
		}
	}
	if r.Remembered != nil {
		b.show(journalSource, r.Created, "%s", r.by()+" "+text)
		return
	}
	b.show(r.by(), r.Created, "%s", text)
}
