// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/plan/workload"
)

// A Run is one run of the past.
type Run struct {
	// Kind, Namespace and Name are those of the object that started it.
	Kind, Namespace, Name string
	// Took is from its start to its end.
	Took time.Duration
}

// RunOf reads a Job that something with a schedule has started and that has succeeded; false for any other. One that
// failed tells how long failing takes, which is no help here.
func RunOf(job *unstructured.Unstructured) (Run, bool) {
	owner := metav1.GetControllerOf(job)
	if owner == nil {
		return Run{}, false
	}
	started, ok := timeOf(job, "startTime")
	ended, also := timeOf(job, "completionTime")
	if !ok || !also || ended.Before(started) {
		return Run{}, false
	}
	return Run{Kind: owner.Kind, Namespace: job.GetNamespace(), Name: owner.Name, Took: ended.Sub(started)}, true
}

func timeOf(job *unstructured.Unstructured, field string) (time.Time, bool) {
	text, _, _ := unstructured.NestedString(job.Object, "status", field)
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

// Durations are of how many objects which duration of runs was taken.
type Durations struct {
	// Measured is the median of runs of the past, Deadline what the object allows its runs at most, and Assumed
	// Options.Duration.
	Measured, Deadline, Assumed int
}

// measured are how long runs of the past took.
type measured map[Run][]time.Duration

func newMeasured(runs []Run) measured {
	known := measured{}
	for _, r := range runs {
		key := Run{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		known[key] = append(known[key], r.Took)
	}
	return known
}

// of gives how long a run of an object takes, in seconds, at least 1.
func (d *Durations) of(s *workload.Scheduled, known measured, options Options) int64 {
	took := slices.Clone(known[Run{Kind: s.Kind.Info().Owner.Kind, Namespace: s.Owner.Namespace, Name: s.Owner.Name}])
	if s.Memory.Results != nil && len(took) == 0 {
		took = recorded(s.Memory.Results.Ledger)
	}
	duration := options.Duration
	deadline := time.Duration(0)
	if options.DeadlineAsDuration {
		deadline = deadlineOf(s)
	}
	switch {
	case len(took) > 0:
		d.Measured++
		duration = median(took)
	case deadline > 0:
		d.Deadline++
		duration = deadline
	default:
		d.Assumed++
	}
	return max(1, int64(duration/time.Second))
}

// recorded are the durations of the runs that succeeded, as the status of a Timetable keeps them.
func recorded(ledger []cron.RunOutcome) []time.Duration {
	var took []time.Duration
	for _, o := range ledger {
		if o.Result == cron.Succeeded && o.Started != nil && o.Ended != nil && !o.Ended.Before(*o.Started) {
			took = append(took, o.Ended.Sub(*o.Started))
		}
	}
	return took
}

// median is the middle one, or the later of the two in the middle.
func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// deadlineOf is the limit that an object sets for the duration of its runs; 0 for none.
func deadlineOf(s *workload.Scheduled) time.Duration {
	if s.Policy.Timeout > 0 {
		return s.Policy.Timeout
	}
	seconds, ok := s.RunDeadline()
	if !ok || seconds <= 0 {
		return 0
	}
	return time.Duration(min(seconds, int64(MaxLength/time.Second))) * time.Second
}
