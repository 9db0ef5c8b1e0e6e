// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/manager"
)

// metricsAddress gives the host:port for the metrics, empty for nowhere. Without a host it is loopback, and for port 0
// a free port is chosen. An address that cannot be had is an error now, and not the end of the controllers later.
func metricsAddress(asked string) (string, error) {
	if asked == "" || asked == "0" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(asked)
	if err != nil {
		return "", fmt.Errorf("--metrics-bind-address %q is not host:port, as in 127.0.0.1:9090: %w", asked, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", fmt.Errorf("metrics cannot be served: choose another address with --metrics-bind-address: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// storeMetrics are what the store's last look found, as metrics.
type storeMetrics struct {
	usage func() controlplane.StoreUsage
}

var (
	storeSize  = prometheus.NewDesc("carillon_store_size_bytes", "Size of the store's file, which the quota limits.", nil, nil)
	storeInUse = prometheus.NewDesc("carillon_store_in_use_bytes", "What of the store's file is not free for new data.", nil, nil)
	storeQuota = prometheus.NewDesc("carillon_store_quota_bytes", "How large the store may become (--quota-backend-bytes).", nil, nil)
	storeFull  = prometheus.NewDesc("carillon_store_full", "1 while the store refuses to be written to, 0 otherwise.", nil, nil)
	storeDisk  = prometheus.NewDesc("carillon_store_disk_free_bytes", "Free space on the store's disk.", nil, nil)
)

// Describe implements prometheus.Collector.
func (m storeMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, each := range []*prometheus.Desc{storeSize, storeInUse, storeQuota, storeFull, storeDisk} {
		out <- each
	}
}

// Collect implements prometheus.Collector.
func (m storeMetrics) Collect(out chan<- prometheus.Metric) {
	u := m.usage()
	full := int64(0)
	if u.Full {
		full = 1
	}
	for _, each := range []struct {
		desc  *prometheus.Desc
		value int64
	}{{storeSize, u.Size}, {storeInUse, u.InUse}, {storeQuota, u.Quota}, {storeFull, full}, {storeDisk, u.DiskFree}} {
		out <- prometheus.MustNewConstMetric(each.desc, prometheus.GaugeValue, float64(each.value))
	}
}

// serveMetrics makes the controllers serve metrics if they are asked for, those of the store among them.
func (s *Standalone) serveMetrics(o *manager.Options) error {
	address, err := metricsAddress(s.options.MetricsAddr)
	if err != nil || address == "" {
		return err
	}
	certificate, err := s.plane.ServingCertificate("metrics", address)
	if err != nil {
		return err
	}
	store := storeMetrics{s.plane.StoreUsage}
	if err := metrics.Registry.Register(store); err != nil {
		return fmt.Errorf("metrics of the store: %w", err)
	}
	context.AfterFunc(s.ctx, func() { metrics.Registry.Unregister(store) })
	o.MetricsAddr, o.MetricsCertFile, o.MetricsKeyFile = address, certificate, certificate
	s.mu.Lock()
	s.metrics = address
	s.mu.Unlock()
	return nil
}

// MetricsAddr is the host:port on which metrics are served; empty before Start and when they are not.
func (s *Standalone) MetricsAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics
}
