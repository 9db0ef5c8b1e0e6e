// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/memory"
	"github.com/carillon-dev/carillon/internal/node"
	"github.com/carillon-dev/carillon/internal/node/mountnamespace"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

const (
	// startPercent makes the garbage collector run half as often as Go's default during the start, of which it
	// otherwise takes a fifth.
	startPercent = 200
	// restPercent makes it run twice as often as Go's default afterwards: what is alive at rest, about 100 MB, changes
	// slowly.
	restPercent = 50
)

// Standalone is one Carillon with a life: New, Start, Close, each once. Its methods may be called from several
// goroutines.
type Standalone struct {
	options Options
	ready   chan struct{}
	failed  chan error

	startOnce sync.Once
	closeOnce sync.Once
	closed    chan struct{}
	closeErr  error

	// lifecycle is held by Start and Close, so that a Close during a Start waits for it.
	lifecycle sync.Mutex
	ended     bool
	cancel    context.CancelFunc
	ctx       context.Context // of everything that goes on after Start
	lock      *controlplane.Lock
	plane     *controlplane.ControlPlane
	node      atomic.Pointer[node.Node]
	journal   *remembrance
	manager   chan error // yields the end of the manager, once; nil when it does not run

	mu     sync.Mutex
	dir    string
	config *rest.Config
	// metrics is the address at which they are served.
	metrics string
}

// New checks the options. It touches nothing: Start does.
func New(o Options) (*Standalone, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if err := o.controlPlane("/").Check(); err != nil {
		return nil, err
	}
	if err := node.CheckEvictionHard(o.EvictionHard); err != nil {
		return nil, err
	}
	if o.DataDir != "" {
		// Once, so that every part, and the kernel's table of mounts, has the same name for it from here on.
		if o.DataDir, err = privatedir.Resolve(o.DataDir); err != nil {
			return nil, fmt.Errorf("the data directory cannot be used: %w (--data-dir names another)", err)
		}
		// Said before anything is started, instead of by the node in the end.
		if err := node.CheckDataDir(datadir.Node(o.DataDir)); err != nil {
			return nil, err
		}
	}
	s := &Standalone{options: o, ready: make(chan struct{}), failed: make(chan error, 1), closed: make(chan struct{}), dir: o.DataDir}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start starts every part and returns when the API can be used: RESTConfig and Kubeconfig work. Pods and Jobs made then
// are looked after from Ready on. ctx bounds the start, not the life that follows. After an error nothing runs and the
// value is spent; after success Close must be called.
func (s *Standalone) Start(ctx context.Context) error {
	err := errors.New("standalone: started twice")
	s.startOnce.Do(func() {
		s.lifecycle.Lock()
		defer s.lifecycle.Unlock()
		if s.ended {
			err = errors.New("standalone: started after it was closed")
			return
		}
		if err = s.start(ctx); err != nil {
			s.ended = true
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			err = errors.Join(err, s.stop(stopCtx))
		}
	})
	return err
}

func (s *Standalone) start(ctx context.Context) error {
	o := s.options
	memory.SetGCPercent(startPercent)
	dir, err := s.takeDirectory()
	if err != nil {
		return err
	}

	progress := serialised(o.Progress)
	options := o.controlPlane(dir)
	options.Progress = progress
	options.KubeletAddress = func() string {
		if n := s.node.Load(); n != nil {
			return n.Address()
		}
		return ""
	}
	s.plane, err = controlplane.New(options)
	if err != nil {
		return err
	}
	if err := s.plane.Start(ctx); err != nil {
		return err
	}
	if own, why := mountnamespace.Entered(); !own {
		s.plane.Logger().Info("Pods' volumes are mounted in the machine's mount namespace", "reason", why.Error())
	}
	s.mu.Lock()
	s.config = s.plane.AdminConfig()
	s.mu.Unlock()

	began := time.Now()
	s.journal = s.openJournal(dir, s.plane.Logger().WithName("journal"))
	n, err := s.makeNode(dir)
	if err != nil {
		return err
	}
	// The node takes longest, so it starts first; the controllers' caches fill meanwhile.
	nodeStarted := make(chan error, 1)
	go func() { nodeStarted <- n.Start(ctx) }()
	tried, definitions := s.installDefinitions()
	select { // controllers look for a kind that is not served every ten seconds, and who applies manifests does so once
	case <-tried:
	case <-ctx.Done():
	}
	s.startRecorder() // before what it is to see happens
	managerReady, managerErr := s.startManager()
	if err := <-nodeStarted; err != nil {
		return errors.Join(fmt.Errorf("start the node: %w", err), managerErr)
	}
	if managerErr != nil {
		return managerErr
	}
	go s.watch(n)
	go s.becomeReady(map[string]<-chan struct{}{"node": n.Ready(), "Jobs and CronJobs": managerReady, "definition of Timetable": definitions}, began, progress)
	go memory.GiveBack(s.ctx, func() { memory.SetGCPercent(restPercent) })
	return nil
}

// takeDirectory makes the data directory ours.
func (s *Standalone) takeDirectory() (dir string, err error) {
	dir = s.options.DataDir
	sweep(s.ctx)
	if s.options.Ephemeral {
		if dir, err = makeEphemeral(); err != nil {
			return "", err
		}
		s.mu.Lock()
		s.dir = dir
		s.mu.Unlock()
	}
	s.lock, err = controlplane.LockDir(dir)
	return dir, err
}

// Ready is closed when Pods run and Jobs and CronJobs are looked after. It never is after a Close.
func (s *Standalone) Ready() <-chan struct{} { return s.ready }

// Recording is closed when runs are remembered beyond the life of their objects: the journal is open and can be written
// to. It never is of an ephemeral plane, and when Options.Warn was told why not. It is for callers after Start.
func (s *Standalone) Recording() <-chan struct{} {
	if s.journal == nil {
		return nil
	}
	return s.journal.recording
}

// Err yields at most one error: that of the first part that died by itself. The caller should then call Close, which
// itself brings nothing about here.
func (s *Standalone) Err() <-chan error { return s.failed }

// DataDir is the absolute path of the data directory; of an ephemeral plane, empty before Start.
func (s *Standalone) DataDir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// Kubeconfig is the path of the administrator's kubeconfig, which Start writes. Of an ephemeral plane it is known from
// Start on.
func (s *Standalone) Kubeconfig() string { return datadir.Kubeconfig(s.DataDir()) }

// RESTConfig is an administrator's client for use in this process, without client-side limits; nil before Start. The
// caller owns the copy.
func (s *Standalone) RESTConfig() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config == nil {
		return nil
	}
	return rest.CopyConfig(s.config)
}

func serialised(progress func(string, time.Duration)) func(string, time.Duration) {
	var mu sync.Mutex
	return func(step string, took time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		progress(step, took)
	}
}
