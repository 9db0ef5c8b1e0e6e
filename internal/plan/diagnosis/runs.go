// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/api/v1alpha1"
	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/job"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
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
	var runs []Run
	for _, o := range objects {
		ref := metav1.GetControllerOfNoCopy(o.Content)
		if !refersTo(ref, s) || cmp.Or(o.Content.GetNamespace(), s.Owner.Namespace) != s.Owner.Namespace {
			continue
		}
		runs = append(runs, readRun(s, o.Content))
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name)) })
	return runs
}

func readRun(s *workload.Scheduled, content *unstructured.Unstructured) Run {
	info := s.Kind.Info()
	gvk := content.GroupVersionKind()
	run := Run{Child: adapter.Child(content, gvk, info)}
	if typed, err := s.Child(content); err == nil {
		if child, err := s.Kind.ReadChild(typed, gvk, s.Typed); err == nil {
			stamp := run.Stamp
			run.Child = child
			run.Stamp = cmp.Or(child.Stamp, stamp)
		}
	}
	run.Namespace = s.Owner.Namespace
	if gvk == batchv1.SchemeGroupVersion.WithKind("Job") {
		run.Job, _ = as[batchv1.Job](content)
	}
	run.Ended = endOf(&run)
	run.ByHand = madeByHand(s, content)
	if run.ByHand {
		run.Trigger = "Manual"
		return run
	}
	run.ScheduledTime, run.TimeFrom = scheduledTimeOf(s, content, run.Stamp)
	if !run.ScheduledTime.IsZero() {
		run.Trigger = "Schedule"
	}
	if content.GetLabels()[v1alpha1.LabelTrigger] == "catch-up" {
		run.Trigger = "CatchUp"
	}
	if n, err := strconv.Atoi(content.GetAnnotations()[v1alpha1.AnnotationAttempt]); err == nil && n > 0 {
		run.Attempt = n
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

// instantiate is the annotation that kubectl sets on a Job that it makes from a CronJob.
const instantiate = "cronjob.kubernetes.io/instantiate"

// madeByHand tells whether nobody's schedule made an object: it says so, or it says nothing and has not the name that a
// schedule gives.
func madeByHand(s *workload.Scheduled, content *unstructured.Unstructured) bool {
	annotations, labels := content.GetAnnotations(), content.GetLabels()
	if annotations[instantiate] != "" || labels[v1alpha1.LabelTrigger] == "manual" {
		return true
	}
	if s.Timetable() != nil || annotations[s.Kind.Info().StampAnnotation] != "" {
		return false
	}
	_, named := timeInName(s, content.GetName())
	return !named
}

// scheduledTimeOf is the time that an object was made for: as its annotation says, or its name.
func scheduledTimeOf(s *workload.Scheduled, content *unstructured.Unstructured, stamp string) (t time.Time, from string) {
	annotation := s.Kind.Info().StampAnnotation
	if t, err := time.Parse(time.RFC3339, cmp.Or(stamp, content.GetAnnotations()[annotation])); err == nil {
		return t.UTC(), "annotation " + annotation
	}
	if t, ok := timeInName(s, content.GetName()); ok {
		return t, "its name"
	}
	return time.Time{}, ""
}

// runNameTime is how the names of a Timetable's runs write their time.
const runNameTime = "20060102-150405"

// timeInName reads the scheduled time out of the name that a CronJob or Timetable gives what it starts.
func timeInName(s *workload.Scheduled, name string) (time.Time, bool) {
	traits := s.Kind.Info().Traits
	if traits.RunName != nil {
		base, retry, found := cutLast(name, "-r")
		if _, err := strconv.Atoi(retry); !found || err != nil {
			base = name
		}
		if len(base) < len(runNameTime) {
			return time.Time{}, false
		}
		t, err := time.Parse(runNameTime, base[len(base)-len(runNameTime):])
		return t, err == nil && traits.RunName(s.Owner.Name, t) == base
	}
	number, found := strings.CutPrefix(name, s.Owner.Name+"-")
	n, err := strconv.ParseInt(number, 10, 64)
	unit := int64(max(traits.NameUnit, time.Second) / time.Second)
	const latest = 1 << 35 // seconds, after the year 3000: another number is none of ours
	if !found || err != nil || n <= 0 || n > latest/unit {
		return time.Time{}, false
	}
	if t := time.Unix(n*unit, 0).UTC(); t.Year() >= 2000 {
		return t, true
	}
	return time.Time{}, false
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
		text += fmt.Sprintf(" for %s (%s)", b.clock(r.ScheduledTime), r.TimeFrom)
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
	b.show(r.by(), r.Created, "%s", text)
}
