// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package ttl

import (
	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// deletionDuration has the name and buckets of the built-in controller's (pkg/controller/ttlafterfinished/metrics). It
// is registered once per process, so a second manager adds to the same series.
var deletionDuration = prometheus.NewHistogram(prometheus.HistogramOpts{
	Subsystem: "ttl_after_finished_controller",
	Name:      "job_deletion_duration_seconds",
	Help:      "Time from the end of a finished Job's time to live to its deletion.",
	Buckets:   prometheus.ExponentialBuckets(0.1, 2, 14),
})

func init() { ctrlmetrics.Registry.MustRegister(deletionDuration) }
