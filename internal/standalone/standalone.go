// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

// Package standalone is Carillon on one machine: the control plane, the node and the controllers composed into one
// value with a life.
//
//	s, err := standalone.New(standalone.Options{DataDir: dir})
//	err = s.Start(ctx)
//	<-s.Ready()
//	… s.RESTConfig() …
//	err = s.Close(ctx)
//
// One directory holds its state: the control plane's part in plane/, the node's in node/, logs in log/, and the
// administrator's kubeconfig. A lock on it that dies with the process keeps a second start away. After a kill -9 the next
// start finds what the API server acknowledged and takes over the containers that went on.
package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/node"
)

// Options are the choices of a caller of New. Only DataDir is required, unless Ephemeral.
type Options struct {
	// DataDir holds everything that outlives a start; mode 0700.
	DataDir string
	// Ephemeral makes a data directory of its own and removes it on Close.
	Ephemeral bool
	// Listen is the host:port of the API server; see controlplane.Options.Listen.
	Listen string
	// RuntimeEndpoint is a CRI runtime to use instead of local processes.
	RuntimeEndpoint string
	// Drain lets running Pods have the grace period of the node on Close.
	Drain bool
	// Progress is told after each step of Start. Nil means nobody listens.
	Progress func(step string, took time.Duration)
}

// Standalone is one Carillon with a life: New, Start, Close, each once. The node cannot be started twice in a process,
// so neither can this.
type Standalone struct {
	options Options
	lock    *controlplane.Lock
	plane   *controlplane.ControlPlane
	node    *node.Node
	ready   chan struct{}
	failed  chan error

	stopManager context.CancelFunc
	managerDone chan struct{}
	kubelet     atomic.Value // string
	closeOnce   sync.Once
	closeErr    error
}

// New checks the options. It touches nothing: Start does.
func New(o Options) (*Standalone, error) {
	if o.DataDir == "" && !o.Ephemeral {
		return nil, errors.New("standalone: no data directory given")
	}
	if o.Progress == nil {
		o.Progress = func(string, time.Duration) {}
	}
	return &Standalone{options: o, ready: make(chan struct{}), failed: make(chan error, 3)}, nil
}

// Start brings everything up and returns when the API server, the node and the controllers work. After an error Close
// must still be called.
func (s *Standalone) Start(ctx context.Context) error {
	if s.options.Ephemeral {
		dir, err := os.MkdirTemp("", "carillon-")
		if err != nil {
			return fmt.Errorf("no directory for a throw-away plane: %w", err)
		}
		s.options.DataDir = dir
	}
	lock, err := controlplane.LockDir(s.options.DataDir)
	if err != nil {
		return err
	}
	s.lock = lock
	if err := s.startPlane(ctx); err != nil {
		return err
	}
	nodeReady := make(chan error, 1)
	go func() { nodeReady <- s.startNode(ctx) }()
	managerErr := s.startManager(ctx)
	if err := errors.Join(<-nodeReady, managerErr); err != nil {
		return err
	}
	close(s.ready)
	return nil
}

func (s *Standalone) startPlane(ctx context.Context) error {
	plane, err := controlplane.New(controlplane.Options{
		DataDir:    filepath.Join(s.options.DataDir, "plane"),
		Kubeconfig: filepath.Join(s.options.DataDir, "kubeconfig"),
		Listen:     s.options.Listen,
		Ephemeral:  s.options.Ephemeral,
		Progress:   s.options.Progress,
		KubeletAddress: func() string {
			address, _ := s.kubelet.Load().(string)
			return address
		},
	})
	if err != nil {
		return err
	}
	s.plane = plane
	if err := plane.Start(ctx); err != nil {
		return err
	}
	go s.watch(plane.Err())
	return nil
}

func (s *Standalone) startNode(ctx context.Context) error {
	began := time.Now()
	name, err := nodeName()
	if err != nil {
		return err
	}
	credentials, err := s.plane.NodeCredentials(name)
	if err != nil {
		return err
	}
	n, err := node.New(node.Options{
		Name:            name,
		DataDir:         filepath.Join(s.options.DataDir, "node"),
		Client:          credentials.Client,
		Admin:           s.plane.AdminConfig(),
		ServingCert:     credentials.ServingCert,
		ServingKey:      credentials.ServingKey,
		ClientCA:        credentials.ClientCA,
		RuntimeEndpoint: s.options.RuntimeEndpoint,
		APIServer:       s.plane.Address(),
		Hidden:          []string{s.options.DataDir},
		Logger:          klog.Background().WithName("node"),
	})
	if err != nil {
		return err
	}
	s.node = n
	s.kubelet.Store(n.Address())
	if err := n.Start(ctx); err != nil {
		return err
	}
	select {
	case <-n.Ready():
	case err := <-n.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	go s.watch(n.Err())
	s.options.Progress("node "+name, time.Since(began))
	return nil
}

func (s *Standalone) startManager(ctx context.Context) error {
	began := time.Now()
	m, err := manager.New(manager.Options{
		Config: s.plane.AdminConfig(), Standalone: true, MetricsAddr: "0", HealthAddr: "0", Logger: klog.Background().WithName("manager"),
	})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopManager, s.managerDone = stop, make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		defer close(s.managerDone)
		if err := m.Start(running); err != nil {
			ended <- fmt.Errorf("controllers: %w", err)
		}
	}()
	select {
	case <-m.Ready():
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	go s.watch(ended)
	s.options.Progress("CronJob and Job controllers", time.Since(began))
	return nil
}

// watch passes on the failure of a part.
func (s *Standalone) watch(part <-chan error) {
	if err, ok := <-part; ok && err != nil {
		s.failed <- err
	}
}

// Ready is closed when everything works.
func (s *Standalone) Ready() <-chan struct{} { return s.ready }

// Err gives the failure of a part after it was ready. The caller should Close then.
func (s *Standalone) Err() <-chan error { return s.failed }

// RESTConfig is the administrator's connection, from Start's return until Close.
func (s *Standalone) RESTConfig() *rest.Config { return s.plane.AdminConfig() }

// Kubeconfig is the path of the administrator's kubeconfig, from Start's return on.
func (s *Standalone) Kubeconfig() string { return s.plane.Kubeconfig() }

// DataDir is the directory in use, from Start's return on.
func (s *Standalone) DataDir() string { return s.options.DataDir }

// Close stops the controllers, the node with its Pods, and the control plane, in this order, and gives up the data
// directory. It may be called in any state, again too.
func (s *Standalone) Close(ctx context.Context) error {
	s.closeOnce.Do(func() { s.closeErr = s.close(ctx) })
	return s.closeErr
}

func (s *Standalone) close(ctx context.Context) error {
	var errs []error
	if s.stopManager != nil {
		s.stopManager()
		select {
		case <-s.managerDone:
		case <-ctx.Done():
		}
	}
	if s.node != nil {
		errs = append(errs, s.node.Close(ctx))
	}
	if s.plane != nil {
		errs = append(errs, s.plane.Close(ctx))
	}
	if s.lock != nil {
		s.lock.Release()
	}
	if s.options.Ephemeral && s.options.DataDir != "" {
		errs = append(errs, os.RemoveAll(s.options.DataDir))
	}
	return errors.Join(errs...)
}

// nodeName makes the machine's host name a name that a Node may have.
func nodeName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("the machine's host name: %w", err)
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, host)
	name = strings.Trim(name[:min(len(name), 63)], "-.")
	if name == "" {
		name = "localhost"
	}
	return name, nil
}
