// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// The PID namespace of a Pod with shareProcessNamespace has a process 1 of its
// own (package shim, pod.go), whose files lie in the sandbox's directory. It is
// there before the sandbox is known and ends when the sandbox is stopped; if it
// ends earlier, all processes of the Pod have ended with it, and the sandbox is
// not ready any more.

// podSharesPIDs reports whether the containers of a sandbox are to have one PID
// namespace. Where the kernel gives none, all see the machine's, and those of
// RuntimeClass host do anyhow.
func (r *Runtime) podSharesPIDs(config *runtimeapi.PodSandboxConfig, handler string) bool {
	// Sharing is the zero value of the mode; who says nothing does not ask for it.
	options := config.GetLinux().GetSecurityContext().GetNamespaceOptions()
	return options != nil && options.GetPid() == runtimeapi.NamespaceMode_POD && r.view.pids && handler != HandlerHost
}

// pidNamespace says in which PID namespace a container runs: in one of its own,
// in its Pod's, or in the machine's.
func (r *Runtime) pidNamespace(s *sandbox, sc *runtimeapi.LinuxContainerSecurityContext, root shim.Root) (own, pods bool, err error) {
	if !r.view.pids || root == shim.RootHost || root == shim.RootNone {
		return false, false, nil
	}
	switch sc.GetNamespaceOptions().GetPid() {
	case runtimeapi.NamespaceMode_NODE:
		return false, false, nil
	case runtimeapi.NamespaceMode_CONTAINER:
		return true, false, nil
	}
	if s.rec.SharesPIDs {
		return false, true, nil
	}
	if sc.GetNamespaceOptions().GetPid() == runtimeapi.NamespaceMode_POD {
		return true, false, nil // of a Pod that shares nothing: made before it could, or said nothing
	}
	return false, false, status.Error(codes.InvalidArgument, "the container wants to see processes of another one (targetContainerName, kubectl debug --target), but each container of the Pod has a PID namespace of its own: set shareProcessNamespace: true in the Pod, or leave the target out")
}

// startPIDs starts process 1 of a sandbox's PID namespace.
func (r *Runtime) startPIDs(s *sandbox) error {
	m := s.config.GetMetadata()
	cmd, err := shim.StartPodInit(r.sandboxDir(s), m.GetNamespace()+"/"+m.GetName(), r.view.user, r.ownerPipe)
	if err != nil {
		return fmt.Errorf("the PID namespace of the Pod (shareProcessNamespace): %w", err)
	}
	go func() { _ = cmd.Wait() }() // the lock of the directory tells of its end
	return nil
}

func (r *Runtime) sandboxDir(s *sandbox) string { return filepath.Join(r.sandboxesDir(), s.rec.ID) }

// watchPIDs makes it known when process 1 of a sandbox has ended, and all other
// processes of the Pod with it.
func (r *Runtime) watchPIDs(s *sandbox) {
	if !r.awaitUnlocked(r.sandboxDir(s)) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining || r.sandboxes[s.rec.ID] != s || s.rec.Stopped {
		return
	}
	r.log.Info("process 1 of a Pod's PID namespace was killed, and with it all containers of the Pod", "sandbox", s.rec.ID)
	if err := r.markStopped(s); err != nil {
		r.log.Error(err, "recording the end of a sandbox", "sandbox", s.rec.ID)
	}
}

// readBackPIDs looks for process 1 of a sandbox that an earlier Runtime made.
// Without it the sandbox is over.
func (r *Runtime) readBackPIDs(s *sandbox) {
	if !s.rec.SharesPIDs || s.rec.Stopped {
		return
	}
	lock, err := shim.Lock(r.sandboxDir(s))
	if err != nil {
		r.spawn(func() { r.watchPIDs(s) })
		return
	}
	lock.Close()
	s.rec.Stopped = true
	if err := shim.WriteRecord(r.sandboxDir(s), sandboxFile, s.rec); err != nil {
		r.log.Error(err, "recording the end of a sandbox", "sandbox", s.rec.ID)
	}
}

// endPIDs ends process 1 of the PID namespace whose files are in dir, if it
// lives, and waits for it.
func (r *Runtime) endPIDs(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, shim.IdentityFile)); errors.Is(err, fs.ErrNotExist) {
		return nil // there never was one
	}
	if unlockedWithin(dir, 0) {
		return nil
	}
	_ = shim.Stop(dir, unix.SIGKILL, 0)
	if unlockedWithin(dir, killSlack) {
		return nil
	}
	if id, err := shim.ReadIdentity(dir); err == nil {
		id.Kill(dir)
	}
	if !unlockedWithin(dir, killSlack) {
		return fmt.Errorf("process 1 of the PID namespace of sandbox %s does not end", filepath.Base(dir))
	}
	return nil
}
