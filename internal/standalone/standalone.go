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
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/carillon-dev/carillon/internal/controlplane"
	"github.com/carillon-dev/carillon/internal/datadir"
	"github.com/carillon-dev/carillon/internal/manager"
	"github.com/carillon-dev/carillon/internal/memory"
	"github.com/carillon-dev/carillon/internal/node"
	"github.com/carillon-dev/carillon/internal/node/mountnamespace"
	"github.com/carillon-dev/carillon/internal/privatedir"
)

// closeTimeout bounds Close where its context does not: what has not ended by then ends with the process. DrainEstimate
// adds its grace.
const closeTimeout = 5 * time.Second

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

// stop ends what runs, in the reverse order of dependence. The controllers end first, so that they do not take the end
// of the Pods for failures; the node keeps that to itself until the next start.
func (s *Standalone) stop(ctx context.Context) error {
	s.cancel()
	var errs []error
	if s.manager != nil {
		select {
		case err := <-s.manager:
			if err != nil {
				errs = append(errs, fmt.Errorf("stop the controllers: %w", err))
			}
		case <-ctx.Done():
			errs = append(errs, errors.New("the controllers did not stop in time"))
		}
	}
	if n := s.node.Load(); n != nil {
		if err := n.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop the node: %w", err))
		}
	}
	if err := s.journal.close(ctx); err != nil { // it has the end of what the node has stopped now
		errs = append(errs, err)
	}
	if s.plane != nil {
		if err := s.plane.Close(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if s.lock != nil && s.options.Ephemeral {
		// With the lock still held: nobody else may take the directory for abandoned.
		if err := removeEphemeral(s.DataDir()); err != nil {
			errs = append(errs, fmt.Errorf("remove what the plane left: %w", err))
		}
	}
	if s.lock != nil {
		s.lock.Release()
	}
	return errors.Join(errs...)
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

// Close stops every part: controllers, Pods, node, control plane, within five seconds unless Options.DrainTimeout. It
// returns when that is done or ctx is, and then goes on by itself. Pods that end by it are recorded at the next start,
// where their restart rules apply. Calling it again waits for the first call.
func (s *Standalone) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		go func() {
			defer close(s.closed)
			s.lifecycle.Lock()
			defer s.lifecycle.Unlock()
			if s.ended {
				return
			}
			s.ended = true
			stopCtx, cancel := context.WithTimeout(context.Background(), closeTimeout+s.options.DrainTimeout)
			defer cancel()
			s.closeErr = s.stop(stopCtx)
		}()
	})
	select {
	case <-s.closed:
		return s.closeErr
	case <-ctx.Done():
		return fmt.Errorf("standalone: still stopping: %w", context.Cause(ctx))
	}
}

// DrainEstimate says what a Close with Options.DrainTimeout will wait for: how many Pods run, and the longest of their
// grace periods within that timeout.
func (s *Standalone) DrainEstimate() (pods int, longest time.Duration) {
	if n := s.node.Load(); n != nil {
		return n.DrainEstimate()
	}
	return 0, 0
}

// DataDir is the absolute path of the data directory; of an ephemeral plane, empty before Start.
func (s *Standalone) DataDir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// Kubeconfig is the path of the administrator's kubeconfig, which Start writes. Of an ephemeral plane it is known from
// Start on.
func (s *Standalone) Kubeconfig() string { return datadir.Kubeconfig(s.DataDir()) }

// MetricsAddr is the host:port on which metrics are served; empty before Start and when they are not.
func (s *Standalone) MetricsAddr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.metrics
}

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
