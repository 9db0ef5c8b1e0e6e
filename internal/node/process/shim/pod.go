// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The containers of a Pod with shareProcessNamespace run in one PID namespace.
// Process 1 of it is the Pod's own: a second process of this binary that runs
// no command, takes over orphans, and starts the shims of the Pod's containers
// when the runtime asks for it, because a process is born into its PID
// namespace. It outlives the runtime like a shim, and the kernel ends all
// containers of the Pod with it.

// envPod is set for process 1 of a Pod.
const envPod = "CARILLON_SHIM_POD"

// podGrace is how much later than the Pod's containers its process 1 ends when
// its owner does.
const podGrace = 2 * ownerGrace

// StartPodInit starts process 1 of a Pod's PID namespace. dir is the Pod's own, and
// has the same lock, identity and control socket as a container's. The process
// that is returned must be waited for. It ends by [Stop], and as ownerPipe says.
func StartPodInit(dir, name string, user bool, ownerPipe *os.File) (*exec.Cmd, error) {
	// Who its user is there, the first container says.
	ns := Namespaces{User: user, Unmapped: true, PID: true}
	cmd, st, err := begin(dir, name, ns, []string{envPod + "=1"}, nil, ownerPipe)
	if err == nil && st.Error != "" {
		err = errors.New(st.Error)
	}
	if err != nil && cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		cmd = nil
	}
	return cmd, err
}

// StartInPod does what [Start] does, in the PID namespace of the Pod in pod. The
// shim is a child of the Pod's process 1, so nothing is left to wait for. The
// error is [ErrGone] when that process has ended.
func StartInPod(pod, dir, name string, ns Namespaces, lock, ownerPipe *os.File, held ...*os.File) (Started, error) {
	if lock != nil {
		defer lock.Close()
	}
	// The mounts that the shim is to see are ours: those of the Pod's process
	// are as old as it is.
	mounts, err := os.Open("/proc/self/ns/mnt")
	if err != nil {
		return Started{}, err
	}
	defer mounts.Close()
	out, err := openOwnLog(dir)
	if err != nil {
		return Started{}, err
	}
	defer out.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return Started{}, err
	}
	defer r.Close()
	files := []*os.File{mounts, out, w}
	if lock != nil {
		files = append(files, lock)
	}
	if ownerPipe != nil {
		files = append(files, ownerPipe)
	}
	files = append(files, held...)
	c, resp, err := ask(pod, request{Op: opStart, Args: []string{dir, name}, Env: failEnv(), Lock: lock != nil, OwnerPipe: ownerPipe != nil, PodIPC: ns.InPodIPC}, files...)
	w.Close()
	if err != nil {
		return Started{}, err
	}
	c.close()
	if err := resp.err(); err != nil {
		return Started{}, err
	}
	if lock != nil {
		lock.Close() // it is the shim's now, and ends with it
	}
	FailPoint("start-forked")
	return readStatus(r, dir)
}

// openOwnLog opens what a shim says itself to.
func openOwnLog(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
}

// readStatus reads what a shim says about its start.
func readStatus(r io.Reader, dir string) (Started, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return Started{}, err
	}
	if len(b) == 0 {
		return Started{}, fmt.Errorf("the container's supervisor ended at once; %s may tell why", filepath.Join(dir, LogFile))
	}
	var st Started
	if err := json.Unmarshal(b, &st); err != nil {
		return Started{}, fmt.Errorf("the container's supervisor answered %q: %w", b, err)
	}
	return st, nil
}

// runPod is the whole life of a Pod's process 1.
func runPod(path string, s *shim, ownerPipe *os.File) int {
	// What ends the containers ends them one by one, with their grace period.
	// A signal from inside the Pod must not end all of it.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	s.spec.Builtin = "pod"
	s.ordinary = os.Geteuid() != 0 // nobody yet, of his user namespace
	if !s.pid1 {
		return s.refuse(errors.New("the kernel gave no PID namespace"))
	}
	lock, err := Lock(path)
	if err != nil {
		return s.refuse(fmt.Errorf("another process holds %s: %w", path, err))
	}
	defer lock.Close()
	identity, err := ownIdentity()
	if err == nil {
		err = writeVolatile(s.dir, IdentityFile, identity)
	}
	if err != nil {
		return s.refuse(err)
	}
	s.children = newChildren()
	listener, err := listenControl()
	if err != nil {
		return s.refuse(err)
	}
	if err := os.Chdir("/"); err != nil {
		return s.refuse(err)
	}
	go s.serve(listener)
	if ownerPipe != nil {
		go func() {
			_, _ = ownerPipe.Read(make([]byte, 1)) // nothing comes but the end
			time.AfterFunc(podGrace, func() { s.signal(unix.SIGKILL) })
		}()
	}
	s.report(Started{PID: os.Getpid(), StartedAt: time.Now().UnixNano()})
	<-s.builtin
	s.killAll()
	_ = s.dir.Remove(ControlFile)
	close(s.ended)
	return 0
}

// startShim starts the shim of a container of the Pod.
func (s *shim) startShim(c *conn, req request) error {
	if os.Getenv(envPod) == "" || len(req.Args) != 2 {
		return errors.New("start: only a Pod's process starts containers")
	}
	mounts, out, status := c.file(), c.file(), c.file()
	var lock, ownerPipe *os.File
	if req.Lock {
		lock = c.file()
	}
	if req.OwnerPipe {
		ownerPipe = c.file()
	}
	for _, f := range []*os.File{mounts, out, status, lock, ownerPipe} {
		if f != nil {
			defer f.Close()
		}
	}
	if mounts == nil || out == nil || status == nil || req.Lock && lock == nil || req.OwnerPipe && ownerPipe == nil {
		return errors.New("start: descriptors missing")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	attr := &syscall.ProcAttr{
		Dir: req.Args[0],
		Env: append(shimEnv(req.Args[0], lock != nil, ownerPipe != nil), req.Env...),
		Sys: Namespaces{UTS: true}.attr(),
	}
	if s.ordinary {
		attr.Sys.AmbientCaps = allCaps()
	}
	files := []*os.File{null, null, out, status, lock, ownerPipe}
	for f := c.file(); f != nil; f = c.file() { // what it is to hold open
		defer f.Close()
		files = append(files, f)
	}
	for _, f := range files {
		if f == nil {
			attr.Files = append(attr.Files, ^uintptr(0)) // closed
			continue
		}
		attr.Files = append(attr.Files, f.Fd())
	}
	var ipc *os.File
	if req.PodIPC {
		if ipc, err = s.podIPC(); err != nil {
			return err
		}
	}
	return onThread(func() error {
		// An ordinary user's runtime has the machine's mounts, as we have,
		// and could not give us others.
		if !s.ordinary {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("leaving the mounts of the Pod: %w", err)
			}
			if err := unix.Setns(int(mounts.Fd()), unix.CLONE_NEWNS); err != nil {
				return fmt.Errorf("entering the mounts of the runtime: %w", err)
			}
		}
		if err := enterIPC(ipc); err != nil {
			return err
		}
		_, _, err := s.children.start(func() (int, error) {
			return syscall.ForkExec("/proc/self/exe", []string{procName + " " + req.Args[1]}, attr)
		})
		return err
	})
}

// podIPC is the IPC namespace of the Pod's containers. The shared memory that
// belongs to it an ordinary user's runtime can not mount.
func (s *shim) podIPC() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ipc != nil {
		return s.ipc, nil
	}
	if s.ordinary {
		if err := MountSharedMemory(os.Getenv(envDir)); err != nil {
			return nil, err
		}
	}
	var err error
	s.ipc, err = NewIPC()
	return s.ipc, err
}
