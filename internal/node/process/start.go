// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

var errDraining = status.Error(codes.Unavailable, "the process runtime is stopping: nothing new is started")

// StartContainer starts the command of a container, once. The order makes sure
// of that: the mark goes to disk before a shim is started, and where there is a
// mark no shim is ever started again. A crash in between leaves a container
// that counts as lost, never one that runs twice.
//
// Starting what runs already is no error, so that an answer that was lost may
// be asked for again. When the command can not be started the container has
// ended, with code 127 (not found), 126 (may not be executed) or 128 and the
// reason StartError, and the error says why.
func (r *Runtime) StartContainer(ctx context.Context, req *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	r.mu.Lock()
	c := r.containers[req.GetContainerId()]
	var s *sandbox
	if c != nil {
		s = r.sandboxes[c.rec.Sandbox]
	}
	r.mu.Unlock()
	if c == nil {
		return nil, notFound(req.GetContainerId())
	}
	// Not bound to the call: a start that has begun comes to its end.
	type outcome struct{ err error }
	ch := make(chan outcome, 1)
	if !r.spawn(func() { ch <- outcome{r.start(c, s)} }) {
		return nil, errDraining
	}
	select {
	case o := <-ch:
		if o.err != nil {
			return nil, o.err
		}
		return &runtimeapi.StartContainerResponse{}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (r *Runtime) start(c *container, s *sandbox) error {
	<-c.op
	defer c.give()
	name := c.config.GetMetadata().GetName()

	r.mu.Lock()
	state, draining := c.state, r.draining
	stopped := s == nil || s.rec.Stopped
	r.mu.Unlock()
	switch {
	case state == stateRunning:
		return nil
	case state == stateExited:
		return status.Errorf(codes.FailedPrecondition, "container %q was started before and has ended; it is not started twice", name)
	case draining:
		return errDraining
	case stopped:
		return status.Errorf(codes.FailedPrecondition, "the sandbox of container %q is stopped", name)
	}
	if err := markStart(c.dir); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return status.Errorf(codes.FailedPrecondition, "container %q was started before; it is not started twice", name)
		}
		r.mu.Lock()
		c.refused = true
		r.mu.Unlock()
		return status.Errorf(codes.Internal, "recording the start of container %q: %v", name, err)
	}
	r.mu.Lock()
	c.state = stateRunning
	c.startedAt = time.Now().UnixNano()
	r.mu.Unlock()

	if why := refusal(c, r.view); why != "" {
		r.failStart(c, 128, why)
		return status.Errorf(codes.InvalidArgument, "%s", why)
	}
	cmd, st, err := shim.StartLeashed(c.dir, shimName(c, s), r.namespaces(c), r.leash)
	if cmd != nil {
		r.reap(c, cmd)
	}
	if err != nil {
		// The shim may have got as far as starting the command, so its end is
		// waited for before anything is decided.
		if cmd != nil {
			_ = cmd.Process.Kill()
			<-c.gone
		}
		why := fmt.Sprintf("starting container %q: %v", name, err)
		r.failStart(c, 128, why)
		return status.Errorf(codes.Internal, "%s", why)
	}
	if st.Error != "" {
		r.finish(c)
		return status.Errorf(codes.Unknown, "%s", st.Error)
	}
	r.mu.Lock()
	c.startedAt = st.StartedAt
	r.emit(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, s, c.rec.ID)
	r.refresh(s)
	r.mu.Unlock()
	r.spawn(func() { r.watch(c) })
	return nil
}

// shimName is what the process list shows: which Pod and container it is.
func shimName(c *container, s *sandbox) string {
	m := s.config.GetMetadata()
	return m.GetNamespace() + "/" + m.GetName() + "/" + c.config.GetMetadata().GetName()
}

// refusal says why a container can not run here at all, or nothing.
func refusal(c *container, v view) string {
	name := c.config.GetMetadata().GetName()
	if len(c.config.GetCommand()) == 0 && !isPause(imageName(c.config)) {
		return fmt.Sprintf("container %q (image %s) has no command: the process runtime runs programs of this machine and knows no images, so it does not know an image's entrypoint. Set command: in the container, or run with --container-runtime-endpoint to use real images", name, imageName(c.config))
	}
	if c.rec.Root == shim.RootNone {
		var targets []string
		for _, m := range c.config.GetMounts() {
			if !implicitMount(c.config, m.GetContainerPath()) {
				targets = append(targets, m.GetContainerPath())
			}
		}
		if len(targets) > 0 {
			return fmt.Sprintf("container %q has volumes at %s, which this machine does not let us mount: %s", name, strings.Join(targets, ", "), v.cure)
		}
	}
	return ""
}

// failStart records the end of a container for which no shim runs.
func (r *Runtime) failStart(c *container, code int, why string) {
	touchLog(c.rec.LogPath)
	lock, err := shim.Lock(c.dir)
	if err == nil {
		defer lock.Close()
		if _, err := shim.ReadExit(c.dir); err != nil {
			now := time.Now().UnixNano()
			exit := shim.Exit{ExitCode: code, StartedAt: now, FinishedAt: now, Reason: shim.ReasonStartError, Message: why}
			if err := shim.WriteExit(c.dir, exit); err != nil {
				r.log.Error(err, "recording the end of a container", "container", c.rec.ID)
			}
		}
	}
	r.closeGone(c)
	r.finish(c)
}

// touchLog makes an empty log, so that asking for the output of a container
// that never ran gives none instead of an error.
func touchLog(path string) {
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640); err == nil {
		f.Close()
	}
}

// reap waits for the shim's process, which is a child of ours.
func (r *Runtime) reap(c *container, cmd *exec.Cmd) {
	go func() {
		_ = cmd.Wait()
		r.closeGone(c)
	}()
}

func (r *Runtime) closeGone(c *container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-c.gone:
	default:
		close(c.gone)
	}
}

// watch waits for the end of a container whose shim lives, a child of ours or
// one of an earlier Runtime, and makes it known.
func (r *Runtime) watch(c *container) {
	if !c.fresh {
		r.spawn(func() { r.awaitGone(c) })
	}
	for {
		w, err := shim.OpenWatch(c.dir)
		if err == nil {
			ended := make(chan struct{})
			var once sync.Once
			closeWatch := func() { once.Do(w.Close) }
			go func() {
				select {
				case <-r.done:
					closeWatch()
				case <-ended:
				}
			}()
			w.Wait()
			close(ended)
			closeWatch()
		}
		if r.closed() {
			return
		}
		if r.concluded(c) {
			r.finish(c)
			return
		}
		// The shim lives but does not answer: it is starting, or ending, or
		// stuck. Its lock tells when it is gone.
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-r.done:
			timer.Stop()
			return
		case <-c.gone:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// awaitGone closes c.gone when the shim's process has ended. It serves for
// shims that an earlier Runtime started; our own are reaped.
func (r *Runtime) awaitGone(c *container) {
	for {
		if id, err := r.identity(c); err == nil {
			if waitProcess(id, r.done) {
				r.closeGone(c)
			}
			return
		}
		// It has not come to writing who it is, or could not.
		if lock, err := shim.Lock(c.dir); err == nil {
			lock.Close()
			r.closeGone(c)
			return
		}
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-timer.C:
		case <-r.done:
			timer.Stop()
			return
		}
	}
}

func (r *Runtime) closed() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// concluded reports whether the end of the container is on record, writing it
// when the shim died without.
func (r *Runtime) concluded(c *container) bool {
	if _, err := shim.ReadExit(c.dir); err == nil {
		return true
	}
	lock, err := shim.Lock(c.dir)
	if err != nil {
		return false
	}
	defer lock.Close()
	if _, err := shim.ReadExit(c.dir); err != nil {
		r.declareLost(c)
	}
	return true
}

// finish makes the recorded end of a container known.
func (r *Runtime) finish(c *container) {
	exit, err := shim.ReadExit(c.dir)
	if err != nil {
		now := time.Now().UnixNano()
		exit = shim.Exit{ExitCode: 255, StartedAt: now, FinishedAt: now, Reason: "ContainerStatusUnknown", Message: "the exit record can not be read: " + err.Error()}
	}
	r.mu.Lock()
	if c.state == stateExited {
		r.mu.Unlock()
		return
	}
	c.state, c.exit = stateExited, exit
	if exit.StartedAt != 0 {
		c.startedAt = exit.StartedAt
	}
	close(c.exited)
	if s := r.sandboxes[c.rec.Sandbox]; s != nil {
		r.emit(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, s, c.rec.ID)
		r.insist(s, c)
	}
	r.mu.Unlock()
	r.spawn(func() {
		// The layer is in use until the shim's mounts are gone.
		select {
		case <-c.gone:
			r.discardLayer(c)
		case <-r.done: // the next Runtime does it
		}
	})
}

// StopContainer asks the command to end and kills it, and everything it
// started, when the timeout (seconds) has passed. It returns when all is over.
func (r *Runtime) StopContainer(ctx context.Context, req *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	r.mu.Lock()
	c := r.containers[req.GetContainerId()]
	r.mu.Unlock()
	if c == nil {
		return nil, notFound(req.GetContainerId())
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
	if err := r.take(ctx, c, grace); err != nil {
		return err
	}
	r.mu.Lock()
	state := c.state
	r.mu.Unlock()
	c.give()
	if state != stateRunning {
		return nil
	}
	err := shim.Stop(c.dir, stopSignal(c.config.GetStopSignal()), grace)
	if err != nil && !errors.Is(err, shim.ErrGone) {
		return status.Errorf(codes.Internal, "stopping container %s: %v", c.rec.ID, err)
	}
	timer := time.NewTimer(grace + killSlack)
	defer timer.Stop()
	for {
		select {
		case <-c.exited:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-r.done:
			return errDraining
		case <-timer.C:
			// Process 1 of a namespace takes all others along; without one,
			// the lost container's processes are found by their mark.
			r.killShim(c)
			timer.Reset(killSlack)
		}
	}
}

// take waits for a start in progress. One that does not come to an end, because
// a filesystem does not answer, say, is killed when the grace period is over.
func (r *Runtime) take(ctx context.Context, c *container, grace time.Duration) error {
	timer := time.NewTimer(grace + killSlack)
	defer timer.Stop()
	for {
		select {
		case <-c.op:
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

// give lets the next one start or remove the container.
func (c *container) give() { c.op <- struct{}{} }

// killShim kills a shim that does not do what it is asked, if it lives.
func (r *Runtime) killShim(c *container) {
	id, err := r.identity(c)
	if err != nil {
		return
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	// Checked after opening: from here on the descriptor means this process.
	if id.Alive() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// identity reads which process the shim of c is. It is written in the shim's
// first moments.
func (r *Runtime) identity(c *container) (shim.Identity, error) {
	return shim.ReadIdentity(c.dir)
}

// waitGone waits until the shim's process is gone, and with it its mounts.
func (r *Runtime) waitGone(ctx context.Context, c *container) error {
	timer := time.NewTimer(killSlack)
	defer timer.Stop()
	for {
		select {
		case <-c.gone:
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

// waitProcess returns true when the process of id has ended, false when done
// is closed first.
func waitProcess(id shim.Identity, done <-chan struct{}) bool {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if err != nil {
		return true
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	if !id.Alive() {
		return true
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-done:
			_ = f.SetReadDeadline(time.Unix(1, 0)) // a pidfd is pollable, so it has deadlines
		case <-ended:
		}
	}()
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	})
	return err == nil
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
	return errors.Join(errs...)
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
