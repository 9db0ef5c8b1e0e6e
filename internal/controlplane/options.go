// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"
)

// DefaultListen is the address used when Options.Listen is empty: any free port of the loopback interface, the same
// one at every start with the same data directory if it is still free.
const DefaultListen = "127.0.0.1:0"

// DefaultEventTTL is Kubernetes' own default, on which controllers rely that tell again what lasts. LeastEventTTL is
// the shortest choice.
const (
	DefaultEventTTL = time.Hour
	LeastEventTTL   = time.Minute
)

// Options are the choices of a caller of New. Only DataDir is required.
type Options struct {
	// DataDir holds everything that outlives a start: the store, the certificates, the remembered port, the log. It is
	// created with mode 0700 and must belong to one running ControlPlane at a time.
	DataDir string

	// Listen is the host:port of the API server. Port 0 means any free port, remembered in DataDir for the next start;
	// another is taken when the remembered one is in use. An explicit port that is in use is an error. Empty means
	// DefaultListen.
	Listen string

	// Kubeconfig is the path of the administrator's kubeconfig that Start writes with mode 0600. Empty means
	// DataDir/kubeconfig.
	Kubeconfig string

	// KubeletAddress gives the host:port on which the node's kubelet listens. It is asked on each connection that the
	// API server makes to a kubelet (logs, exec, port-forward), whatever address the Node object shows. Nil leaves the
	// choice to the Node object.
	KubeletAddress func() string

	// SigningDuration is how long the certificates live that are made for servers and for the administrator, and
	// renewed while the plane runs. 0 means DefaultSigningDuration.
	SigningDuration time.Duration

	// QuotaBackendBytes is how large the store may become. 0 means DefaultQuota.
	QuotaBackendBytes int64

	// EventTTL is how long events are kept. 0 means DefaultEventTTL.
	EventTTL time.Duration

	// FeatureGates switches Kubernetes feature gates on or off. The gates are global to the process and stay set after
	// Close.
	FeatureGates map[string]bool

	// NoScheduler leaves the scheduler out, for planes whose Pods nobody runs.
	NoScheduler bool

	// Ephemeral says that the data need not survive a crash of the machine: the store does not wait for the disk. It
	// still survives the death of the process.
	Ephemeral bool

	// LogFile is the path of the file to which etcd, the API server, the scheduler and the controllers log, rotated by
	// size. Empty means DataDir/log/control-plane.log. Klog has one output for the whole process: the ControlPlane
	// started last decides.
	LogFile string

	// Log takes the place of LogFile when it is not nil.
	Log io.Writer

	// Verbosity is klog's level, 0 to 10.
	Verbosity int

	// Warn is told what the user should look at while the plane runs; the log has it too. It is called from one
	// goroutine at a time. Nil means nobody listens.
	Warn func(message string)

	// Progress is told after each step of Start what was done and how long it took. It is called from one goroutine at
	// a time. Nil means nobody listens.
	Progress func(step string, took time.Duration)
}

// OptionError says which of the Options cannot be as they are given, and what could: a mistake of whoever gave them.
type OptionError struct{ text string }

// Error implements error.
func (e *OptionError) Error() string { return e.text }

func wrong(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}

// Check tells what is wrong with the options, an [OptionError] if their giver is at fault, and touches nothing.
func (o Options) Check() error {
	_, err := o.complete()
	return err
}

// complete fills in the defaults and says what is wrong with the rest.
func (o Options) complete() (Options, error) {
	if o.DataDir == "" {
		return o, errors.New("control plane: no data directory given")
	}
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return o, fmt.Errorf("control plane: data directory %q: %w", o.DataDir, err)
	}
	o.DataDir = dir
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	_, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return o, wrong("control plane: listen address %q is not host:port, as in 127.0.0.1:6443: %v", o.Listen, err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return o, wrong("control plane: listen address %q: the port must be a number from 0 to 65535; 0 picks a free one", o.Listen)
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = filepath.Join(o.DataDir, "kubeconfig")
	}
	if o.LogFile == "" {
		o.LogFile = filepath.Join(o.DataDir, "log", "control-plane.log")
	}
	if o.SigningDuration == 0 {
		o.SigningDuration = DefaultSigningDuration
	}
	if o.SigningDuration < LeastSigningDuration {
		return o, wrong("control plane: certificates cannot be signed for %s: choose at least %s", o.SigningDuration, LeastSigningDuration)
	}
	if o.QuotaBackendBytes == 0 {
		o.QuotaBackendBytes = DefaultQuota
	}
	if o.QuotaBackendBytes < LeastQuota {
		return o, wrong("control plane: a quota of %d bytes holds no plane: choose at least %d", o.QuotaBackendBytes, LeastQuota)
	}
	if o.EventTTL == 0 {
		o.EventTTL = DefaultEventTTL
	}
	if o.EventTTL < LeastEventTTL {
		return o, wrong("control plane: events cannot be kept for %s: choose at least %s", o.EventTTL, LeastEventTTL)
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(string, time.Duration) {}
	}
	return o, nil
}
