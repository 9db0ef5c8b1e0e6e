// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"maps"
	"os"
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// Containers of images share System V IPC, message queues and /dev/shm with the
// others of their Pod (package shim, ipc.go). As root the Runtime holds the
// namespace; after a crash it is found again at a container that lives. An
// ordinary user's Runtime can enter no namespace of a container, so there only
// the Pod's process 1 can put several into one.

// hostIPC reports whether a container uses the machine's.
func hostIPC(c *runtimeapi.ContainerConfig) bool {
	return c.GetLinux().GetSecurityContext().GetNamespaceOptions().GetIpc() == runtimeapi.NamespaceMode_NODE
}

// podIPC reports whether a container of an image uses its Pod's; else it has its
// own or the machine's. inPod is that its Pod has a process 1.
func (r *Runtime) podIPC(c *runtimeapi.ContainerConfig, inPod bool) bool {
	return !hostIPC(c) && (inPod || !r.view.user)
}

// joinIPC prepares a container's start in the IPC namespace of its Pod, if it is
// to be there.
func (r *Runtime) joinIPC(ns *shim.Namespaces, c *container, s *sandbox) error {
	if c.rec.Root != shim.RootImage || !r.podIPC(c.config, c.rec.PodPIDs) {
		return nil
	}
	ns.IPC = false
	if !r.view.user {
		if err := shim.MountSharedMemory(r.sandboxDir(s)); err != nil {
			return err
		}
	}
	if ns.InPodIPC = c.rec.PodPIDs; ns.InPodIPC {
		return nil
	}
	s.ipcMu.Lock()
	defer s.ipcMu.Unlock()
	if s.ipc == nil {
		s.ipc = r.findIPC(s)
	}
	var err error
	if s.ipc == nil {
		s.ipc, err = shim.NewIPC()
	}
	ns.PodIPC = s.ipc
	return err
}

// findIPC looks for the namespace of a Pod whose containers an earlier Runtime
// started; nil when none of them lives.
func (r *Runtime) findIPC(s *sandbox) *os.File {
	for _, c := range r.inPodIPC(s) {
		if ns := shim.IPCOf(c.dir); ns != nil {
			return ns
		}
	}
	return nil
}

// inPodIPC lists the containers that run and use their Pod's IPC.
func (r *Runtime) inPodIPC(s *sandbox) []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(r.containersOf(s.rec.ID), func(c *container) bool {
		return c.state != stateRunning || c.rec.Root != shim.RootImage || !r.podIPC(c.config, c.rec.PodPIDs)
	})
}

// readBackIPC lets go of the shared memory of a sandbox whose namespace ended
// with an earlier Runtime, because neither a container nor a process 1 of the Pod
// was left in it.
func (r *Runtime) readBackIPC(s *sandbox) {
	if s.rec.SharesPIDs && !s.rec.Stopped || len(r.inPodIPC(s)) > 0 {
		return
	}
	if err := r.releaseIPC(s); err != nil {
		r.log.Error(err, "what containers of a Pod shared is left behind", "sandbox", s.rec.ID)
	}
}

// releaseAllIPC does so for all sandboxes, whose containers have ended.
func (r *Runtime) releaseAllIPC() error {
	r.mu.Lock()
	list := slices.Collect(maps.Values(r.sandboxes))
	r.mu.Unlock()
	var problems []error
	for _, s := range list {
		problems = append(problems, r.releaseIPC(s))
	}
	return errors.Join(problems...)
}

// releaseIPC lets go of a Pod's namespace, and of its shared memory.
func (r *Runtime) releaseIPC(s *sandbox) error {
	s.closeIPC()
	return shim.UnmountSharedMemory(r.sandboxDir(s))
}

func (s *sandbox) closeIPC() {
	s.ipcMu.Lock()
	defer s.ipcMu.Unlock()
	if s.ipc != nil {
		s.ipc.Close()
		s.ipc = nil
	}
}
