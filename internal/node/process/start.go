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
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

var errDraining = status.Error(codes.Unavailable, "the process runtime is stopping: nothing new is started")

// StartContainer starts the command of a container, once. The shim makes sure
// of that: right before it executes the command it makes a mark, and where
// there is a mark nothing is ever executed again. A shim that dies without the
// mark has not run the command; another is started in its place, once. A crash
// of this program before the mark leaves a container that counts as never
// created, and one after it a container that runs on.
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
	started := make(chan error, 1)
	if !r.spawn(func() { started <- r.start(c, s) }) {
		return nil, errDraining
	}
	select {
	case err := <-started:
		if err != nil {
			return nil, err
		}
		return &runtimeapi.StartContainerResponse{}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (r *Runtime) start(c *container, s *sandbox) error {
	<-c.op
	defer c.releaseOp()
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
	lock, err := r.lockFor(c)
	if err != nil {
		return status.Errorf(codes.Unavailable, "container %q: %v", name, err)
	}
	shim.FailPoint("start-locked")
	if _, err := shim.ReadExit(c.dir); shim.MayHaveRun(c.dir) || !errors.Is(err, fs.ErrNotExist) {
		lock.Close()
		return status.Errorf(codes.FailedPrecondition, "container %q was started before; it is not started twice", name)
	}
	r.mu.Lock()
	if c.state != stateCreated {
		r.mu.Unlock()
		lock.Close()
		return status.Errorf(codes.FailedPrecondition, "container %q was given up", name)
	}
	c.state = stateRunning
	c.startedAt = time.Now().UnixNano()
	r.mu.Unlock()

	defer c.releaseImages() // a second shim may need them, too
	if why := refusal(c, r.view); why != "" {
		r.failStart(c, lock, 128, why)
		return status.Errorf(codes.InvalidArgument, "%s", why)
	}
	st, err := r.launch(c, s, lock)
	if err != nil {
		return status.Errorf(codes.Internal, "starting container %q: %v", name, err)
	}
	shim.FailPoint("start-answered")
	if st.Error != "" {
		if exit, what := r.inspect(c); what == ended {
			r.finish(c, exit)
		} else {
			r.spawn(func() { r.watch(c) }) // its record is still to come
		}
		return status.Errorf(codes.Unknown, "%s", st.Error)
	}
	r.mu.Lock()
	c.executed, c.startedAt, c.user = true, st.StartedAt, st.User
	r.emit(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, s, c.rec.ID)
	r.refresh(s)
	r.mu.Unlock()
	shim.FailPoint("start-known")
	r.spawn(func() { r.watch(c) })
	return nil
}

// launch starts a shim for c, handing it the lock, and a second one when the
// first dies before it has executed anything. Its answer may be that the
// command could not be started. After an error the container has ended, or is
// forgotten when it may well be started at another time.
func (r *Runtime) launch(c *container, s *sandbox, lock *os.File) (shim.Started, error) {
	for second := false; ; second = true {
		cmd, st, err := r.startShim(c, s, lock)
		if err == nil && !st.NotStarted {
			r.reap(c, cmd)
			return st, nil
		}
		if cmd != nil {
			// A child of ours and not waited for yet, so this reaches no other.
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		again, lerr := r.lockFor(c)
		if lerr != nil {
			r.failStart(c, nil, 128, lerr.Error())
			return st, lerr
		}
		lock = again
		if exit, ran := r.recoverEnd(c); ran {
			lock.Close()
			r.closeGone(c)
			r.finish(c, exit)
			if err == nil {
				err = errors.New(st.Error)
			}
			return st, err
		}
		if err == nil {
			// The shim says why it could not, and nothing is wrong with the
			// container: the disk is full, say.
			r.undoCreate(c, lock)
			return st, errors.New(st.Error)
		}
		r.mu.Lock()
		killRequested := c.killRequested || r.draining
		r.mu.Unlock()
		if second || killRequested {
			r.failStart(c, lock, 128, fmt.Sprintf("starting container %q: %v", c.config.GetMetadata().GetName(), err))
			return st, err
		}
		r.log.Info("a container's supervisor died before it started the command; another one is started", "container", c.rec.ID, "reason", err.Error())
	}
}

// startShim starts a shim for c, which is a child of ours unless its Pod has a
// process that starts them.
func (r *Runtime) startShim(c *container, s *sandbox, lock *os.File) (*exec.Cmd, shim.Started, error) {
	var held []*os.File
	for _, u := range c.images {
		held = append(held, u.File)
	}
	ns := r.namespaces(c)
	if err := r.joinIPC(&ns, c, s); err != nil {
		lock.Close()
		return nil, shim.Started{}, err
	}
	if !c.rec.PodPIDs {
		return shim.Start(c.dir, shimName(c, s), ns, lock, r.ownerPipe, held...)
	}
	st, err := shim.StartInPod(r.sandboxDir(s), c.dir, shimName(c, s), ns, lock, r.ownerPipe, held...)
	return nil, st, err
}

// lockFor takes the lock of a container that no shim should hold. A process
// that was being made by this one may hold it for a moment more.
func (r *Runtime) lockFor(c *container) (*os.File, error) {
	for end := time.Now().Add(lockTimeout); ; {
		lock, err := shim.Lock(c.dir)
		if err == nil {
			return lock, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("locking its directory: %w", err)
		}
		if time.Now().After(end) {
			return nil, errors.New("another process holds its directory")
		}
		select {
		case <-time.After(time.Millisecond):
		case <-r.done:
			return nil, errDraining
		}
	}
}

// shimName is what the process list shows: which Pod and container it is.
func shimName(c *container, s *sandbox) string {
	m := s.config.GetMetadata()
	return m.GetNamespace() + "/" + m.GetName() + "/" + c.config.GetMetadata().GetName()
}

// refusal says why a container can not run here at all, or nothing.
func refusal(c *container, v view) string {
	name := c.config.GetMetadata().GetName()
	if c.rec.ImageID == "" && len(c.config.GetCommand()) == 0 && !isPause(imageName(c.config)) {
		return fmt.Sprintf("container %q (image %s) has no command: it runs on the files of this machine, which have no entrypoint. Set command: in the container, or name a real image and leave out --local-files and RuntimeClass host", name, imageName(c.config))
	}
	if c.rec.ImageID != "" && !v.images {
		return fmt.Sprintf("container %q can not run image %s, because this machine does not let us make a root for it: %s. With image: host (or --local-files) it runs on the files of this machine", name, c.rec.ImageName, v.cure)
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

// failStart records the end of a container for which no shim runs. It closes
// lock, the container's; without one it tries to get it.
func (r *Runtime) failStart(c *container, lock *os.File, code int, why string) {
	touchLog(c.rec.LogPath)
	now := time.Now().UnixNano()
	exit := shim.Exit{ExitCode: code, StartedAt: now, FinishedAt: now, Reason: shim.ReasonStartError, Message: why}
	if lock == nil {
		lock, _ = shim.Lock(c.dir)
	}
	if lock != nil {
		if err := shim.WriteExit(c.dir, exit); err != nil {
			r.log.Error(err, "recording the end of a container", "container", c.rec.ID)
		}
		lock.Close()
	}
	r.closeGone(c)
	r.finish(c, exit)
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

// reap waits for the shim's process, which is a child of ours or, without cmd,
// of the Pod's process.
func (r *Runtime) reap(c *container, cmd *exec.Cmd) {
	if cmd == nil {
		r.spawn(func() { r.awaitGone(c) })
		return
	}
	go func() {
		_ = cmd.Wait()
		r.closeGone(c)
	}()
}

func (r *Runtime) closeGone(c *container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.closeGone()
}

// closeGone closes c.gone, once. The caller holds the lock.
func (c *container) closeGone() {
	select {
	case <-c.gone:
	default:
		close(c.gone)
	}
}
