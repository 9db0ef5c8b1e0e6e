// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// containerState is where a container is in its life, which only goes forward.
type containerState int

const (
	stateCreated containerState = iota
	stateRunning                // a shim was started, or is about to be
	stateExited
)

// container is one container. Its record and config do not change.
type container struct {
	rec         containerRecord
	config      *runtimeapi.ContainerConfig
	dir         string
	createdHere bool // created by this Runtime, not read back

	op chan struct{} // holds a token while nobody starts or removes the container

	// Guarded by Runtime.mu.
	state         containerState
	executed      bool // the command was, for sure; with stateRunning
	killRequested bool // its shim is killed: if it dies without having started the command, none takes its place
	startedAt     int64
	user          *shim.User // who runs it, when the image's files told the shim
	exit          shim.Exit
	resources     *runtimeapi.LinuxContainerResources

	images     []*image.Use // that the shim is to hold; until it does, or there will be none
	imagesOnce sync.Once

	telling sync.Once // of its end, see Options.Ended

	exited chan struct{} // closed when state is stateExited
	gone   chan struct{} // closed when the shim's process is gone too
}

func newContainer(rec containerRecord, config *runtimeapi.ContainerConfig) *container {
	op := make(chan struct{}, 1)
	op <- struct{}{}
	return &container{
		op: op, rec: rec, config: config, resources: config.GetLinux().GetResources(),
		exited: make(chan struct{}), gone: make(chan struct{}),
	}
}

// setEnded makes an end known that was there before anybody could ask.
func (c *container) setEnded(exit shim.Exit) {
	c.state, c.exit = stateExited, exit
	if exit.StartedAt != 0 {
		c.startedAt = exit.StartedAt
	}
	close(c.exited)
	close(c.gone)
}

// releaseImages lets go of the container's images: its shim holds them by now,
// or there will be none.
func (c *container) releaseImages() { c.imagesOnce.Do(func() { closeImages(c.images) }) }

// createdGrace is how long a container may stay created before somebody else
// may take its place: the kubelet starts a container right after creating it.
const createdGrace = time.Minute

// notExecuted reports whether the command was not executed yet, for all we know.
// Nobody outside may take such a container for one that runs: what the API
// once called running, the kubelet counts as failed when it is not found after
// a crash.
func (c *container) notExecuted() bool {
	return c.state == stateCreated || c.state == stateRunning && !c.executed
}

// pending reports whether the container was created a moment ago, to be
// started at once.
func (c *container) pending(now time.Time) bool {
	return c.createdHere && c.notExecuted() && now.Sub(time.Unix(0, c.rec.CreatedAt)) < createdGrace
}

// CreateContainer records a container. It refuses a second container of the
// same name in a sandbox while the first has not ended, and a number of
// attempt that was there before: with a stale view of the world the kubelet
// would run a command twice.
func (r *Runtime) CreateContainer(_ context.Context, req *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	config := req.GetConfig()
	meta := config.GetMetadata()
	if meta.GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "the container has no name")
	}
	r.mu.Lock()
	s := r.sandboxes[req.GetPodSandboxId()]
	r.mu.Unlock()
	if s == nil {
		return nil, status.Errorf(codes.NotFound, "no sandbox %q", req.GetPodSandboxId())
	}
	id := newID()
	dir := filepath.Join(r.containersDir(), id)
	made, err := r.specFor(s, config, id, dir)
	if err != nil {
		return nil, err
	}
	// The environment holds secrets and is of no use after the start.
	kept := proto.Clone(config).(*runtimeapi.ContainerConfig)
	kept.Envs = nil
	raw, err := protoJSON(kept)
	if err != nil {
		closeImages(made.images)
		return nil, status.Errorf(codes.InvalidArgument, "the container's config: %v", err)
	}
	rec := containerRecord{
		ID: id, Sandbox: s.rec.ID, CreatedAt: time.Now().UnixNano(), ImageRef: made.imageRef, LogPath: made.spec.LogPath,
		ImageID: made.imageID, ImageName: made.imageName, StopSignal: made.stopSignal,
		Root: made.spec.Root, PIDs: made.ns.PID, PodPIDs: made.spec.PodPIDs, User: made.user, Cgroups: made.cgroups, Config: raw,
		SandboxRecord: &sandboxRecord{ID: s.rec.ID, Handler: s.rec.Handler, CreatedAt: s.rec.CreatedAt, Config: s.rec.Config},
	}
	c := newContainer(rec, kept)
	c.dir, c.createdHere, c.images = dir, true, made.images

	// Written before anybody can see the container, and without the lock: it
	// waits for the disk.
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.releaseImages()
		return nil, status.Errorf(codes.Internal, "making the container: %v", err)
	}
	shim.FailPoint("create-directory")
	err = shim.WriteSpec(dir, made.spec)
	for name, content := range made.files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
		}
	}
	shim.FailPoint("create-spec")
	if err == nil {
		err = shim.WriteRecord(dir, containerFile, rec)
	}
	shim.FailPoint("create-record")
	if err != nil {
		err = status.Errorf(codes.Internal, "recording the container: %v", err)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		err = r.mayCreate(s, meta)
	}
	if err != nil {
		c.releaseImages()
		_ = r.removeTree(dir)
		r.refresh(s)
		return nil, err
	}
	r.containers[id] = c
	if rec.ImageID == "" {
		r.images[rec.ImageRef] = imageName(config)
	}
	shim.FailPoint("create-known")
	return &runtimeapi.CreateContainerResponse{ContainerId: id}, nil
}

// mayCreate is the guard against a second start. The caller holds the lock.
func (r *Runtime) mayCreate(s *sandbox, meta *runtimeapi.ContainerMetadata) error {
	if r.draining {
		return errDraining
	}
	if r.sandboxes[s.rec.ID] != s {
		return status.Errorf(codes.NotFound, "no sandbox %q", s.rec.ID)
	}
	if s.rec.Stopped {
		return status.Errorf(codes.FailedPrecondition, "sandbox %s is stopped", s.rec.ID)
	}
	if err := r.checkUnidentified(); err != nil {
		return err
	}
	now := time.Now()
	for _, o := range r.containersOf(s.rec.ID) {
		om := o.config.GetMetadata()
		if om.GetName() != meta.GetName() {
			continue
		}
		if om.GetAttempt() == meta.GetAttempt() {
			return status.Errorf(codes.AlreadyExists, "attempt %d of container %q exists", meta.GetAttempt(), meta.GetName())
		}
		switch {
		case o.state == stateExited:
		case o.state == stateCreated && !o.pending(now):
			// Nobody has started it for long. It never ran; taking it away here
			// makes sure that it never will.
			if err := r.removeUnstarted(o); err != nil {
				return err
			}
		default:
			return status.Errorf(codes.AlreadyExists, "attempt %d of container %q has not ended", om.GetAttempt(), meta.GetName())
		}
	}
	return nil
}

// removeUnstarted takes away a container that was never started. The caller holds the
// lock.
func (r *Runtime) removeUnstarted(c *container) error {
	lock, err := shim.Lock(c.dir)
	if err == nil {
		// Without its record it is thrown away after a crash, too.
		err = os.Remove(filepath.Join(c.dir, containerFile))
	}
	if err != nil {
		return status.Errorf(codes.Internal, "taking away container %s, which was never started: %v", c.rec.ID, err)
	}
	r.unregister(c)
	if !r.spawnLocked(func() { r.undoCreate(c, lock) }) {
		lock.Close()
	}
	return nil
}

// containersOf lists the containers of a sandbox, the newest first. The caller
// holds the lock.
func (r *Runtime) containersOf(sandboxID string) []*container {
	var list []*container
	for _, c := range r.containers {
		if c.rec.Sandbox == sandboxID {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *container) int {
		return newestFirst(a.rec.CreatedAt, b.rec.CreatedAt, a.rec.ID, b.rec.ID)
	})
	return list
}

// RemoveContainer removes a container, killing it first if it runs. Removing
// what is not there is no error.
func (r *Runtime) RemoveContainer(ctx context.Context, req *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	r.mu.Lock()
	c := r.containers[req.GetContainerId()]
	r.mu.Unlock()
	if c == nil {
		return &runtimeapi.RemoveContainerResponse{}, nil
	}
	return &runtimeapi.RemoveContainerResponse{}, r.remove(ctx, c)
}

func (r *Runtime) remove(ctx context.Context, c *container) error {
	if err := r.stop(ctx, c, 0); err != nil {
		return err
	}
	if err := r.acquireOp(ctx, c, 0); err != nil {
		return err
	}
	defer c.releaseOp()
	r.mu.Lock()
	created := c.state == stateCreated
	r.mu.Unlock()
	if created {
		// No start is in progress, and from here on none finds the record.
		lock, err := r.lockFor(c)
		if err != nil {
			return status.Errorf(codes.Internal, "removing the container: %v", err)
		}
		defer lock.Close()
	} else if err := r.waitGone(ctx, c); err != nil {
		return err
	}
	if err := r.removeFiles(c); err != nil {
		return status.Errorf(codes.Internal, "removing the container: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unregister(c)
	r.removeMountPoints()
	return nil
}

// removeFiles removes what there is of a container on the machine.
func (r *Runtime) removeFiles(c *container) error {
	made := c.mountPoints()
	removeCgroups(c.rec.Cgroups)
	// The record goes first: what a crash leaves without it is thrown away by
	// the next start, and never taken for a container that may be started. All
	// this takes its time, so it is done without the lock.
	err := os.Remove(filepath.Join(c.dir, containerFile))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = r.removeTree(c.dir)
	}
	if err != nil {
		return err
	}
	r.usage.forget(c.rec.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mountPoints = append(r.mountPoints, made...)
	return nil
}

// removeMountPoints removes mount points that were made on the machine for containers
// of RuntimeClass host, once no other such container is left: removing one
// that is mounted over elsewhere would take that mount away. The caller holds
// the lock.
func (r *Runtime) removeMountPoints() {
	if len(r.mountPoints) == 0 {
		return
	}
	for _, c := range r.containers {
		if c.rec.Root == shim.RootHost {
			return
		}
	}
	slices.SortFunc(r.mountPoints, func(a, b string) int { return len(b) - len(a) })
	for _, path := range r.mountPoints {
		if isRemovableMountPoint(path) {
			removeMountPoint(path)
		}
	}
	r.mountPoints = nil
}
