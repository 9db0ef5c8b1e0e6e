// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/carillon-dev/carillon/internal/interval"
)

// Violation is a rule about a Job's status that a write would break. The API server refuses such a write with 422,
// every time, so a violation in a status of ours is a bug to report, not an error to retry.
type Violation struct {
	// ID of the rule, "INV-01" to "INV-29" (job.md section 9).
	ID string
	// Problem in words.
	Problem string
}

func (v Violation) String() string { return v.ID + ": " + v.Problem }

// CheckStatus gives the rules of the API server that a status write from old to updated breaks; none means that it will
// be taken. Spec is read from updated. Rules with a condition look at a part of the status only when that part changed:
// right after an edit of the spec a status may break them until the controller has caught up. Facts:
// getStatusValidationOptions in pkg/registry/batch/job/strategy.go and ValidateJobStatusUpdate in
// pkg/apis/batch/validation.
func CheckStatus(old, updated *batchv1.Job) []Violation {
	c := compare(old, updated)
	var found []Violation
	for _, rule := range invariants {
		if rule.when != nil && !rule.when(c) {
			continue
		}
		if problem := rule.broken(c); problem != "" {
			found = append(found, Violation{ID: rule.id, Problem: problem})
		}
	}
	return found
}

// comparison is two statuses and what differs between them.
type comparison struct {
	spec              *batchv1.JobSpec
	old, new          *batchv1.JobStatus
	was, is           conditionSet
	indexed, finished bool
	active, ready, terminating, uncounted, startTime, completionTime,
	completedIndexes, failedIndexes bool // changed
}

type conditionSet struct{ complete, failed, failureTarget, criteriaMet bool }

func (h conditionSet) finished() bool { return h.complete || h.failed }

func conditionsOf(s *batchv1.JobStatus) conditionSet {
	return conditionSet{
		complete:      hasTrue(s.Conditions, batchv1.JobComplete),
		failed:        hasTrue(s.Conditions, batchv1.JobFailed),
		failureTarget: hasTrue(s.Conditions, batchv1.JobFailureTarget),
		criteriaMet:   hasTrue(s.Conditions, batchv1.JobSuccessCriteriaMet),
	}
}

func compare(oldJob, newJob *batchv1.Job) *comparison {
	o, n := &oldJob.Status, &newJob.Status
	c := &comparison{spec: &newJob.Spec, old: o, new: n, was: conditionsOf(o), is: conditionsOf(n)}
	c.indexed = CompletionMode(newJob) == batchv1.IndexedCompletion
	c.finished = c.is.finished()
	c.active = o.Active != n.Active
	c.ready = !ptr.Equal(o.Ready, n.Ready)
	c.terminating = !ptr.Equal(o.Terminating, n.Terminating)
	c.uncounted = !equality.Semantic.DeepEqual(o.UncountedTerminatedPods, n.UncountedTerminatedPods)
	c.startTime = !o.StartTime.Equal(n.StartTime)
	c.completionTime = !o.CompletionTime.Equal(n.CompletionTime)
	c.completedIndexes = o.CompletedIndexes != n.CompletedIndexes
	c.failedIndexes = !ptr.Equal(o.FailedIndexes, n.FailedIndexes)
	return c
}

// invariant is one rule: looked at when its condition holds (always without one), broken when it gives a text.
type invariant struct {
	id     string
	when   func(*comparison) bool
	broken func(*comparison) string
}

func finishedChanged(c *comparison) bool    { return c.was.finished() != c.is.finished() }
func completeChanged(c *comparison) bool    { return c.was.complete != c.is.complete }
func failedChanged(c *comparison) bool      { return c.was.failed != c.is.failed }
func targetChanged(c *comparison) bool      { return c.was.failureTarget != c.is.failureTarget }
func criteriaMetChanged(c *comparison) bool { return c.was.criteriaMet != c.is.criteriaMet }

func either(conditions ...func(*comparison) bool) func(*comparison) bool {
	return func(c *comparison) bool {
		for _, holds := range conditions {
			if holds(c) {
				return true
			}
		}
		return false
	}
}

func says(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

var invariants = []invariant{
	{"INV-01", nil, func(c *comparison) string {
		s := c.new
		lowest := min(s.Active, s.Succeeded, s.Failed, ptr.Deref(s.Ready, 0), ptr.Deref(s.Terminating, 0))
		return says(lowest < 0, "a counter is negative: %d", lowest)
	}},
	{"INV-02", nil, func(c *comparison) string {
		if c.new.UncountedTerminatedPods == nil {
			return ""
		}
		seen := sets.New[types.UID]()
		for _, list := range [][]types.UID{c.new.UncountedTerminatedPods.Succeeded, c.new.UncountedTerminatedPods.Failed} {
			for _, uid := range list {
				if uid == "" || seen.Has(uid) {
					return fmt.Sprintf("uncounted UID %q is empty or there twice", uid)
				}
				seen.Insert(uid)
			}
		}
		return ""
	}},
	{"INV-03", nil, func(c *comparison) string {
		return says(c.is.criteriaMet && c.is.failed, "SuccessCriteriaMet and Failed")
	}},
	{"INV-04", nil, func(c *comparison) string {
		return says(c.is.criteriaMet && c.is.failureTarget, "SuccessCriteriaMet and FailureTarget")
	}},
	{"INV-05", nil, func(c *comparison) string {
		return says(c.spec.SuccessPolicy != nil && c.is.complete && !c.is.criteriaMet, "Complete without SuccessCriteriaMet although there is a success policy")
	}},
	{"INV-06", nil, func(c *comparison) string {
		return says(c.was.criteriaMet && !c.is.criteriaMet, "SuccessCriteriaMet taken back")
	}},
	{"INV-07", nil, func(c *comparison) string {
		return says(c.was.complete && !c.was.criteriaMet && c.is.criteriaMet, "SuccessCriteriaMet added to a Job that is Complete")
	}},
	{"INV-08", nil, func(c *comparison) string {
		return says(c.new.Failed < c.old.Failed, "failed goes down from %d to %d", c.old.Failed, c.new.Failed)
	}},
	{"INV-09", func(c *comparison) bool { return !c.indexed || !ptr.Equal(c.spec.Completions, c.spec.Parallelism) }, func(c *comparison) string {
		return says(c.new.Succeeded < c.old.Succeeded, "succeeded goes down from %d to %d", c.old.Succeeded, c.new.Succeeded)
	}},
	{"INV-10", nil, func(c *comparison) string {
		lost := c.was.failed && !c.is.failed || c.was.complete && !c.is.complete || c.was.failureTarget && !c.is.failureTarget
		return says(lost, "Failed, Complete or FailureTarget taken back")
	}},
	{"INV-11", nil, func(c *comparison) string {
		return says(c.old.CompletionTime != nil && c.new.CompletionTime != nil && c.completionTime, "completionTime changed")
	}},
	{"INV-12", func(c *comparison) bool { return c.completedIndexes && c.spec.Completions != nil }, func(c *comparison) string {
		_, err := interval.ParseStrict(c.new.CompletedIndexes, int(*c.spec.Completions))
		return says(err != nil, "completedIndexes %q: %v", c.new.CompletedIndexes, err)
	}},
	{"INV-13", func(c *comparison) bool {
		return c.failedIndexes && c.new.FailedIndexes != nil && c.spec.Completions != nil && c.spec.BackoffLimitPerIndex != nil
	}, func(c *comparison) string {
		_, err := interval.ParseStrict(*c.new.FailedIndexes, int(*c.spec.Completions))
		return says(err != nil, "failedIndexes %q: %v", *c.new.FailedIndexes, err)
	}},
	{"INV-14", func(c *comparison) bool { return c.completedIndexes }, func(c *comparison) string {
		return says(!c.indexed && c.new.CompletedIndexes != "", "completedIndexes of a NonIndexed Job")
	}},
	{"INV-15", func(c *comparison) bool { return c.failedIndexes }, func(c *comparison) string {
		return says(c.spec.BackoffLimitPerIndex == nil && c.new.FailedIndexes != nil, "failedIndexes without backoffLimitPerIndex")
	}},
	{"INV-16", func(c *comparison) bool { return c.completedIndexes || c.failedIndexes }, indexesOverlap},
	{"INV-17", either(failedChanged, func(c *comparison) bool { return c.failedIndexes }), func(c *comparison) string {
		return says(c.is.failed && !c.is.failureTarget, "Failed without FailureTarget")
	}},
	{"INV-18", either(completeChanged, criteriaMetChanged), func(c *comparison) string {
		return says(c.is.complete && !c.is.criteriaMet, "Complete without SuccessCriteriaMet")
	}},
	{"INV-19", either(finishedChanged, func(c *comparison) bool { return c.active }), func(c *comparison) string {
		return says(c.finished && c.new.Active > 0, "finished with %d active pods", c.new.Active)
	}},
	{"INV-20", func(c *comparison) bool {
		return (finishedChanged(c) || c.startTime) && (!ptr.Deref(c.spec.Suspend, false) || !ptr.Equal(c.spec.Completions, ptr.To[int32](0)))
	}, func(c *comparison) string {
		return says(c.finished && c.new.StartTime == nil, "finished without startTime")
	}},
	{"INV-21", either(finishedChanged, func(c *comparison) bool { return c.uncounted }), func(c *comparison) string {
		u := c.new.UncountedTerminatedPods
		return says(c.finished && u != nil && len(u.Succeeded)+len(u.Failed) > 0, "finished with uncounted pods")
	}},
	{"INV-22", func(c *comparison) bool { return c.startTime && !resumes(c) }, func(c *comparison) string {
		return says(c.old.StartTime != nil && !ptr.Deref(c.spec.Suspend, false), "startTime of a Job that is not suspended changed")
	}},
	{"INV-23", func(c *comparison) bool { return c.startTime || c.completionTime }, func(c *comparison) string {
		return says(c.new.StartTime != nil && c.new.CompletionTime != nil && c.new.CompletionTime.Before(c.new.StartTime), "completionTime before startTime")
	}},
	{"INV-24", either(completeChanged, func(c *comparison) bool { return c.completionTime }), func(c *comparison) string {
		return says(c.new.CompletionTime != nil && !c.is.complete, "completionTime without Complete")
	}},
	{"INV-25", either(completeChanged, func(c *comparison) bool { return c.completionTime }), func(c *comparison) string {
		return says(c.new.CompletionTime == nil && c.is.complete, "Complete without completionTime")
	}},
	{"INV-26", either(completeChanged, failedChanged), func(c *comparison) string {
		return says(c.is.complete && c.is.failed, "Complete and Failed")
	}},
	{"INV-27", func(c *comparison) bool { return c.ready || c.active }, func(c *comparison) string {
		return says(c.new.Ready != nil && *c.new.Ready > c.new.Active, "more ready than active pods")
	}},
	{"INV-28", either(finishedChanged, func(c *comparison) bool { return c.terminating }), func(c *comparison) string {
		return says(c.finished && ptr.Deref(c.new.Terminating, 0) > 0, "finished with terminating pods")
	}},
	{"INV-29", either(completeChanged, targetChanged), func(c *comparison) string {
		return says(c.is.complete && c.is.failureTarget, "Complete and FailureTarget")
	}},
}

// indexesOverlap compares what can be read of both texts; the rest is for INV-12 and INV-13 to complain of.
func indexesOverlap(c *comparison) string {
	if c.spec.Completions == nil || c.new.FailedIndexes == nil {
		return ""
	}
	bound := int(*c.spec.Completions)
	both := readable(c.new.CompletedIndexes, bound).Intersect(readable(*c.new.FailedIndexes, bound))
	return says(both.Len() > 0, "indexes %s are completed and failed", both)
}

// readable is the parts of the text that are in order by themselves.
func readable(text string, bound int) interval.Set {
	var all interval.Set
	for part := range strings.SplitSeq(text, ",") {
		if set, err := interval.ParseStrict(part, bound); err == nil {
			all = all.Union(set)
		}
	}
	return all
}

// resumes: the write that flips the Suspended condition back may set a new startTime.
func resumes(c *comparison) bool {
	if !hasTrue(c.old.Conditions, batchv1.JobSuspended) {
		return false
	}
	for _, condition := range c.new.Conditions {
		if condition.Type == batchv1.JobSuspended && condition.Status == corev1.ConditionFalse {
			return true
		}
	}
	return false
}
