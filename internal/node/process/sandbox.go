// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// sandbox is a Pod's sandbox: a record that groups containers. Pods share the
// network of the machine, so there is nothing to set up and nothing to hold but
// a PID namespace, where the containers share one (see pidnamespace.go), and what
// they have in common for IPC (see ipc.go).
type sandbox struct {
	rec    sandboxRecord                // rec.Stopped is guarded by Runtime.mu
	config *runtimeapi.PodSandboxConfig // not changed after creation

	ipcMu sync.Mutex
	ipc   *os.File // the IPC namespace of its containers, once one needs it; see ipc.go
}

func (s *sandbox) uid() string { return s.config.GetMetadata().GetUid() }

func (s *sandbox) state() runtimeapi.PodSandboxState {
	if s.rec.Stopped {
		return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	}
	return runtimeapi.PodSandboxState_SANDBOX_READY
}

// RunPodSandbox makes a sandbox. It refuses a second one with the same attempt
// number, and a new attempt while an older one is ready: with a stale view of
// the world the kubelet would start a Pod's containers twice.
func (r *Runtime) RunPodSandbox(_ context.Context, req *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	config := req.GetConfig()
	meta := config.GetMetadata()
	if meta.GetName() == "" || meta.GetUid() == "" {
		return nil, status.Error(codes.InvalidArgument, "the sandbox has no name or no UID")
	}
	if err := checkHandler(req.GetRuntimeHandler()); err != nil {
		return nil, err
	}
	if sysctls := config.GetLinux().GetSysctls(); len(sysctls) > 0 {
		return nil, status.Errorf(codes.InvalidArgument, "sysctls (%s): Pods of the process runtime share the kernel settings of the machine: set them there, or use --container-runtime-endpoint", strings.Join(slices.Sorted(maps.Keys(sysctls)), ", "))
	}
	raw, err := protoJSON(config)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the sandbox's config: %v", err)
	}
	s := &sandbox{
		rec:    sandboxRecord{ID: newID(), Handler: req.GetRuntimeHandler(), CreatedAt: time.Now().UnixNano(), Config: raw},
		config: proto.Clone(config).(*runtimeapi.PodSandboxConfig),
	}
	s.rec.SharesPIDs = r.podSharesPIDs(config, req.GetRuntimeHandler())

	// The record is written before anybody can see the sandbox, and without
	// the lock: it waits for the disk.
	dir := r.sandboxDir(s)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, status.Errorf(codes.Internal, "making the sandbox: %v", err)
	}
	err = shim.WriteRecord(dir, sandboxFile, s.rec)
	if err != nil {
		err = status.Errorf(codes.Internal, "recording the sandbox: %v", err)
	}
	// A crash from here on leaves a process whose record is there.
	if err == nil && s.rec.SharesPIDs {
		if err = r.startPIDs(s); err != nil {
			err = status.Errorf(codes.Internal, "starting the sandbox: %v", err)
		}
	}
	if err == nil {
		err = r.addSandbox(s)
	}
	if err != nil {
		if eerr := r.endPIDs(dir); eerr != nil {
			return nil, errors.Join(err, eerr) // the next Runtime finds it
		}
		_ = r.removeTree(dir)
		return nil, err
	}
	if s.rec.SharesPIDs {
		r.spawn(func() { r.watchPIDs(s) })
	}
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: s.rec.ID}, nil
}

// checkHandler refuses runtime handlers that are not ours.
func checkHandler(name string) error {
	switch name {
	case "", HandlerProcess, HandlerHost:
		return nil
	}
	return status.Errorf(codes.InvalidArgument, "unknown runtime handler %q: the process runtime knows %q (the default) and %q", name, HandlerProcess, HandlerHost)
}

// addSandbox makes a sandbox known, unless its Pod may not have another.
func (r *Runtime) addSandbox(s *sandbox) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return errDraining
	}
	meta := s.config.GetMetadata()
	for _, o := range r.sandboxes {
		if o.uid() != meta.GetUid() {
			continue
		}
		if o.config.GetMetadata().GetAttempt() == meta.GetAttempt() {
			return status.Errorf(codes.AlreadyExists, "attempt %d of a sandbox for Pod %s/%s exists", meta.GetAttempt(), meta.GetNamespace(), meta.GetName())
		}
		if !o.rec.Stopped {
			return status.Errorf(codes.FailedPrecondition, "Pod %s/%s has a ready sandbox, %s: stop it first", meta.GetNamespace(), meta.GetName(), o.rec.ID)
		}
	}
	r.sandboxes[s.rec.ID] = s
	r.refresh(s)
	return nil
}

// sandboxWithContainers finds a sandbox, nil when there is none.
func (r *Runtime) sandboxWithContainers(id string) (*sandbox, []*container) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[id]
	if s == nil {
		return nil, nil
	}
	return s, r.containersOf(id)
}

// StopPodSandbox kills what still runs in the sandbox. Stopping twice, or what
// is not there, is no error.
func (r *Runtime) StopPodSandbox(ctx context.Context, req *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	s, containers := r.sandboxWithContainers(req.GetPodSandboxId())
	if s == nil {
		return &runtimeapi.StopPodSandboxResponse{}, nil
	}
	for _, c := range containers {
		if err := r.stop(ctx, c, 0); err != nil {
			return nil, err
		}
	}
	if s.rec.SharesPIDs {
		if err := r.endPIDs(r.sandboxDir(s)); err != nil {
			return nil, status.Errorf(codes.Internal, "stopping the sandbox: %v", err)
		}
	}
	if err := r.releaseIPC(s); err != nil {
		return nil, status.Errorf(codes.Internal, "stopping the sandbox: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.rec.Stopped || r.sandboxes[s.rec.ID] != s {
		return &runtimeapi.StopPodSandboxResponse{}, nil
	}
	if err := r.markStopped(s); err != nil {
		return nil, status.Errorf(codes.Internal, "recording the end of the sandbox: %v", err)
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

// markStopped records and tells that a sandbox is stopped. The caller holds the
// lock.
func (r *Runtime) markStopped(s *sandbox) error {
	rec := s.rec
	rec.Stopped = true
	if err := shim.WriteRecord(r.sandboxDir(s), sandboxFile, rec); err != nil {
		return err
	}
	s.rec = rec
	r.emit(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, s, s.rec.ID)
	r.refresh(s)
	return nil
}

// RemovePodSandbox removes the sandbox with all its containers.
func (r *Runtime) RemovePodSandbox(ctx context.Context, req *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	if _, err := r.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: req.GetPodSandboxId()}); err != nil {
		return nil, err
	}
	s, containers := r.sandboxWithContainers(req.GetPodSandboxId())
	if s == nil {
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	}
	for _, c := range containers {
		if err := r.remove(ctx, c); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sandboxes[s.rec.ID] != s {
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	}
	if err := r.removeTree(r.sandboxDir(s)); err != nil {
		return nil, status.Errorf(codes.Internal, "removing the sandbox: %v", err)
	}
	// The event carries the sandbox as it was, so it comes before the end of
	// the record.
	r.emit(runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT, s, s.rec.ID)
	delete(r.sandboxes, s.rec.ID)
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

// PodSandboxStatus returns the sandbox, the containers of its Pod, and the
// time at which both were so, which the kubelet's evented PLEG needs.
func (r *Runtime) PodSandboxStatus(_ context.Context, req *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sandboxes[req.GetPodSandboxId()]
	if s == nil {
		return nil, status.Errorf(codes.NotFound, "no sandbox %q", req.GetPodSandboxId())
	}
	resp := &runtimeapi.PodSandboxStatusResponse{
		Status:             r.sandboxStatus(s),
		ContainersStatuses: r.podStatuses(s),
		Timestamp:          time.Now().UnixNano(),
	}
	if req.GetVerbose() {
		resp.Info = verboseInfo(map[string]any{"directory": r.sandboxDir(s), "sharesProcesses": s.rec.SharesPIDs})
	}
	return resp, nil
}

// sandboxStatus describes a sandbox. The caller holds the lock.
func (r *Runtime) sandboxStatus(s *sandbox) *runtimeapi.PodSandboxStatus {
	st := &runtimeapi.PodSandboxStatus{
		Id:             s.rec.ID,
		Metadata:       s.config.GetMetadata(),
		State:          s.state(),
		CreatedAt:      s.rec.CreatedAt,
		Network:        &runtimeapi.PodSandboxNetworkStatus{},
		Linux:          &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}},
		Labels:         s.config.GetLabels(),
		Annotations:    s.config.GetAnnotations(),
		RuntimeHandler: s.rec.Handler,
	}
	if !s.rec.Stopped {
		st.Network.Ip = r.opts.PodIP
	}
	return st
}

// ListPodSandbox lists sandboxes, the newest first.
func (r *Runtime) ListPodSandbox(_ context.Context, req *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{Items: r.listSandboxes(req.GetFilter())}, nil
}

// StreamPodSandboxes sends what ListPodSandbox returns.
func (r *Runtime) StreamPodSandboxes(req *runtimeapi.StreamPodSandboxesRequest, stream runtimeapi.RuntimeService_StreamPodSandboxesServer) error {
	return sendParts(r.listSandboxes(req.GetFilter()), func(part []*runtimeapi.PodSandbox) error {
		return stream.Send(&runtimeapi.StreamPodSandboxesResponse{PodSandboxes: part})
	})
}

// listPart is how many items one message of a streamed list holds.
const listPart = 100

func (r *Runtime) listSandboxes(f *runtimeapi.PodSandboxFilter) []*runtimeapi.PodSandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	var items []*runtimeapi.PodSandbox
	for _, s := range r.sandboxes {
		if !strings.HasPrefix(s.rec.ID, f.GetId()) || f.GetState() != nil && f.GetState().GetState() != s.state() || !selects(f.GetLabelSelector(), s.config.GetLabels()) {
			continue
		}
		items = append(items, &runtimeapi.PodSandbox{
			Id: s.rec.ID, Metadata: s.config.GetMetadata(), State: s.state(), CreatedAt: s.rec.CreatedAt,
			Labels: s.config.GetLabels(), Annotations: s.config.GetAnnotations(), RuntimeHandler: s.rec.Handler,
		})
	}
	slices.SortFunc(items, func(a, b *runtimeapi.PodSandbox) int {
		return newestFirst(a.CreatedAt, b.CreatedAt, a.Id, b.Id)
	})
	return items
}

// UpdatePodSandboxResources has nothing to do: limits are set on containers.
func (r *Runtime) UpdatePodSandboxResources(context.Context, *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

// selects reports whether labels have all that selector asks for.
func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

func newestFirst(a, b int64, aID, bID string) int {
	return cmp.Or(cmp.Compare(b, a), strings.Compare(aID, bID))
}
