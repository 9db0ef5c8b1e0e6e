// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// StopContainer asks the command to end and kills it, and everything it
// started, when the timeout (seconds) has passed. It returns when all is over.
// Stopping what is not there is no error.
func (r *Runtime) StopContainer(ctx context.Context, req *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	c, err := r.container(req.GetContainerId())
	if err != nil {
		return &runtimeapi.StopContainerResponse{}, nil // what is not there does not run
	}
	ended := make(chan struct{})
	defer close(ended)
	r.heartbeat(c.rec.Sandbox, ended)
	grace := time.Duration(max(req.GetTimeout(), 0)) * time.Second
	return &runtimeapi.StopContainerResponse{}, r.stop(ctx, c, grace)
}

// killSlack is how long after the grace period a shim may take to see its
// container dead before it is killed itself.
const killSlack = 5 * time.Second

// stop ends a container and waits for it. One that does not run is left alone.
func (r *Runtime) stop(ctx context.Context, c *container, grace time.Duration) error {
	// Behind a start in progress: what is starting is stopped, too.
	if err := r.acquireOp(ctx, c, grace); err != nil {
		return err
	}
	r.mu.Lock()
	state := c.state
	r.mu.Unlock()
	c.releaseOp()
	if state != stateRunning {
		return nil
	}
	err := shim.Stop(c.dir, c.stopSignal(), grace)
	if err != nil && !errors.Is(err, shim.ErrGone) {
		return status.Errorf(codes.Internal, "stopping container %s: %v", c.rec.ID, err)
	}
	return r.await(ctx, c, c.exited, grace)
}

// acquireOp waits for a start in progress. One that does not come to an end, because
// a filesystem does not answer, say, is killed when the grace period is over.
func (r *Runtime) acquireOp(ctx context.Context, c *container, grace time.Duration) error {
	return r.await(ctx, c, c.op, grace)
}

// await waits for c to get to where ch tells. When that takes longer than the
// grace period its shim is killed: process 1 of a namespace takes all others
// along; without one, the lost container's processes are found by their mark.
func (r *Runtime) await(ctx context.Context, c *container, ch <-chan struct{}, grace time.Duration) error {
	timer := time.NewTimer(grace + killSlack)
	defer timer.Stop()
	for {
		select {
		case <-ch:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-r.done:
			return errDraining
		case <-timer.C:
			r.killShim(c)
			timer.Reset(killSlack)
		}
	}
}

// releaseOp lets the next one start or remove the container.
func (c *container) releaseOp() { c.op <- struct{}{} }

// killShim kills a shim that does not do what it is asked, if it lives and is
// the shim of c beyond doubt.
func (r *Runtime) killShim(c *container) {
	r.mu.Lock()
	c.killRequested = true
	r.mu.Unlock()
	if id, err := shim.ReadIdentity(c.dir); err == nil {
		id.Kill(c.dir)
	}
}

// waitGone waits until the shim's process is gone, and with it its mounts.
func (r *Runtime) waitGone(ctx context.Context, c *container) error {
	return r.await(ctx, c, c.gone, 0)
}

// StopAll ends every container, giving each the grace period, and starts
// nothing any more. Sandboxes and the records of containers stay: the next
// Runtime knows how they ended. It returns early when ctx ends, and then says
// what still runs.
func (r *Runtime) StopAll(ctx context.Context, grace time.Duration) error {
	return r.stopAll(ctx, func(*container) time.Duration { return grace })
}

func (r *Runtime) stopAll(ctx context.Context, grace func(*container) time.Duration) error {
	r.mu.Lock()
	r.draining = true
	var list []*container
	for _, c := range r.containers {
		list = append(list, c)
	}
	r.mu.Unlock()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, c := range list {
		wg.Go(func() {
			if err := r.stop(ctx, c, grace(c)); err != nil {
				errs[i] = fmt.Errorf("container %s of sandbox %s: %w", c.config.GetMetadata().GetName(), c.rec.Sandbox, err)
				return
			}
			r.mu.Lock()
			created := c.state == stateCreated
			r.mu.Unlock()
			if !created {
				errs[i] = r.waitGone(ctx, c)
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, r.endAllPIDs(), r.releaseAllIPC())...)
}

// endAllPIDs ends the processes that hold PID namespaces of Pods; the sandboxes
// are over for the next Runtime.
func (r *Runtime) endAllPIDs() error {
	r.mu.Lock()
	var list []*sandbox
	for _, s := range r.sandboxes {
		if s.rec.SharesPIDs {
			list = append(list, s)
		}
	}
	r.mu.Unlock()
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, s := range list {
		wg.Go(func() { errs[i] = r.endPIDs(r.sandboxDir(s)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// stopSignal is the signal that asks a container to end: that of its lifecycle,
// or else that of its image.
func (c *container) stopSignal() unix.Signal {
	if s := c.config.GetStopSignal(); s != runtimeapi.Signal_RUNTIME_DEFAULT || c.rec.StopSignal == 0 {
		return stopSignal(s)
	}
	return c.rec.StopSignal
}

// criStopSignal is that signal in a status, where TERM is not told.
func (c *container) criStopSignal() runtimeapi.Signal {
	if s := c.config.GetStopSignal(); s != runtimeapi.Signal_RUNTIME_DEFAULT || c.rec.StopSignal == 0 {
		return s
	}
	for number := range runtimeapi.Signal_name {
		if s := runtimeapi.Signal(number); s != runtimeapi.Signal_RUNTIME_DEFAULT && stopSignal(s) == c.rec.StopSignal {
			return s
		}
	}
	return runtimeapi.Signal_RUNTIME_DEFAULT
}

// stopSignal is the signal of a container's lifecycle.stopSignal; TERM when it
// names none.
func stopSignal(s runtimeapi.Signal) unix.Signal {
	name := s.String()
	switch {
	case s == runtimeapi.Signal_RUNTIME_DEFAULT:
		return unix.SIGTERM
	case s == runtimeapi.Signal_SIGCLD:
		return unix.SIGCHLD
	case s == runtimeapi.Signal_SIGPOLL:
		return unix.SIGIO
	case s >= runtimeapi.Signal_SIGRTMIN && s <= runtimeapi.Signal_SIGRTMAX:
		// Numbers of the C library, which keeps two of the kernel's for itself.
		return unix.Signal(34 + int(s-runtimeapi.Signal_SIGRTMIN))
	}
	if sig := unix.SignalNum(name); sig != 0 {
		return sig
	}
	return unix.SIGTERM
}
