// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shim

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The standard library's fork has no place for what must come last before the
// exec: the seccomp filter, which would otherwise have to let through all that
// a fork does, and the capability to install it, which a change of user takes
// away. So the steps between fork and exec are here, in the order in which
// each still has the rights that it needs.

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

//go:linkname afterForkInChild syscall.runtime_AfterForkInChild
func afterForkInChild()

// lastSignal is the highest signal of the kernel. The C library keeps the first
// realtime signals for itself and Go leaves them alone, so that nobody else
// resets what a parent ignored.
const lastSignal = 64

// step is what a new process was doing when it failed.
type step uint32

const (
	stepSession step = iota
	stepSignals
	stepGroups
	stepGID
	stepUID
	stepCapabilities
	stepAmbient
	stepDir
	stepFiles
	stepTerminal
	stepDeath
	stepNoNewPrivs
	stepSeccomp
	stepExec
)

// forkError is the error number of a step before the command ran.
type forkError struct {
	step  step
	errno syscall.Errno
}

func (e *forkError) Error() string {
	what := map[step]string{
		stepSession: "starting a session", stepSignals: "resetting signals", stepGroups: "setting the supplementary groups",
		stepGID: "setting the group", stepUID: "setting the user", stepCapabilities: "limiting capabilities",
		stepAmbient: "raising ambient capabilities", stepDir: "entering the working directory", stepFiles: "setting the standard files",
		stepTerminal: "taking the terminal", stepDeath: "tying the command to its supervisor",
		stepNoNewPrivs: "allowPrivilegeEscalation: false", stepSeccomp: "installing the seccomp filter", stepExec: "exec",
	}[e.step]
	return what + ": " + e.errno.Error()
}

func (e *forkError) Unwrap() error { return e.errno }

// childArgs is all that a new process needs. It is complete before the fork:
// afterwards nothing may be allocated.
type childArgs struct {
	path, dir      *byte
	argv, envv     []*byte
	files          [3]int
	tty            bool
	killWithParent bool // kill it when the thread that made it ends
	parent         int  // our process ID

	user       bool // uid, gid and groups count
	uid, gid   int
	groups     []uint32
	setCaps    bool // capHeader, capData and ambient count
	capHeader  unix.CapUserHeader
	capData    [2]unix.CapUserData
	ambient    []int
	noNewPrivs bool
	seccomp    unix.SockFprog // Len 0: none

	defaultAction [32]byte // a struct sigaction of zeros: the default action
	tasks         []int    // where to enter the cgroups of the old kind
	zero          [1]byte  // what to write there
	cgroup        int      // descriptor of the unified cgroup, or -1
	cgroupNS      bool     // its cgroups are to look like all there are
	clone         cloneArgs
	report        int // where a failure is told
	failure       [2]uint32
}

// cloneArgs is the kernel's struct clone_args.
type cloneArgs struct {
	flags, pidFD, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// newChildArgs prepares the start of path from the calling thread, which has
// the bounding set that the command is to have.
func (s *shim) newChildArgs(path, dir string, c command) (*childArgs, error) {
	a := &childArgs{tty: c.tty, killWithParent: c.killWithParent, parent: os.Getpid(), cgroup: -1, noNewPrivs: s.rights.noNewPrivs}
	var err error
	if a.path, err = unix.BytePtrFromString(path); err != nil {
		return nil, err
	}
	if a.dir, err = unix.BytePtrFromString(dir); err != nil {
		return nil, err
	}
	if a.argv, err = syscall.SlicePtrFromStrings(c.args); err != nil {
		return nil, err
	}
	if a.envv, err = syscall.SlicePtrFromStrings(c.env); err != nil {
		return nil, err
	}
	for i, f := range c.stdio {
		a.files[i] = int(f.Fd())
	}
	if u := s.rights.user; u != nil {
		a.user, a.uid, a.gid, a.groups = true, int(u.UID), int(u.GID), u.Groups
		a.ambient = s.rights.ambient
	}
	a.tasks, a.zero = s.cgroup.taskFDs(), [1]byte{'0'}
	if fd, ok := s.cgroup.unifiedFD(); ok {
		a.cgroup = fd
	}
	a.cgroupNS = s.spec.Root == RootImage && !s.spec.Privileged && (a.cgroup >= 0 || len(a.tasks) > 0)
	a.capHeader.Version = unix.LINUX_CAPABILITY_VERSION_3
	var has [2]unix.CapUserData
	if err := unix.Capget(&a.capHeader, &has[0]); err != nil {
		return nil, fmt.Errorf("reading capabilities: %w", err)
	}
	may := permitted(has)
	if s.rights.limit || s.rights.clearAmbient || a.user {
		a.setCaps = true
		a.capData = s.rights.sets(may)
	}
	if len(s.rights.seccomp) > 0 {
		filter, err := sockFilters(s.rights.seccomp)
		if err != nil {
			return nil, err
		}
		a.seccomp = unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		// The kernel takes a filter from whoever administers the user namespace,
		// and from others only with the promise that no set-user-ID program
		// will run behind it.
		a.noNewPrivs = a.noNewPrivs || may&(1<<unix.CAP_SYS_ADMIN) == 0
	}
	return a, nil
}

func permitted(data [2]unix.CapUserData) uint64 {
	return uint64(data[0].Permitted) | uint64(data[1].Permitted)<<32
}

// sets are the capabilities between the change of user and the exec, of those
// that this process has. What an exec grants is made of the bounding set, for
// user 0, and of the ambient set; the inheritable set would add to both, so it
// holds what the ambient set needs and nothing else. CAP_SYS_ADMIN is for the
// seccomp filter and ends with the exec, unless the command gets it anyhow.
func (r *rights) sets(may uint64) [2]unix.CapUserData {
	var ambient uint64
	effective := may
	if r.user != nil {
		for _, c := range r.ambient {
			ambient |= 1 << c
		}
	}
	if r.limit {
		effective = 0
		for _, c := range r.keep {
			effective |= 1 << c
		}
	}
	if r.user != nil && r.user.UID != 0 || r.user == nil && os.Geteuid() != 0 {
		effective = 0
	}
	ambient &= may
	effective = (effective | ambient) & may
	now := effective | 1<<unix.CAP_SYS_ADMIN&may
	var data [2]unix.CapUserData
	for i := range data {
		shift := 32 * i
		data[i] = unix.CapUserData{Effective: uint32(now >> shift), Permitted: uint32(now >> shift), Inheritable: uint32(ambient >> shift)}
	}
	return data
}

// sockFilters reads a program as it stands in a spec: the kernel's struct
// sock_filter, one after the other.
func sockFilters(b []byte) ([]unix.SockFilter, error) {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(b)%size != 0 || len(b)/size > MaxFilterInstructions {
		return nil, fmt.Errorf("the seccomp filter has %d bytes, which is not a program", len(b))
	}
	filter := make([]unix.SockFilter, len(b)/size)
	_, err := binary.Decode(b, binary.NativeEndian, filter)
	return filter, err
}

// MaxFilterInstructions is how many instructions the kernel takes in a seccomp filter.
const MaxFilterInstructions = 4096

// forkExec starts the program of a. Its error is a *forkError for what went
// wrong in the new process, which has been waited for then.
func (a *childArgs) forkExec() (int, error) {
	// A source below 3 would be overwritten before its turn.
	for i, fd := range a.files {
		if fd < len(a.files) {
			up, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, len(a.files))
			if err != nil {
				return 0, err
			}
			defer func() { _ = unix.Close(up) }()
			a.files[i] = up
		}
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(pipe[0]) }()
	a.report = pipe[1]
	a.clone = cloneArgs{exitSignal: uint64(unix.SIGCHLD)}
	if a.cgroup >= 0 {
		a.clone.flags, a.clone.cgroup = unix.CLONE_INTO_CGROUP, uint64(a.cgroup)
	}
	syscall.ForkLock.Lock()
	pid, errno := a.fork()
	syscall.ForkLock.Unlock()
	_ = unix.Close(pipe[1])
	if errno != 0 {
		return 0, errno
	}
	var failure [8]byte
	var n int
	var err error
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = unix.Read(pipe[0], failure[:])
	}
	runtime.KeepAlive(a)
	if err == nil && n == 0 {
		return pid, nil // the pipe's other end was closed by the exec
	}
	for err = unix.EINTR; err == unix.EINTR; {
		_, err = unix.Wait4(pid, nil, 0, nil)
	}
	if n != len(failure) {
		return 0, &forkError{stepExec, syscall.EPIPE}
	}
	return 0, &forkError{step(binary.NativeEndian.Uint32(failure[:])), syscall.Errno(binary.NativeEndian.Uint32(failure[4:]))}
}

// fork makes the process. Between the two calls of the runtime nothing may
// allocate, grow the stack or take a lock: only raw system calls.
//
//go:noinline
//go:norace
//go:nocheckptr
func (a *childArgs) fork() (int, syscall.Errno) {
	var pid uintptr
	var errno syscall.Errno
	beforeFork()
	switch {
	case a.cgroup >= 0:
		pid, _, errno = syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&a.clone)), unsafe.Sizeof(a.clone), 0)
	case runtime.GOARCH == "s390x":
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, 0, uintptr(unix.SIGCHLD), 0, 0, 0, 0)
	default:
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	}
	if errno != 0 || pid != 0 {
		afterFork()
		return int(pid), errno
	}
	afterForkInChild()
	at, errno := a.child()
	a.failure[0], a.failure[1] = uint32(at), uint32(errno)
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(a.report), uintptr(unsafe.Pointer(&a.failure)), unsafe.Sizeof(a.failure))
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 253, 0, 0)
	}
}

// child is what the new process does. It comes back only when a step failed.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (a *childArgs) child() (step, syscall.Errno) {
	var e syscall.Errno
	if _, _, e = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); e != 0 {
		return stepSession, e
	}
	// What this process ignores an exec would pass on, and a command that
	// expects to die of a broken pipe must.
	for sig := unix.SIGHUP; sig <= lastSignal; sig++ {
		if sig == unix.SIGKILL || sig == unix.SIGSTOP {
			continue
		}
		if _, _, e = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&a.defaultAction)), 0, 8, 0, 0); e != 0 {
			return stepSignals, e
		}
	}
	for i := range a.tasks {
		// A cgroup that does not take it must not stop a container.
		_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(a.tasks[i]), uintptr(unsafe.Pointer(&a.zero)), 1)
	}
	if a.cgroupNS {
		// Only a view: without it the container has the same limits.
		_, _, _ = syscall.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP, 0, 0)
	}
	if at, e := a.setCredentials(); e != 0 {
		return at, e
	}
	if _, _, e = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(a.dir)), 0, 0); e != 0 {
		return stepDir, e
	}
	for i := range a.files {
		if _, _, e = syscall.RawSyscall(unix.SYS_DUP3, uintptr(a.files[i]), uintptr(i), 0); e != 0 {
			return stepFiles, e
		}
	}
	// Whatever else is open here, known or not, is none of the command's
	// business. Kernels before 5.11 do without: ours are close-on-exec anyhow.
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 3, ^uintptr(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if a.tty {
		if _, _, e = syscall.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); e != 0 {
			return stepTerminal, e
		}
	}
	if a.killWithParent {
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0, 0); e != 0 {
			return stepDeath, e
		}
		// It may have ended before this.
		if p, _, _ := syscall.RawSyscall(unix.SYS_GETPPID, 0, 0, 0); p != uintptr(a.parent) {
			return stepDeath, syscall.ESRCH
		}
	}
	if a.noNewPrivs {
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0); e != 0 {
			return stepNoNewPrivs, e
		}
	}
	// The last step: from here on the filter decides what this process may do,
	// and it needs to allow nothing but the exec.
	if a.seccomp.Len > 0 {
		_, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&a.seccomp)))
		if e == syscall.EINVAL { // before Linux 4.17
			_, _, e = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&a.seccomp)))
		}
		if e != 0 {
			return stepSeccomp, e
		}
	}
	_, _, e = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(a.path)), uintptr(unsafe.Pointer(&a.argv[0])), uintptr(unsafe.Pointer(&a.envv[0])))
	return stepExec, e
}

// setCredentials takes on the user and gives up capabilities.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (a *childArgs) setCredentials() (step, syscall.Errno) {
	var e syscall.Errno
	if a.user {
		// Without it a change from user 0 would take all capabilities along.
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1, 0, 0, 0, 0); e != 0 {
			return stepUID, e
		}
		var groups uintptr
		if len(a.groups) > 0 {
			groups = uintptr(unsafe.Pointer(&a.groups[0]))
		}
		if _, _, e = syscall.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(a.groups)), groups, 0); e != 0 {
			return stepGroups, e
		}
		if _, _, e = syscall.RawSyscall(unix.SYS_SETGID, uintptr(a.gid), 0, 0); e != 0 {
			return stepGID, e
		}
		if _, _, e = syscall.RawSyscall(unix.SYS_SETUID, uintptr(a.uid), 0, 0); e != 0 {
			return stepUID, e
		}
	}
	if !a.setCaps {
		return 0, 0
	}
	if _, _, e = syscall.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&a.capHeader)), uintptr(unsafe.Pointer(&a.capData[0])), 0); e != 0 {
		return stepCapabilities, e
	}
	for i := range a.ambient {
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(a.ambient[i]), 0, 0, 0); e != 0 {
			return stepAmbient, e
		}
	}
	return 0, 0
}
