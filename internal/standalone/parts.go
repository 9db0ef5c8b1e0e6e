// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"fmt"
	"sync"
	"time"

	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/node"
)

func (s *Standalone) makeNode(dir string) (*node.Node, error) {
	name, err := s.options.NodeName, error(nil)
	if name == "" {
		if name, err = nodeName(dir); err != nil {
			return nil, fmt.Errorf("name the node: %w", err)
		}
	}
	credentials, err := s.plane.NodeCredentials(name)
	if err != nil {
		return nil, err
	}
	beside, err := datadir.Beside(dir)
	if err != nil {
		return nil, fmt.Errorf("look what restores left beside the data directory: %w", err)
	}
	n, err := node.New(node.Options{
		Name: name, DataDir: datadir.Node(dir),
		Client: credentials.Client, Admin: s.plane.AdminConfig(),
		ServingCert: credentials.ServingCert, ServingKey: credentials.ServingKey, ClientCA: credentials.ClientCA,
		RuntimeEndpoint: s.options.RuntimeEndpoint, APIServer: s.plane.Address(),
		// Keys, the store and the administrator's kubeconfig lie here, and in what was here before.
		Hidden:       append([]string{dir}, beside...),
		StopGrace:    stopGrace,
		DrainTimeout: s.options.DrainTimeout,
		EvictionHard: s.options.EvictionHard,
		PIDsMax:      s.options.PIDsMax,
		LocalFiles:   s.options.LocalFiles, ImageDir: s.options.ImageDir,
		ImageCacheBytes: s.options.ImageCacheBytes, RegistryMirrors: s.options.RegistryMirrors, PullProgress: s.options.PullProgress,
		// Nobody takes over what a throw-away plane leaves.
		EndWithProcess: s.options.Ephemeral,
		Ended:          s.journal.containerEnded(),
		Logger:         s.plane.Logger().WithName("node"),
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the node: %w", err)
	}
	s.node.Store(n)
	return n, nil
}

// startRecorder has runs recorded.
func (s *Standalone) startRecorder() {
	if s.journal == nil {
		return
	}
	if err := s.journal.start(s.plane.AdminConfig(), s.options.Warn); err != nil {
		s.plane.Logger().Error(err, "Runs are not recorded")
		s.options.Warn(fmt.Sprintf("runs are not remembered: %v", err))
	}
}

// startManager starts the controllers. The channel is closed when they are at work.
func (s *Standalone) startManager() (<-chan struct{}, error) {
	o := manager.Options{
		Config: s.plane.AdminConfig(), Standalone: true, Syncs: s.options.Syncs,
		Logger: s.plane.Logger().WithName("manager"),
	}
	if s.journal != nil && s.journal.recorder != nil {
		o.Witness = s.journal.recorder
	}
	if err := s.serveMetrics(&o); err != nil {
		return nil, err
	}
	m, err := manager.New(o)
	if err != nil {
		return nil, fmt.Errorf("prepare the controllers: %w", err)
	}
	s.manager = make(chan error, 1)
	go func() {
		err := m.Start(s.ctx)
		s.manager <- err
		if s.ctx.Err() == nil {
			s.fail(fmt.Errorf("the controllers ended: %w", err))
		}
	}()
	return m.Ready(), nil
}

// watch reports the first part that dies by itself.
func (s *Standalone) watch(n *node.Node) {
	select {
	case err := <-s.plane.Err():
		s.fail(err)
	case err := <-n.Err():
		s.fail(fmt.Errorf("the node failed: %w", err))
	case <-s.ctx.Done():
	}
}

func (s *Standalone) fail(err error) {
	if s.ctx.Err() != nil {
		return
	}
	select {
	case s.failed <- err:
	default:
	}
}

// becomeReady waits for what is done beside one another after the start, and tells each.
func (s *Standalone) becomeReady(steps map[string]<-chan struct{}, began time.Time, progress func(string, time.Duration)) {
	var parts sync.WaitGroup
	for step, ready := range steps {
		parts.Go(func() {
			select {
			case <-ready:
				progress(step, time.Since(began))
			case <-s.ctx.Done():
			}
		})
	}
	parts.Wait()
	if s.ctx.Err() == nil {
		close(s.ready)
	}
}
