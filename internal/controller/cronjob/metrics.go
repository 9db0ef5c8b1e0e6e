// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package cronjob

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Outcomes of a scheduled time in the metric runs.
const (
	outcomeStarted = "started"
	outcomeSkipped = "skipped"
	outcomeMissed  = "missed"
)

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
		Help: "Scheduled times by what became of them. Outcome missed counts outages, not each scheduled time in them.",
	}, []string{"kind", "outcome", "reason"})
	failures = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_cronjob_sync_failures_total",
		Help: "Passes over a CronJob that failed and are repeated with back-off.",
	}, []string{"kind"})
	clockJumps = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "carillon_clock_jumps_total",
		Help: "Times at which the wall clock was found to have been set, or the machine to have slept.",
	}, []string{"direction"})
)

func init() {
	metrics.Registry.MustRegister(creationSkew, startLateness, lastLateness, runs, failures, clockJumps)
}
