// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// The containers of images of one Pod share System V IPC, message queues and
// /dev/shm, if somebody can give them a namespace: the runtime of root, or the
// Pod's process 1 where there is one. The namespace is a file that they hold
// open, and /dev/shm a directory of the Pod where they have mounted it.

// SharedMemoryDir in a Pod's directory is what its containers have as /dev/shm.
const SharedMemoryDir = "shm"

// sharedMemorySize is as everywhere where an image may have run.
const sharedMemorySize = "size=65536k"

// NewIPC makes an IPC namespace. It lasts as long as the file is open or a process
// is in it.
func NewIPC() (*os.File, error) {
	var ns *os.File
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWIPC); err != nil {
			return fmt.Errorf("making an IPC namespace: %w", err)
		}
		ns, err = os.Open("/proc/thread-self/ns/ipc")
		return err
	})
	return ns, err
}

// IPCOf opens the IPC namespace of the shim of the container in dir; nil when
// none lives.
func IPCOf(dir string) *os.File {
	id, err := ReadIdentity(dir)
	if err != nil || !id.Supervises(dir) {
		return nil
	}
	ns, err := os.Open(filepath.Join("/proc", strconv.Itoa(id.PID), "ns/ipc"))
	if err != nil {
		return nil
	}
	if !id.Supervises(dir) { // in between another process can have got the same ID
		ns.Close()
		return nil
	}
	return ns
}

// enterIPC puts the calling thread into the namespace ns; nil is the one where it
// is.
func enterIPC(ns *os.File) error {
	if ns == nil {
		return nil
	}
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("entering the IPC namespace of the Pod: %w", err)
	}
	return nil
}

// onThread calls f on a thread that ends with it, and so do the namespaces that
// it entered.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			// The first thread does not end, and is what /proc shows of this
			// process. Held by this goroutine, it is not the next one's.
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f() // and never unlocked
	}()
	return <-done
}

// MountSharedMemory mounts what a Pod's containers have as /dev/shm in the Pod's
// directory, unless it is there.
func MountSharedMemory(pod string) error {
	dir := filepath.Join(pod, SharedMemoryDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var parent, own syscall.Stat_t
	if err := syscall.Stat(pod, &parent); err != nil {
		return err
	}
	if err := syscall.Lstat(dir, &own); err != nil {
		return err
	}
	if parent.Dev != own.Dev {
		return nil
	}
	if err := unix.Mount("shm", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=1777,"+sharedMemorySize); err != nil {
		return fmt.Errorf("mounting the shared memory of the Pod: %w", err)
	}
	return nil
}

// UnmountSharedMemory undoes it. What is not there is no error.
func UnmountSharedMemory(pod string) error {
	dir := filepath.Join(pod, SharedMemoryDir)
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("unmounting the shared memory of the Pod: %w", err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
