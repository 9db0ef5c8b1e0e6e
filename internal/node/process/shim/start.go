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
	"path/filepath"
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
// The container ends when the other end of the leash, a pipe's reading end, is
// closed: when the process that holds the writing end is gone, however it went.
// A nil leash is none.
func Start(dir, name string, ns Namespaces, lock, leash *os.File) (*exec.Cmd, Started, error) {
	return start(dir, name, ns, lock, leash, false)
}

// Probe sets up a root as Start would, and says why it can not be done.
func Probe(dir string, ns Namespaces) error {
	cmd, st, err := start(dir, "probe", ns, nil, nil, true)
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

func start(dir, name string, ns Namespaces, lock, leash *os.File, probe bool) (*exec.Cmd, Started, error) {
	if lock != nil {
		defer lock.Close()
	}
	// The running program itself, also when its file was replaced or removed
	// by an update.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{procName + " " + name}
	cmd.Env = []string{envDir + "=" + dir, "GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=single"}
	if probe {
		cmd.Env = append(cmd.Env, envProbe+"=1")
	}
	cmd.Dir = dir
	cmd.SysProcAttr = ns.attr()
	out, err := os.OpenFile(filepath.Join(dir, LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
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
	cmd.ExtraFiles = []*os.File{w, lock, leash} // descriptors statusFD, lockFD, leashFD; one that is nil is closed
	if lock != nil {
		cmd.Env = append(cmd.Env, envLock+"=1")
	}
	if leash != nil {
		cmd.Env = append(cmd.Env, envLeash+"=1")
	}
	if !probe {
		cmd.Env = append(cmd.Env, failEnv()...)
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, Started{}, err
	}
	if lock != nil {
		lock.Close() // it is the shim's now, and ends with it
	}
	if !probe {
		Reach("start-forked")
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return cmd, Started{}, err
	}
	var st Started
	if len(b) == 0 {
		return cmd, Started{}, fmt.Errorf("the container's supervisor ended at once; %s may tell why", filepath.Join(dir, LogFile))
	}
	if err := json.Unmarshal(b, &st); err != nil {
		return cmd, Started{}, fmt.Errorf("the container's supervisor answered %q: %w", b, err)
	}
	return cmd, st, nil
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
	if ns.User {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		// A user who is not root loses all capabilities over an exec unless
		// they are ambient. The shim needs them to mount; it takes them from
		// the commands it starts.
		for c := range LastCap() + 1 {
			attr.AmbientCaps = append(attr.AmbientCaps, uintptr(c))
		}
	}
	return attr
}
