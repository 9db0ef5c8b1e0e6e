// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// ListContainers lists containers, the newest first.
func (r *Runtime) ListContainers(_ context.Context, req *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: r.listContainers(req.GetFilter())}, nil
}

// StreamContainers sends what ListContainers returns.
func (r *Runtime) StreamContainers(req *runtimeapi.StreamContainersRequest, stream runtimeapi.RuntimeService_StreamContainersServer) error {
	return sendParts(r.listContainers(req.GetFilter()), func(part []*runtimeapi.Container) error {
		return stream.Send(&runtimeapi.StreamContainersResponse{Containers: part})
	})
}

func (r *Runtime) listContainers(f *runtimeapi.ContainerFilter) []*runtimeapi.Container {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*runtimeapi.Container
	for _, c := range r.containers {
		if !strings.HasPrefix(c.rec.ID, f.GetId()) ||
			!strings.HasPrefix(c.rec.Sandbox, f.GetPodSandboxId()) ||
			f.GetState() != nil && f.GetState().GetState() != c.criState() ||
			!selects(f.GetLabelSelector(), c.config.GetLabels()) {
			continue
		}
		list = append(list, &runtimeapi.Container{
			Id: c.rec.ID, PodSandboxId: c.rec.Sandbox, Metadata: c.config.GetMetadata(), Image: c.config.GetImage(),
			ImageRef: c.rec.ImageRef, ImageId: c.imageID(), State: c.criState(), CreatedAt: c.rec.CreatedAt,
			Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		})
	}
	slices.SortFunc(list, func(a, b *runtimeapi.Container) int {
		return newestFirst(a.CreatedAt, b.CreatedAt, a.Id, b.Id)
	})
	return list
}

func (c *container) criState() runtimeapi.ContainerState {
	switch c.state {
	case stateRunning:
		if c.executed {
			return runtimeapi.ContainerState_CONTAINER_RUNNING
		}
	case stateExited:
		return runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return runtimeapi.ContainerState_CONTAINER_CREATED
}

// ContainerStatus returns the state of a container.
func (r *Runtime) ContainerStatus(_ context.Context, req *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[req.GetContainerId()]
	if c == nil {
		return nil, notFound(req.GetContainerId())
	}
	resp := &runtimeapi.ContainerStatusResponse{Status: c.status()}
	if req.GetVerbose() {
		resp.Info = verboseInfo(map[string]any{"directory": c.dir, "view": c.rec.Root, "sandboxID": c.rec.Sandbox, "cgroups": c.rec.Cgroups})
	}
	return resp, nil
}

func notFound(id string) error { return status.Errorf(codes.NotFound, "no container %q", id) }

// container finds a container.
func (r *Runtime) container(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil {
		return c, nil
	}
	return nil, notFound(id)
}

// sendParts sends a list in messages of at most listPart items.
func sendParts[T any](list []T, send func(part []T) error) error {
	for part := range slices.Chunk(list, listPart) {
		if err := send(part); err != nil {
			return err
		}
	}
	return nil
}

// status describes a container. The caller holds the lock.
func (c *container) status() *runtimeapi.ContainerStatus {
	st := &runtimeapi.ContainerStatus{
		Id: c.rec.ID, Metadata: c.config.GetMetadata(), State: c.criState(), CreatedAt: c.rec.CreatedAt, StartedAt: c.startedAt,
		Image: c.imageSpec(), ImageRef: c.rec.ImageRef, ImageId: c.imageID(),
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(), Mounts: c.config.GetMounts(),
		LogPath: c.rec.LogPath, StopSignal: c.criStopSignal(),
	}
	if c.resources != nil {
		st.Resources = &runtimeapi.ContainerResources{Linux: c.resources}
	}
	if u := cmp.Or(c.user, c.rec.User); u != nil {
		linux := &runtimeapi.LinuxContainerUser{Uid: int64(u.UID), Gid: int64(u.GID)}
		for _, g := range u.Groups {
			linux.SupplementalGroups = append(linux.SupplementalGroups, int64(g))
		}
		st.User = &runtimeapi.ContainerUser{Linux: linux}
	}
	if c.state == stateExited {
		st.FinishedAt = c.exit.FinishedAt
		st.ExitCode = int32(c.exit.ExitCode)
		st.Reason = c.exit.Reason
		st.Message = c.exit.Message
	}
	return st
}

// imageID is the ID of the container's image.
func (c *container) imageID() string { return cmp.Or(c.rec.ImageID, c.rec.ImageRef) }

// imageSpec names the container's image as its Pod does, and in full.
func (c *container) imageSpec() *runtimeapi.ImageSpec {
	spec := c.config.GetImage()
	if c.rec.ImageName != "" {
		spec = proto.Clone(spec).(*runtimeapi.ImageSpec)
		spec.Image = c.rec.ImageName
	}
	return spec
}

// podStatuses describes the containers of the sandbox's Pod, of its older
// sandboxes too, the newest first. A container that was created a moment ago
// counts as running: the kubelet always starts again what it sees as created,
// and what it sees here may be old when it acts on it. The caller holds the
// lock.
func (r *Runtime) podStatuses(s *sandbox) []*runtimeapi.ContainerStatus {
	now := time.Now()
	var list []*runtimeapi.ContainerStatus
	for _, c := range r.containers {
		if c.rec.Sandbox != s.rec.ID {
			o := r.sandboxes[c.rec.Sandbox]
			if o == nil || o.uid() != s.uid() {
				continue
			}
		}
		st := c.status()
		if c.pending(now) {
			st.State = runtimeapi.ContainerState_CONTAINER_RUNNING
			st.StartedAt = c.rec.CreatedAt
		}
		list = append(list, st)
	}
	slices.SortFunc(list, func(a, b *runtimeapi.ContainerStatus) int {
		return newestFirst(a.CreatedAt, b.CreatedAt, a.Id, b.Id)
	})
	return list
}

// ReopenContainerLog makes the container write to a new file after a rotation.
func (r *Runtime) ReopenContainerLog(_ context.Context, req *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	c, err := r.running(req.GetContainerId())
	if err != nil {
		return nil, err
	}
	if err := shim.ReopenLog(c.dir); err != nil {
		return nil, status.Errorf(codes.Internal, "reopening the log: %v", err)
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}

// running finds a container that runs.
func (r *Runtime) running(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[id]
	if c == nil {
		return nil, notFound(id)
	}
	if c.state != stateRunning {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s (%s) is not running", id, c.config.GetMetadata().GetName())
	}
	return c, nil
}
