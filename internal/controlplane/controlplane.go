// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ControlPlane is one control plane with a life: New, Start, Close, each once. Another value on the same data directory
// may follow in the same process. Two may run at once on different directories.
// Its methods may be called from several goroutines.
type ControlPlane struct {
	options Options
	ready   chan struct{}
	failed  chan error
	stopped chan struct{}

	// broken is closed when a part died: then nothing is waited for that needs it.
	broken   chan struct{}
	breaking sync.Once

	startOnce sync.Once
	closeOnce sync.Once
	closeErr  error

	// life is held by Start and Close, so that a Close during a Start waits for it.
	life   sync.Mutex
	closed bool
	undo   []func() error
	etcd   *store
	api    *apiServer

	warning sync.Mutex // held while Options.Warn runs

	mu      sync.Mutex
	pki     *pki
	address string
	admin   *rest.Config
	tokens  *tokens
	keeper  *maintainer
	logger  logr.Logger
}

// New checks the options. It touches nothing: Start does.
func New(o Options) (*ControlPlane, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{options: o, ready: make(chan struct{}), failed: make(chan error, 1), stopped: make(chan struct{}), broken: make(chan struct{})}
	return c, nil
}

// Start starts every part and returns when clients may use the plane: the API is served, the namespace "default" and
// its service account exist. The default RBAC roles come a second or two later. ctx bounds the start, not the life that
// follows. After an error nothing runs and the value is spent; after success Close must be called.
func (c *ControlPlane) Start(ctx context.Context) error {
	err := errors.New("control plane: started twice")
	c.startOnce.Do(func() {
		c.life.Lock()
		defer c.life.Unlock()
		if c.closed {
			err = errors.New("control plane: started after it was closed")
			return
		}
		c.live()
		if err = guarded(func() error { return c.start(ctx) }); err != nil {
			c.closed = true
			_ = c.stop() // err is the cause
			return
		}
		close(c.ready)
	})
	return err
}

func (c *ControlPlane) start(ctx context.Context) error {
	o := c.options
	lock, err := LockDir(o.DataDir)
	if err != nil {
		return err
	}
	c.onStop(func() error { lock.Release(); return nil })

	log, err := openLog(o)
	if err != nil {
		return err
	}
	c.onStop(log.close)
	logger := logKubernetes(log, o.Verbosity)
	c.mu.Lock()
	c.logger = logger
	c.mu.Unlock()

	step := c.stepper()
	now := time.Now()
	authority, err := openPKI(filepath.Join(o.DataDir, "pki"), now, o.SigningDuration)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, o.DataDir, o.Listen)
	if err != nil {
		return err
	}
	address := listener.Addr().(*net.TCPAddr)
	c.mu.Lock()
	c.pki, c.address = authority, dialable(address)
	c.mu.Unlock()
	files, err := issueAPIServerFiles(authority, address, now)
	if err == nil {
		err = c.writeAdminKubeconfig(authority, now)
	}
	if err != nil {
		listener.Close()
		return err
	}
	step("certificates")

	if c.etcd, err = openStore(ctx, filepath.Join(o.DataDir, "etcd"), o.QuotaBackendBytes, o.Ephemeral, func(onDeath func(string)) *zap.Logger { return logEtcd(log, onDeath) }); err != nil {
		listener.Close()
		return err
	}
	c.onStop(c.etcd.close)
	go c.etcd.watch(c.stopped, c.fail)
	keeper := &maintainer{store: c.etcd, dir: filepath.Join(o.DataDir, "etcd"), quota: o.QuotaBackendBytes, log: logger, warn: c.warn}
	if err := keeper.open(ctx, now); err != nil {
		listener.Close()
		return err
	}
	c.goOn(keeper.run)
	c.mu.Lock()
	c.keeper = keeper
	c.mu.Unlock()
	step("store")

	api, err := startAPIServer(ctx, o, listener, c.etcd.url, files)
	if err != nil {
		return err
	}
	c.onStop(func() error { return api.close(c.broken) })
	c.api = api
	c.mu.Lock()
	c.admin, c.tokens = api.admin, api.tokens
	c.mu.Unlock()
	step("API server")

	running, err := startControllers(api.admin, authority.caPEM())
	if err != nil {
		return err
	}
	c.onStop(func() error { running.close(); return nil })
	if !o.NoScheduler {
		scheduler, err := startScheduler(api.admin)
		if err != nil {
			return err
		}
		c.onStop(func() error { scheduler.close(); return nil })
	}
	if err := waitForDefaults(ctx, api.admin); err != nil {
		return err
	}
	go c.watchAPIServer(api)
	c.goOn((&renewal{plane: c, pki: authority, began: now}).run)
	step("controllers")
	return nil
}

// goOn runs f until stop, which ends its context and waits for it.
func (c *ControlPlane) goOn(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	c.onStop(func() error {
		cancel()
		overdue := time.NewTimer(storeStopTimeout)
		defer overdue.Stop()
		select {
		case <-done:
		case <-overdue.C: // it waits for the disk
		}
		return nil
	})
}

// warn tells the user and the log.
func (c *ControlPlane) warn(message string) {
	c.Logger().Info("The user is warned", "message", message)
	c.warning.Lock()
	defer c.warning.Unlock()
	c.options.Warn(message)
}

// watchAPIServer reports an API server that ends by itself. The end that Close asks for is handed on to Close.
func (c *ControlPlane) watchAPIServer(api *apiServer) {
	select {
	case <-c.stopped:
	case err := <-api.done:
		c.fail(fmt.Errorf("the API server ended: %w", orUnknown(err)))
		api.done <- err
	}
}

// fail reports the first error of a running plane; what a stop brings about is none.
func (c *ControlPlane) fail(err error) {
	select {
	case <-c.stopped:
		return
	default:
	}
	c.breaking.Do(func() {
		c.failed <- err
		close(c.broken)
	})
}

// stepper reports the time since its last call, or its making, as a step of the start.
func (c *ControlPlane) stepper() func(string) {
	last := time.Now()
	return func(name string) {
		now := time.Now()
		c.options.Progress(name, now.Sub(last))
		last = now
	}
}

// onStop adds what stop has to do, before all that was added earlier.
func (c *ControlPlane) onStop(f func() error) { c.undo = append(c.undo, f) }

// stop ends what runs, the last started first.
func (c *ControlPlane) stop() error {
	close(c.stopped)
	var errs []error
	for i := len(c.undo) - 1; i >= 0; i-- {
		errs = append(errs, c.undo[i]())
	}
	c.undo = nil
	c.die()
	c.mu.Lock()
	c.pki, c.admin, c.tokens = nil, nil, nil
	c.mu.Unlock()
	return errors.Join(errs...)
}

// Ready is closed when Start has succeeded.
func (c *ControlPlane) Ready() <-chan struct{} { return c.ready }

// Err yields at most one error: that of the first part that died by itself. The caller should then call Close, which
// itself brings nothing about here.
func (c *ControlPlane) Err() <-chan error { return c.failed }

// Close stops every part, within a second as a rule, and gives up the data directory. It returns when that is done or
// ctx is, and then goes on by itself. Calling it again waits for the first call. Clients see their watches end.
func (c *ControlPlane) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.closeOnce.Do(func() {
			c.life.Lock()
			defer c.life.Unlock()
			if !c.closed {
				c.closed = true
				c.closeErr = c.stop()
			}
		})
	}()
	select {
	case <-done:
		return c.closeErr
	case <-ctx.Done():
		return fmt.Errorf("control plane: still closing: %w", context.Cause(ctx))
	}
}

// AdminConfig is a client of the group system:masters for use in this process, without client-side limits. It is valid
// from Start to Close and nil outside that. The caller owns the copy.
func (c *ControlPlane) AdminConfig() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.admin == nil {
		return nil
	}
	return rest.CopyConfig(c.admin)
}

// Kubeconfig is the path of the administrator's kubeconfig, which Start writes; its context is named ContextName.
func (c *ControlPlane) Kubeconfig() string { return c.options.Kubeconfig }

// Address is the host:port at which processes of this machine reach the API server; empty before Start.
func (c *ControlPlane) Address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address
}

// StoreUsage is what the last look at the store found, a few seconds ago. It is zero before Start.
func (c *ControlPlane) StoreUsage() StoreUsage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keeper == nil || c.keeper.usage.Load() == nil {
		return StoreUsage{}
	}
	return *c.keeper.usage.Load()
}

// Logger writes to the log of the control plane, for those that work with it; what they say after Close is dropped. It
// is silent before Start.
func (c *ControlPlane) Logger() logr.Logger {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.logger
}

// waitForDefaults waits for the namespace "default" and its service account, without which no Pod can be made there.
func waitForDefaults(ctx context.Context, admin *rest.Config) error {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			return nil
		}
		if !apierrors.IsNotFound(err) && ctx.Err() == nil {
			return fmt.Errorf("wait for the default service account: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the default service account was not made: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
