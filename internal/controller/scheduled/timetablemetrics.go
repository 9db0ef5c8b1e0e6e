// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/cron"
	"github.com/carillon-dev/carillon/internal/kind/adapter"
)

// The metrics of Timetables (timetable.md 8), the only adapter.Accounted kind. docs/metrics.md explains them to operators.
var (
	timetableLateness = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            "carillon_timetable_start_lateness_seconds",
		Help:                            "Time from the planned start of a run to the server's answer that its first child exists.",
		Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"trigger"})
	timetableTimes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_timetable_times_total",
		Help: "Scheduled times by their result, each counted once, when the status has it.",
	}, []string{"result", "reason"})
	timetableRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_timetable_runs_total",
		Help: "Runs that have ended, by what made them and by their result, each counted once, when the status has it.",
	}, []string{"trigger", "result"})
	timetableTemplateChecks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_timetable_template_checks_total",
		Help: "Dry runs of the create of a child, made once for each change of a template, by what they told.",
	}, []string{"result"})
	timetableOutcomeErrors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "carillon_timetable_outcome_errors_total",
		Help: "Generations of Timetables whose spec.outcome could not be evaluated.",
	})
	timetableFailures = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "carillon_timetable_sync_failures_total",
		Help: "Syncs of a Timetable that failed and are repeated with back-off.",
	})
	timetableStatuses = &statusCollector{
		active:     prometheus.NewDesc("carillon_timetable_active", "Runs that have begun and have no result.", nil, nil),
		waiting:    prometheus.NewDesc("carillon_timetable_waiting", "Scheduled times that wait, by what they wait for.", []string{"reason"}, nil),
		conditions: prometheus.NewDesc("carillon_timetable_conditions", "Timetables by the type and status of each condition.", []string{"type", "status"}, nil),
		serving:    map[*reconciler]func() []client.Object{},
	}
)

func init() {
	metrics.Registry.MustRegister(timetableLateness, timetableTimes, timetableRuns, timetableTemplateChecks, timetableOutcomeErrors, timetableFailures, timetableStatuses)
}

// templateChecks are the values of cron.TemplateVerdict as the metric has them.
var templateChecks = map[cron.TemplateVerdict]string{
	cron.TemplateAccepted:     "Accepted",
	cron.TemplateRejected:     "Rejected",
	cron.TemplateOwnerRemoved: "OwnerRemoved",
	cron.TemplateUnjudged:     "Unjudged",
}

// countTemplateCheck counts the verdict of a dry run.
func (*reconciler) countTemplateCheck(verdict cron.TemplateVerdict) {
	timetableTemplateChecks.WithLabelValues(templateChecks[verdict]).Inc()
}

// startTriggers are the values of cron.Trigger.
var startTriggers = []cron.Trigger{cron.TriggerSchedule, cron.TriggerCatchUp}

// runResults are the outcomes of times that had a run.
var runResults = []cron.Result{cron.Succeeded, cron.RunFailed, cron.Cancelled}

// exposeTimetables makes all series visible before they count anything, so that their first increase is one.
func exposeTimetables(kind adapter.Accounted) {
	for _, words := range kind.Outcomes() {
		timetableTimes.WithLabelValues(words.Result, words.Reason)
	}
	for _, verdict := range cron.TemplateVerdicts {
		timetableTemplateChecks.WithLabelValues(templateChecks[verdict])
	}
	for _, trigger := range startTriggers {
		timetableLateness.WithLabelValues(string(trigger))
		for _, result := range runResults {
			if words, listed := kind.OutcomeWords(&cron.RunOutcome{Result: result}); listed {
				timetableRuns.WithLabelValues(string(trigger), words.Result)
			}
		}
	}
}

// countRecorded counts the outcomes of scheduled times that the status has now. A trigger that somebody wrote into a
// status is left out.
func countRecorded(kind adapter.Accounted, outcomes []cron.RunOutcome) {
	for i := range outcomes {
		o := &outcomes[i]
		words, listed := kind.OutcomeWords(o)
		if !listed {
			continue
		}
		timetableTimes.WithLabelValues(words.Result, words.Reason).Add(float64(o.Count))
		for _, result := range runResults {
			if o.Result == result {
				timetableRuns.WithLabelValues(knownTrigger(o.Trigger), words.Result).Add(float64(o.Count))
			}
		}
	}
}

func knownTrigger(trigger cron.Trigger) string {
	for _, known := range startTriggers {
		if trigger == known {
			return string(trigger)
		}
	}
	return ""
}

// unansweredWrite is a status write that may have been made although its answer did not arrive.
type unansweredWrite struct {
	// on is the resource version that it was bound to, and counts are those that it writes: they grow with each outcome.
	on       string
	counts   cron.Counts
	outcomes []cron.RunOutcome
}

// maxUnanswered bounds what is remembered of one object: only the last writes can still be on their way.
const maxUnanswered = 4

// recorded counts what a status write has recorded, where the status holds outcomes: each scheduled time once, however
// often a sync names it before its write succeeds. What is written and not counted when the process ends is lost.
func (r *reconciler) recorded(s *ongoingSync, on string, plan cron.Plan, err error) {
	if r.accounted == nil || len(plan.Outcomes) == 0 || plan.StatusWrite.Memory.Results == nil {
		return
	}
	switch cron.CreateResultOf(nil, err).Outcome {
	case cron.CreateSucceeded:
		countRecorded(r.accounted, plan.Outcomes)
		r.tracked.update(s.key, s.in.Owner.UID, func(c *trackedCronJob) {
			if c.trouble != nil {
				c.trouble.unanswered = nil // they were not made, or this one would have been refused
			}
		})
	case cron.CreateUnconfirmed:
		write := unansweredWrite{on: on, counts: plan.StatusWrite.Memory.Results.Counts, outcomes: plan.Outcomes}
		r.tracked.update(s.key, s.in.Owner.UID, func(c *trackedCronJob) { c.troubles().unanswered = c.troubles().unanswered.with(write) })
	}
}

type unansweredWrites []unansweredWrite

// with adds one, in place of the same one that was tried before, and leaves out all but the last ones.
func (w unansweredWrites) with(last unansweredWrite) unansweredWrites {
	kept := make(unansweredWrites, 0, len(w)+1)
	for _, other := range w {
		if other.on != last.on || other.counts != last.counts {
			kept = append(kept, other)
		}
	}
	return append(kept[max(0, len(kept)+1-maxUnanswered):], last)
}

// countUnanswered counts what an unanswered write has recorded after all, as the object shows that was read now.
func (r *reconciler) countUnanswered(s *ongoingSync) {
	if r.accounted == nil || s.in.Stored.Results == nil {
		return
	}
	var made unansweredWrites
	r.tracked.update(s.key, s.in.Owner.UID, func(c *trackedCronJob) {
		if c.trouble == nil {
			return
		}
		var open unansweredWrites
		for _, write := range c.trouble.unanswered {
			switch {
			case write.on == s.owner.GetResourceVersion():
				open = append(open, write)
			case write.counts == s.in.Stored.Results.Counts:
				made = append(made, write)
			}
		}
		c.trouble.unanswered = open
	})
	if len(made) > 0 {
		countRecorded(r.accounted, made[0].outcomes)
	}
}

// statusCollector sums over the statuses of the Timetables in the cache, when somebody asks: right after a restart, too,
// and without what has been deleted. A process that does not lead shows nothing, so that sums over processes are right.
type statusCollector struct {
	active, waiting, conditions *prometheus.Desc

	mu      sync.Mutex
	serving map[*reconciler]func() []client.Object
}

// serve has the objects counted that a reconciler serves, until stop is called.
func (c *statusCollector) serve(r *reconciler, objects func() []client.Object) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving[r] = objects
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.serving, r)
	}
}

// Describe implements prometheus.Collector.
func (c *statusCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.active
	to <- c.waiting
	to <- c.conditions
}

// Collect implements prometheus.Collector.
func (c *statusCollector) Collect(to chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var counts adapter.StatusCounts
	for r, objects := range c.serving {
		if counts.Active == nil {
			counts = r.accounted.NewStatusCounts()
		}
		for _, obj := range objects() {
			r.accounted.AddStatus(obj, counts)
		}
	}
	if counts.Active == nil {
		return
	}
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(c.active, *counts.Active)
	for reason, n := range counts.Waiting {
		gauge(c.waiting, n, reason)
	}
	for words, n := range counts.Conditions {
		gauge(c.conditions, n, words.Type, words.Status)
	}
}
