// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// LogFile in a container's directory takes what a shim itself says: nothing,
// unless it panics.
const LogFile = "shim.log"

// Namespaces say what a shim gets of its own besides mounts.
type Namespaces struct {
	None bool // nothing at all, not even mounts
	User bool // a user namespace in which we stay who we are
	PID  bool
	UTS  bool
	IPC  bool
	// PodIPC, in place of IPC, is the IPC namespace of the Pod. With [StartInPod]
	// that is known to the Pod's process, and InPodIPC asks for it.
	PodIPC   *os.File
	InPodIPC bool
	// Unmapped, with User: the user namespace knows nobody yet, and the shim
	// decides whom this user is there, see takeID.
	Unmapped bool
}

// Start starts the shim of the container in dir, which holds a spec, and waits
// until its command runs or has failed to. The process that is returned must be
// waited for, see [exec.Cmd.Wait]; it is nil when not even the shim could be
// started. name appears in the process list.
//
// lock is the lock of dir ([Lock]), which the shim takes over: it is held
// without a gap from the caller's look at the container to the shim's end, so
// whoever gets it later knows that no shim lives and none is on its way. Start
// closes it in any case. Without one the shim takes the lock itself.
//
// The container ends when the other end of ownerPipe, which is a reading end, is
// closed: when the process that holds the writing end is gone, however it went.
// Nil is for one that outlives that process. The shim keeps held open as long
// as it lives, for the locks that they carry.
func Start(dir, name string, ns Namespaces, lock, ownerPipe *os.File, held ...*os.File) (*exec.Cmd, Started, error) {
	return begin(dir, name, ns, failEnv(), lock, ownerPipe, held...)
}

// Probe sets up a root as Start would, and says why it can not be done.
func Probe(dir string, ns Namespaces) error {
	cmd, st, err := begin(dir, "probe", ns, []string{envProbe + "=1"}, nil, nil)
	if cmd != nil {
		_ = cmd.Wait()
	}
	if err != nil {
		return err
	}
	if st.Error != "" {
		return errors.New(st.Error)
	}
	return nil
}

// begin starts a process of this binary for dir, with env besides its own
// environment, and reads what it says. It closes lock.
func begin(dir, name string, ns Namespaces, env []string, lock, ownerPipe *os.File, held ...*os.File) (*exec.Cmd, Started, error) {
	if lock != nil {
		defer lock.Close()
	}
	// The running program itself, also when its file was replaced or removed
	// by an update.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{procName + " " + name}
	cmd.Env = append(shimEnv(dir, lock != nil, ownerPipe != nil), env...)
	cmd.Dir = dir
	attr := ns.attr()
	cmd.SysProcAttr = attr
	out, err := openOwnLog(dir)
	if err != nil {
		return nil, Started{}, err
	}
	defer out.Close()
	cmd.Stderr = out
	r, w, err := os.Pipe()
	if err != nil {
		return nil, Started{}, err
	}
	defer r.Close()
	cmd.ExtraFiles = append([]*os.File{w, lock, ownerPipe}, held...) // descriptors statusFD, lockFD, ownerPipeFD; one that is nil is closed
	if here, err := holdMounts(attr, ownerPipe); err != nil {
		w.Close()
		return nil, Started{}, err
	} else if here != nil {
		defer here.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, here)
	}
	if ns.PodIPC == nil {
		err = cmd.Start()
	} else {
		err = onThread(func() error {
			if err := enterIPC(ns.PodIPC); err != nil {
				return err
			}
			return cmd.Start()
		})
	}
	w.Close()
	if err != nil {
		return nil, Started{}, err
	}
	if lock != nil {
		lock.Close() // it is the shim's now, and ends with it
		FailPoint("start-forked")
	}
	st, err := readStatus(r, dir)
	return cmd, st, err
}

// holdMounts opens the mount namespace of this process for a shim that leaves
// it. The shim holds it open and never uses it: the mounts of this process,
// among them the volumes of the container, stay as long as the container does,
// and the next life of this program enters them through it (see package
// mountnamespace). What ends with its owner has no next life, and in a user namespace
// nothing could be entered.
func holdMounts(attr *syscall.SysProcAttr, ownerPipe *os.File) (*os.File, error) {
	if ownerPipe != nil || attr.Cloneflags&syscall.CLONE_NEWNS == 0 || attr.Cloneflags&syscall.CLONE_NEWUSER != 0 {
		return nil, nil
	}
	return os.Open("/proc/self/ns/mnt")
}

// shimEnv is the environment of a shim.
func shimEnv(dir string, lock, ownerPipe bool) []string {
	env := []string{envDir + "=" + dir, "GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=single"}
	if lock {
		env = append(env, envLock+"=1")
	}
	if ownerPipe {
		env = append(env, envOwnerPipe+"=1")
	}
	return env
}

func (ns Namespaces) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if ns.None {
		return attr
	}
	attr.Cloneflags = syscall.CLONE_NEWNS
	if ns.PID {
		attr.Cloneflags |= syscall.CLONE_NEWPID
	}
	if ns.UTS {
		attr.Cloneflags |= syscall.CLONE_NEWUTS
	}
	if ns.IPC {
		attr.Cloneflags |= syscall.CLONE_NEWIPC
	}
	if ns.User {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		if !ns.Unmapped {
			attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		}
		// A user who is not root loses all capabilities over an exec unless
		// they are ambient. The shim needs them to mount; it takes them from
		// the commands it starts.
		attr.AmbientCaps = allCaps()
	}
	return attr
}

func allCaps() []uintptr {
	var all []uintptr
	for c := range LastCap() + 1 {
		all = append(all, uintptr(c))
	}
	return all
}
