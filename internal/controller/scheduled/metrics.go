// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduled

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/cron"
)

// docs/metrics.md explains these to operators. No label has values that users make up, so that the number of series is
// fixed by the number of kinds, but for those of misconfigured: it names the CronJobs that somebody has to mend, and no
// others.
var (
	// creationSkew has upstream's name and buckets, so that existing dashboards work; it has whole seconds because
	// creationTimestamp has (k8s.io/kubernetes/pkg/controller/cronjob/metrics).
	creationSkew = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "cronjob_controller_job_creation_skew_duration_seconds",
		Help:    "Time between when a cronjob is scheduled to be run, and when the corresponding job is created.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 10),
	})
	startLateness = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            "carillon_cronjob_start_lateness_seconds",
		Help:                            "Time from the scheduled time to the server's answer that the child exists.",
		Buckets:                         []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, []string{"kind"})
	lastLateness = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "carillon_cronjob_last_start_lateness_seconds",
		Help: "Lateness of the most recent start.",
	}, []string{"kind"})
	runs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_cronjob_runs_total",
		Help: "Scheduled times by what became of them, each counted once.",
	}, []string{"kind", "outcome", "reason"})
	misconfigured = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "carillon_cronjob_misconfigured",
		Help: "CronJobs that start nothing until somebody mends them: 1 for each, and no series for any other.",
	}, []string{"kind", "namespace", "name", "reason"})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_cronjob_sync_failures_total",
		Help: "Syncs of a CronJob that failed and are repeated with back-off.",
	}, []string{"kind"})
	waiting = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "carillon_cronjob_records_waiting",
		Help: "Syncs whose status write, clean-up and events are still to be done.",
	}, []string{"kind"})
	pausedKinds = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "carillon_cronjob_standing_back",
		Help: "1 while another controller works on the kind, and nothing is started or deleted.",
	}, []string{"kind"})
	clockJumps = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_clock_jumps_total",
		Help: "Times at which the wall clock was found to have been set, or the machine to have slept.",
	}, []string{"direction"})
)

func init() {
	metrics.Registry.MustRegister(creationSkew, startLateness, lastLateness, runs, misconfigured, failures, waiting, pausedKinds, clockJumps)
}

// countOutcomes adds the outcomes of a sync. Where the status holds outcomes they count when it has them (recorded).
func (r *reconciler) countOutcomes(outcomes []cron.RunOutcome) {
	if r.accounted != nil {
		return
	}
	for _, o := range outcomes {
		runs.WithLabelValues(r.info.Name, string(o.Result), string(o.Reason)).Add(float64(o.Count))
	}
}

// setMisconfigured lets the gauge say what keeps the CronJob from starting anything; "" takes it out.
func (r *reconciler) setMisconfigured(key types.NamespacedName, uid types.UID, reason cron.Misconfiguration) {
	if r.accounted != nil || !r.tracked.setMisconfigured(key, uid, reason) { // a Timetable says it itself: Ready
		return
	}
	misconfigured.DeletePartialMatch(prometheus.Labels{"kind": r.info.Name, "namespace": key.Namespace, "name": key.Name})
	if reason != "" {
		misconfigured.WithLabelValues(r.info.Name, key.Namespace, key.Name, string(reason)).Set(1)
	}
}

// countStart observes how late a child was created.
func (r *reconciler) countStart(s *ongoingSync, start cron.Start, child cron.Child) {
	if r.accounted != nil {
		if start.Attempt == 1 {
			late := max(0, r.clock.Now().Sub(s.in.Policy.Timing.PlannedStart(start.Time))).Seconds()
			timetableLateness.WithLabelValues(knownTrigger(start.Trigger)).Observe(late)
		}
		return
	}
	late := max(0, r.clock.Now().Sub(start.Time)).Seconds()
	startLateness.WithLabelValues(r.info.Name).Observe(late)
	lastLateness.WithLabelValues(r.info.Name).Set(late)
	if r.info.Traits.CreationSkew {
		creationSkew.Observe(child.Created.Sub(start.Time).Seconds())
	}
}

// countFailure counts a sync that failed.
func (r *reconciler) countFailure() {
	if r.accounted != nil {
		timetableFailures.Inc()
		return
	}
	failures.WithLabelValues(r.info.Name).Inc()
}

// expose makes the counters of the kind visible before they count anything, so that their first increase is one.
func (r *reconciler) expose() {
	kind := r.info.Name
	waiting.WithLabelValues(kind)
	pausedKinds.WithLabelValues(kind)
	for _, direction := range []string{"forward", "backward"} {
		clockJumps.WithLabelValues(direction)
	}
	if r.accounted != nil {
		exposeTimetables(r.accounted)
		return
	}
	runs.WithLabelValues(kind, string(cron.Started), "")
	for _, why := range cron.NotStartedReasons {
		runs.WithLabelValues(kind, string(why.SkippedOrMissed()), string(why))
	}
	failures.WithLabelValues(kind)
	startLateness.WithLabelValues(kind)
}
