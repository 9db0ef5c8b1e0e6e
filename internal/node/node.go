// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet"

	"github.com/carillon-dev/carillon/internal/mounts"
)

// Node is a kubelet and its container runtime in this process.
//
// There can be one Node in the life of a process: the kubelet registers metrics
// and handlers globally, and parts of it go on after it was told to end.
// Methods may be called by several goroutines at once.
type Node struct {
	options Options
	address string

	ready chan struct{}
	errs  chan error

	mu        sync.Mutex
	started   bool
	closed    bool
	cancel    context.CancelFunc
	clients   *clients
	mounter   *mounter
	runtime   containerRuntime
	done      chan struct{} // closed when app.Run has returned
	guardDone chan struct{} // closed when the disk guard has ended; nil without one
}

// started is set by the first Start in this process.
var started atomic.Bool

// New checks the options and chooses the kubelet's address. It starts nothing
// and leaves nothing on disk.
func New(options Options) (*Node, error) {
	if err := errors.Join(options.complete(), CheckEvictionHard(options.EvictionHard)); err != nil {
		return nil, err
	}
	address, err := freeAddress(options.Listen)
	if err != nil {
		return nil, err
	}
	return &Node{
		options: options,
		address: address,
		ready:   make(chan struct{}),
		errs:    make(chan error, 1),
	}, nil
}

// Name is the name of the Node object.
func (n *Node) Name() string { return n.options.Name }

// Address is the host:port that the kubelet serves on, known from New on.
func (n *Node) Address() string { return n.address }

// Ready is closed once the API shows the node as ready in this life.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Err delivers at most one error: that with which the kubelet or the runtime
// ended by itself after Start. It is never closed.
func (n *Node) Err() <-chan error { return n.errs }

// Start starts the runtime and the kubelet and returns; the API server must be
// serving. The context bounds the start alone. What can be found wrong is
// returned as an error and leaves nothing running.
//
// A second Start, of this Node or of any other in this process, is an error.
func (n *Node) Start(ctx context.Context) (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.closed:
		return errors.New("the node is closed")
	case n.started:
		return errors.New("the node was started before")
	}
	if err := precheck(&n.options, n.address); err != nil {
		return err
	}
	if err := cleanLeftovers(n.options.DataDir); err != nil {
		return err
	}
	rights, err := findRights(n.options.DataDir)
	if err != nil {
		return err
	}
	if !started.CompareAndSwap(false, true) {
		return errors.New("a node was started in this process before: the kubelet can be started once in a process, so start another process")
	}
	n.started = true

	// The kubelet's life is not that of the context of its start.
	running, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), n.options.Logger.WithName("kubelet")))
	n.cancel = cancel
	n.done = make(chan struct{})
	defer func() {
		if err != nil {
			close(n.done)
			err = errors.Join(err, n.close(ctx))
		}
	}()

	endpoint := n.options.RuntimeEndpoint
	var listed <-chan struct{}
	if endpoint == "" {
		listed = awaitRelist(running, n.options.Logger, relists)
		if n.runtime, err = startRuntime(ctx, &n.options); err != nil {
			return err
		}
		if err := trustCertificate(n.runtime.StreamCertificate()); err != nil {
			return err
		}
		endpoint = n.runtime.Endpoint()
	}
	if n.clients, err = newClients(n.options.Client, listed); err != nil {
		return err
	}
	if n.options.Admin != nil && n.options.RuntimeEndpoint == "" {
		if err := createRuntimeClasses(ctx, n.options.Admin); err != nil {
			return err
		}
	}
	stats := newMachineStats(n.options.DataDir)
	reserve, err := n.register(ctx, stats)
	if err != nil {
		return err
	}
	recorder := newEventRecorder(running, n.clients.events.CoreV1(), n.options.Name)
	if n.guardDone, err = n.guardDisk(running, stats, reserve, recorder); err != nil {
		return err
	}
	mounter := newMounter(rights.mount)
	n.mounter = &mounter
	kubelet.ContainerLogsDir = logsDir(n.options.DataDir)
	events := n.runtime != nil && usesEvents(n.runtime.Known())
	if n.runtime != nil && !events {
		n.options.Logger.Info("Ends of containers are noticed up to a second late until the next start: very many containers were found. "+
			"Delete old Jobs or give them ttlSecondsAfterFinished, then restart.", "found", n.runtime.Known())
	}
	server, err := kubeletServer(&n.options, n.address, endpoint, events)
	if err != nil {
		return err
	}
	deps, err := kubeletDependencies(running, &n.options, server, stats, n.clients, recorder, mounter, rights)
	if err != nil {
		return err
	}

	go func() {
		defer close(n.done)
		if err := runKubelet(running, server, deps); err != nil {
			n.fail(fmt.Errorf("kubelet: %w", err))
		}
	}()
	go func() {
		if waitReady(running, n.clients.kube, n.options.Name) == nil {
			close(n.ready)
		}
	}()
	if n.runtime != nil {
		go n.watchRuntime(running)
	}
	return nil
}

// register makes the Node object by what the machine has, and returns how much
// of its disk is to be kept free.
func (n *Node) register(ctx context.Context, stats *machineStats) (reserve uint64, err error) {
	stats.foreignImages = n.options.RuntimeEndpoint != ""
	if err := n.completeEviction(stats); err != nil {
		return 0, err
	}
	capacity, err := nodeCapacity(stats, n.options.MaxPods)
	if err != nil {
		return 0, err
	}
	reserve, available, err := n.diskReserve(stats)
	if err != nil {
		return 0, err
	}
	var taints []corev1.Taint
	if available < reserve {
		taints, _ = pressureTaints(&corev1.Node{}, true)
	}
	return reserve, register(ctx, n.clients.kube, n.options.Name, hostOf(n.address), capacity, taints)
}

// watchRuntime passes on the error that the runtime ends with by itself.
func (n *Node) watchRuntime(ctx context.Context) {
	select {
	case <-ctx.Done():
	case err := <-n.runtime.Err():
		n.fail(fmt.Errorf("container runtime: %w", err))
	}
}

// fail delivers the first error.
func (n *Node) fail(err error) {
	select {
	case n.errs <- err:
	default:
	}
}

// Close stops the kubelet, cuts its connections, ends the built-in runtime's
// containers unless Options.KeepContainers, and unmounts everything below the
// data directory. It returns early, with an error, when ctx ends.
//
// The kubelet cannot be stopped wholly: goroutines of its sync loop, its lease
// and its server go on until the process ends. They can do no harm, because
// they reach neither the API server nor a runtime and can mount nothing, but
// they keep the port, so close a Node when the process is about to end. A
// second Close does nothing.
func (n *Node) Close(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.close(ctx)
}

// close does Close's work with n.mu held.
func (n *Node) close(ctx context.Context) error {
	if n.closed {
		return nil
	}
	n.closed = true
	if !n.started {
		return nil
	}
	n.cancel()
	if n.guardDone != nil {
		select {
		case <-n.guardDone: // and pauses nothing from here on
		case <-ctx.Done():
		}
	}
	if n.mounter != nil {
		n.mounter.close()
	}
	// Before the containers end: what they end with now is recorded by the
	// runtime and told by the next life, where restart rules can be followed.
	if n.clients != nil {
		n.clients.connections.close()
	}
	var problems []error
	if n.runtime != nil {
		if !n.options.KeepContainers {
			if err := n.stopContainers(ctx); err != nil {
				problems = append(problems, fmt.Errorf("stopping containers: %w", err))
			}
		}
		if err := n.runtime.Close(ctx); err != nil {
			problems = append(problems, fmt.Errorf("container runtime: %w", err))
		}
	}
	select {
	case <-n.done:
	case <-ctx.Done():
		problems = append(problems, fmt.Errorf("the kubelet did not stop in time: %w", ctx.Err()))
	}
	if err := n.unmount(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (n *Node) stopContainers(ctx context.Context) error {
	if n.options.DrainTimeout > 0 {
		return n.runtime.Drain(ctx, n.options.DrainTimeout)
	}
	return n.runtime.StopAll(ctx, n.options.StopGrace)
}

// DrainEstimate says what Close will wait for with Options.DrainTimeout: how many
// Pods run, and the longest of their grace periods within it.
func (n *Node) DrainEstimate() (pods int, longest time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runtime == nil || n.closed || n.options.DrainTimeout == 0 {
		return 0, 0
	}
	return n.runtime.DrainEstimate(n.options.DrainTimeout)
}

// unmount leaves no mount below the data directory, unless containers that run
// on have their volumes there.
func (n *Node) unmount() error {
	if n.options.KeepContainers || n.options.RuntimeEndpoint != "" {
		return nil
	}
	err := mounts.UnmountBelow(n.options.DataDir, nil)
	if removeErr := os.Remove(podResourcesSocket(n.options.DataDir)); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}
