// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metrics says how /metrics is served: over TLS, to those whom the API server authenticates by their token and allows
// to get the path /metrics; in clear text to everybody only on a loopback address. The watcher, if any, must run beside
// it: it reads a renewed certificate.
func (o Options) metrics() (metricsserver.Options, *certwatcher.CertWatcher, error) {
	served := metricsserver.Options{BindAddress: cmp.Or(o.MetricsAddr, noAddress)}
	if served.BindAddress == noAddress {
		return served, nil, nil
	}
	if err := o.CheckMetrics(); err != nil {
		return served, nil, err
	}
	if o.MetricsInsecure {
		return served, nil, nil
	}
	served.SecureServing = true
	served.FilterProvider = withAccess
	certificate, watcher, err := o.certificate()
	if err != nil {
		return served, nil, err
	}
	// Always set: without it controller-runtime would look for a key in a directory of the machine's temporary files,
	// which anybody can have made.
	served.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.GetCertificate = certificate }}
	return served, watcher, nil
}

type getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// certificate is that of the given files, or a self-signed one that lives as long as the process.
func (o Options) certificate() (getCertificate, *certwatcher.CertWatcher, error) {
	if o.MetricsCertFile != "" {
		watcher, err := certwatcher.New(o.MetricsCertFile, o.MetricsKeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("manager: certificate for the metrics: %w; check --tls-cert-file and --tls-private-key-file", err)
		}
		return watcher.GetCertificate, watcher, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	pem, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, []string{"localhost"})
	if err != nil {
		return nil, nil, fmt.Errorf("manager: certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(pem, key)
	if err != nil {
		return nil, nil, fmt.Errorf("manager: certificate for the metrics: %w", err)
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil, nil
}

// CheckMetrics tells what is wrong with how the metrics are to be served, as far as that can be told from the options
// alone.
func (o Options) CheckMetrics() error {
	if cmp.Or(o.MetricsAddr, noAddress) == noAddress {
		return nil
	}
	if o.MetricsInsecure {
		return loopback(o.MetricsAddr)
	}
	if (o.MetricsCertFile == "") != (o.MetricsKeyFile == "") {
		return errors.New("manager: a certificate needs its key: give both --tls-cert-file and --tls-private-key-file, or neither")
	}
	return nil
}

// loopback refuses an address that others than this machine can reach. Names are not looked up: what they mean can
// change.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("manager: address of the metrics %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("manager: metrics without TLS and authentication are served on loopback addresses only, and %q is none; "+
			"use --metrics-bind-address=127.0.0.1:PORT, or leave --metrics-secure on", addr)
	}
	return nil
}
