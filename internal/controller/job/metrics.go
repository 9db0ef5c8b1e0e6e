// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/job"
)

// The names, labels and buckets in the first block are those of the built-in controller (pkg/controller/job/metrics),
// so that dashboards and alerts carry over. They are package variables registered once per process: a second manager in
// the same process adds to the same series instead of panicking.
const subsystem = "job_controller"

var (
	syncDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: subsystem,
		Name:      "job_sync_duration_seconds",
		Help:      "Time from the start to the end of one sync of a Job.",
		Buckets:   prometheus.ExponentialBuckets(0.004, 2, 15),
	}, []string{"completion_mode", "result", "action"})

	syncsTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "job_syncs_total",
		Help:      "Syncs of Jobs by mode, result and what was done to the pods.",
	}, []string{"completion_mode", "result", "action"})

	jobsFinished = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "jobs_finished_total",
		Help:      "Jobs that this process brought to Complete or Failed.",
	}, []string{"completion_mode", "result", "reason"})

	podsFinished = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "job_pods_finished_total",
		Help:      "Finished pods that were added to the counters of a Job's status.",
	}, []string{"completion_mode", "result"})

	externalJobs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "jobs_by_external_controller_total",
		Help:      "Jobs seen whose spec.managedBy names another controller.",
	}, []string{"controller_name"})

	failurePolicyPods = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "pod_failures_handled_by_failure_policy_total",
		Help:      "Failed pods for which a rule of the pod failure policy decided, by action.",
	}, []string{"action"})

	trackedPods = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "terminated_pods_tracking_finalizer_total",
		Help:      "Finished pods entering (add) and leaving (delete) the state of holding the tracking finalizer.",
	}, []string{"event"})

	finishedIndexes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "job_finished_indexes_total",
		Help:      "Indexes of Indexed Jobs that finished, by outcome and by the kind of backoff limit.",
	}, []string{"status", "backoffLimit"})

	podsCreation = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "job_pods_creation_total",
		Help:      "Pod creations by why the pod was needed and whether the API accepted it.",
	}, []string{"reason", "status"})

	staleSyncSkips = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: subsystem,
		Name:      "stale_sync_skips_total",
		Help:      "Syncs put off because the cache was older than what this process had written.",
	}, []string{"group", "resource"})
)

// Ours: what an operator needs beyond the upstream set to judge load and health.
var (
	statusWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "carillon",
		Subsystem: subsystem,
		Name:      "status_writes_total",
		Help:      "Writes of a Job's status by result (success, conflict, error).",
	}, []string{"result"})

	statusRejected = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "carillon",
		Subsystem: subsystem,
		Name:      "status_rejected_total",
		Help:      "Statuses found invalid, by the own check before the write or by the API server (422). Any increase is a bug.",
	}, []string{"by"})

	podWrites = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "carillon",
		Subsystem: subsystem,
		Name:      "pod_writes_total",
		Help:      "Writes to pods by verb (create, delete, adopt, release, untrack) and result.",
	}, []string{"verb", "result"})
)

func init() {
	ctrlmetrics.Registry.MustRegister(
		syncDuration, syncsTotal, jobsFinished, podsFinished, externalJobs,
		failurePolicyPods, trackedPods, finishedIndexes, podsCreation, staleSyncSkips,
		statusWrites, statusRejected, podWrites,
	)
}

// outcome is the value of a "result" or "status" label for an error.
func outcome(err error, ok, failed string) string {
	if err == nil {
		return ok
	}
	return failed
}

// measure counts one sync.
func (c *controller) measure(j *batchv1.Job, action job.Action, took time.Duration, err error) {
	values := []string{string(job.CompletionMode(j)), outcome(err, "success", "error"), string(action)}
	syncDuration.WithLabelValues(values...).Observe(took.Seconds())
	syncsTotal.WithLabelValues(values...).Inc()
}

// countMetrics counts what a status write says for the first time.
func (w *work) countMetrics(f job.Metrics) {
	mode := string(job.CompletionMode(w.job))
	podsFinished.WithLabelValues(mode, "succeeded").Add(float64(f.PodsSucceeded))
	podsFinished.WithLabelValues(mode, "failed").Add(float64(f.PodsFailed))
	limit := "global"
	if f.PerIndex {
		limit = "perIndex"
	}
	if f.IndexesSucceeded > 0 {
		finishedIndexes.WithLabelValues("succeeded", limit).Add(float64(f.IndexesSucceeded))
	}
	if f.IndexesFailed > 0 {
		finishedIndexes.WithLabelValues("failed", limit).Add(float64(f.IndexesFailed))
	}
	for action, n := range f.PolicyActions {
		failurePolicyPods.WithLabelValues(string(action)).Add(float64(n))
	}
	if f.Result != "" {
		jobsFinished.WithLabelValues(mode, f.Result, f.Reason).Inc()
	}
}

func countCreations(p job.PodsCreation) {
	if p.Succeeded > 0 {
		podsCreation.WithLabelValues(p.Reason, "succeeded").Add(float64(p.Succeeded))
	}
	if p.Failed > 0 {
		podsCreation.WithLabelValues(p.Reason, "failed").Add(float64(p.Failed))
	}
}
