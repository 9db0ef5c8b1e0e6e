// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	jobregistry "k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/interval"
	"github.com/carillon-dev/carillon/internal/job"
)

// pairs is how many questions are asked unless -rapid.checks or RAPID_CHECKS
// says otherwise. The rarest rule needs some thousands to come up.
const pairs = "100000"

func TestMain(m *testing.M) {
	flag.Parse()
	_, given := os.LookupEnv("RAPID_CHECKS")
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", pairs); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// JOB-353: for any two statuses of a Job, job.CheckStatus finds fault with the
// write from one to the other exactly when the API server does.
//
// One exception is on purpose. Where a stored text of indexes is out of order
// ("3,1"), the server's search for indexes that are both completed and failed
// walks two lists that it takes for sorted, and misses some; ours reads them as
// the sets that they mean. So there ours may refuse what the server would take,
// never the other way round. Neither lets such a text be written.
func TestJobStatus(t *testing.T) {
	alone := map[string]int{}
	var taken, refused, stricter, checks int
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawPair(t)
		ours := job.CheckStatus(before, after)
		server := serverSays(t, before, after)
		checks++
		switch {
		case len(ours) == 0 && server == "":
			taken++
		case len(ours) > 0 && server != "":
			refused++
			if len(ours) == 1 {
				alone[ours[0].ID]++
			}
		case len(ours) > 0 && onlyOverlap(ours) && (disorderly(after.Status.CompletedIndexes) || disorderly(ptr.Deref(after.Status.FailedIndexes, ""))):
			stricter++
		default:
			t.Fatalf("ours finds %v\nthe API server finds %q\nspec %s\nbefore %+v\nafter %+v", ours, server, specText(before), before.Status, after.Status)
		}
	})
	t.Logf("%d taken by both, %d refused by both, %d refused by ours alone; refused for one rule alone: %v", taken, refused, stricter, alone)
	if checks < 100000 { // too few for the rare ones to come up
		return
	}
	// The agreement says something about a rule only if the answer hung on it.
	for i := 1; i <= 29; i++ {
		if id := fmt.Sprintf("INV-%02d", i); alone[id] == 0 {
			t.Errorf("in %d pairs none was refused for %s alone", checks, id)
		}
	}
	if taken == 0 || stricter == 0 {
		t.Errorf("%d pairs were taken by both, %d by the server alone; want some of each", taken, stricter)
	}
}

func onlyOverlap(found []job.Violation) bool {
	return !slices.ContainsFunc(found, func(v job.Violation) bool { return v.ID != "INV-16" })
}

// disorderly: the numbers of the text, as far as they can be read, do not
// ascend.
func disorderly(text string) bool {
	last := -1
	for part := range strings.SplitSeq(text, ",") {
		first, end, isRange := strings.Cut(part, "-")
		var from, to int
		if _, err := fmt.Sscanf(first, "%d", &from); err != nil {
			continue
		}
		to = from
		if isRange {
			if _, err := fmt.Sscanf(end, "%d", &to); err != nil {
				continue
			}
		}
		if from <= last || to < from {
			return true
		}
		last = to
	}
	return false
}

// serverSays is what the API server answers to the status write, "" if it takes
// it.
func serverSays(t *rapid.T, before, after *batchv1.Job) string {
	oldJob, newJob := internal(t, before), internal(t, after)
	jobregistry.StatusStrategy.PrepareForUpdate(context.Background(), newJob, oldJob)
	if err := jobregistry.StatusStrategy.ValidateUpdate(context.Background(), newJob, oldJob).ToAggregate(); err != nil {
		return err.Error()
	}
	return ""
}

func internal(t *rapid.T, j *batchv1.Job) *batch.Job {
	out := &batch.Job{}
	if err := legacyscheme.Scheme.Convert(j.DeepCopy(), out, nil); err != nil {
		t.Fatalf("converting the Job: %v", err)
	}
	return out
}

func specText(j *batchv1.Job) string {
	s := &j.Spec
	text := func(n *int32) string {
		if n == nil {
			return "-"
		}
		return fmt.Sprint(*n)
	}
	return fmt.Sprintf("parallelism %s, completions %s, mode %s, backoffLimitPerIndex %s, suspend %t, success policy %t",
		text(s.Parallelism), text(s.Completions), ptr.Deref(s.CompletionMode, "-"), text(s.BackoffLimitPerIndex), ptr.Deref(s.Suspend, false), s.SuccessPolicy != nil)
}

// drawPair draws one Job with two statuses. The second is the first with a few
// fields drawn anew, which is what a write is, or another one altogether.
func drawPair(t *rapid.T) (before, after *batchv1.Job) {
	before = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "batch", Name: "job", UID: "job-1", ResourceVersion: "1"}}
	drawSpec(t, &before.Spec)
	sane := rapid.IntRange(0, 3).Draw(t, "sane") > 0
	for _, draw := range fields {
		if !sane || rapid.IntRange(0, 3).Draw(t, "filled") == 0 {
			draw(t, &before.Status)
		}
	}
	after = before.DeepCopy()
	for _, draw := range fields {
		if rapid.IntRange(0, 5).Draw(t, "changed") == 0 {
			draw(t, &after.Status)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
		drawEnd(t, after)
	}
	return before, after
}

func drawSpec(t *rapid.T, s *batchv1.JobSpec) {
	number := rapid.SampledFrom([]int32{0, 1, 2, 3, 4, 4, 4})
	s.Parallelism = ptr.To(number.Draw(t, "parallelism"))
	if rapid.IntRange(0, 4).Draw(t, "hasCompletions") > 0 {
		s.Completions = ptr.To(number.Draw(t, "completions"))
		if rapid.Bool().Draw(t, "indexed") {
			s.CompletionMode = ptr.To(batchv1.IndexedCompletion)
			if rapid.Bool().Draw(t, "perIndex") {
				s.BackoffLimitPerIndex = ptr.To[int32](1)
			}
			if rapid.IntRange(0, 3).Draw(t, "successPolicy") == 0 {
				s.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To[int32](1)}}}
			}
		} else {
			s.CompletionMode = ptr.To(batchv1.NonIndexedCompletion)
		}
	}
	s.Suspend = ptr.To(rapid.IntRange(0, 3).Draw(t, "suspend") == 0)
}

// epoch is where all times lie near.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func drawTime(t *rapid.T, label string) *metav1.Time {
	n := rapid.IntRange(0, 3).Draw(t, label)
	if n == 0 {
		return nil
	}
	return ptr.To(metav1.NewTime(epoch.Add(time.Duration(n) * time.Minute)))
}

// indexTexts are in order and not, readable and not, and overlap.
var indexTexts = rapid.SampledFrom([]string{"", "", "0", "0", "1", "1", "0,1", "1-3", "0-3", "2", "3", "0,2-3", "0-1,3",
	"3,1", "3,1", "2,0-1", "2,0-1", "1,1", "0-9", "x", "5-", "-1", "0,x,2", "3-1", "0,,1", "4", "0-2147483648"})

var conditionTypes = []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet, batchv1.JobFailed, batchv1.JobComplete, "acme.io/Mine"}

// fields draw one part of a status each.
var fields = []func(*rapid.T, *batchv1.JobStatus){
	func(t *rapid.T, s *batchv1.JobStatus) { s.Active = drawCount(t, "active") },
	func(t *rapid.T, s *batchv1.JobStatus) { s.Succeeded = drawCount(t, "succeeded") },
	func(t *rapid.T, s *batchv1.JobStatus) { s.Failed = drawCount(t, "failed") },
	func(t *rapid.T, s *batchv1.JobStatus) {
		s.Ready = rapid.Custom(drawMaybeCount).Draw(t, "ready")
	},
	func(t *rapid.T, s *batchv1.JobStatus) {
		s.Terminating = rapid.Custom(drawMaybeCount).Draw(t, "terminating")
	},
	func(t *rapid.T, s *batchv1.JobStatus) { s.StartTime = drawTime(t, "startTime") },
	func(t *rapid.T, s *batchv1.JobStatus) { s.CompletionTime = drawTime(t, "completionTime") },
	func(t *rapid.T, s *batchv1.JobStatus) { s.CompletedIndexes = indexTexts.Draw(t, "completedIndexes") },
	func(t *rapid.T, s *batchv1.JobStatus) {
		s.FailedIndexes = nil
		if rapid.IntRange(0, 2).Draw(t, "hasFailedIndexes") > 0 {
			s.FailedIndexes = ptr.To(indexTexts.Draw(t, "failedIndexes"))
		}
	},
	func(t *rapid.T, s *batchv1.JobStatus) {
		s.UncountedTerminatedPods = nil
		if rapid.Bool().Draw(t, "hasUncounted") {
			uids := rapid.SliceOfN(rapid.SampledFrom([]types.UID{"", "a", "b", "c", "d", "e"}), 0, 2)
			s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Succeeded: uids.Draw(t, "uncountedSucceeded"), Failed: uids.Draw(t, "uncountedFailed")}
		}
	},
	func(t *rapid.T, s *batchv1.JobStatus) {
		if rapid.IntRange(0, 2).Draw(t, "fresh") == 0 {
			s.Conditions = nil
		}
		s.Conditions = slices.Clone(s.Conditions)
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			setCondition(s, rapid.SampledFrom(conditionTypes).Draw(t, "type"),
				rapid.SampledFrom([]corev1.ConditionStatus{"True", "True", "True", "False", "Unknown"}).Draw(t, "status"))
		}
	},
}

var counts = rapid.SampledFrom([]int32{0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, -1})

func drawCount(t *rapid.T, label string) int32 { return counts.Draw(t, label) }

func drawMaybeCount(t *rapid.T) *int32 {
	if rapid.IntRange(0, 2).Draw(t, "absent") == 0 {
		return nil
	}
	return ptr.To(drawCount(t, "count"))
}

// drawEnd makes the status that of a Job that ended, as a controller would
// write it; one detail or another may be missing.
func drawEnd(t *rapid.T, j *batchv1.Job) {
	s := &j.Status
	right := func(label string) bool { return rapid.IntRange(0, 7).Draw(t, label) > 0 }
	if right("nothing runs") {
		s.Active, s.Ready, s.Terminating = 0, ptr.To[int32](0), ptr.To[int32](0)
	}
	if right("nothing uncounted") {
		s.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	if right("started") && s.StartTime == nil {
		s.StartTime = ptr.To(metav1.NewTime(epoch))
	}
	if right("tidy indexes") && job.CompletionMode(j) != batchv1.IndexedCompletion {
		s.CompletedIndexes, s.FailedIndexes = "", nil
	}
	if right("tidy sets") && j.Spec.Completions != nil {
		s.CompletedIndexes = interval.Parse(s.CompletedIndexes, int(*j.Spec.Completions)).String()
	}
	interim, end := batchv1.JobSuccessCriteriaMet, batchv1.JobComplete
	if rapid.Bool().Draw(t, "failed") {
		interim, end = batchv1.JobFailureTarget, batchv1.JobFailed
	}
	s.Conditions = slices.Clone(s.Conditions)
	if right("interim") {
		setCondition(s, interim, corev1.ConditionTrue)
	}
	setCondition(s, end, corev1.ConditionTrue)
	if end == batchv1.JobComplete && right("completionTime") && s.CompletionTime == nil {
		s.CompletionTime = ptr.To(metav1.NewTime(epoch.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "completed")) * time.Minute)))
	}
}

func setCondition(s *batchv1.JobStatus, kind batchv1.JobConditionType, status corev1.ConditionStatus) {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			s.Conditions[i].Status = status
			return
		}
	}
	s.Conditions = append(s.Conditions, batchv1.JobCondition{Type: kind, Status: status, Reason: "R", LastProbeTime: metav1.NewTime(epoch), LastTransitionTime: metav1.NewTime(epoch)})
}
