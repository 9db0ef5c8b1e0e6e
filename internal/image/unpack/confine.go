// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package unpack

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kept are the capabilities of a process that unpacks: to give files their owners, modes and capabilities.
var kept = []uint{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETFCAP}

// confine takes from this process what it does not need to fill its root: most capabilities, new ones, and system calls
// that lead elsewhere. The root keeps entries of an archive inside; this is for an archive that found a hole in us.
func confine() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for _, c := range kept {
		data[c/32].Effective |= 1 << (c % 32)
		data[c/32].Permitted |= 1 << (c % 32)
	}
	if err := allThreads(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != nil {
		return fmt.Errorf("giving up new rights: %w", err)
	}
	return filter()
}

// allThreads makes a system call on every thread. With cgo, where threads are not ours alone, only on this one, which
// for an init function is the first.
//
// What its arguments point to must not move while their numbers are all that is left of the pointers, as a stack does
// that grows. So it goes to the heap, and the pointer is converted in the call itself.
//
//go:uintptrescapes
func allThreads(trap, a1, a2, a3 uintptr) error {
	_, _, errno := syscall.AllThreadsSyscall(trap, a1, a2, a3)
	if errors.Is(errno, syscall.ENOTSUP) {
		_, _, errno = syscall.Syscall(trap, a1, a2, a3)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// denied are system calls that lead out of the root or to other processes. Starting a program is among them, so what
// would start one is not.
var denied = []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_GETFD,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_IO_URING_SETUP, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_BPF,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_FSMOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SYSLOG,
}

// Where the kernel tells a filter of a call: its number, its architecture, the low half of its first argument.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16
)

// x32 marks system calls of a second table on amd64.
const x32 = 0x40000000

// filter denies system calls to all threads. On architectures that are not known here there is none.
func filter() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return nil
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(how uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	result := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	refuse := result(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
	program := []unix.SockFilter{
		load(atArch), jump(unix.BPF_JEQ, arch, 1, 0), refuse,
		load(atNumber), jump(unix.BPF_JGE, x32, 0, 1), refuse,
	}
	for _, number := range denied {
		program = append(program, jump(unix.BPF_JEQ, number, 0, 1), refuse)
	}
	// The runtime interrupts its own threads, and nobody else's.
	program = append(program,
		jump(unix.BPF_JEQ, unix.SYS_TGKILL, 0, 3), load(atFirst), jump(unix.BPF_JEQ, uint32(os.Getpid()), 1, 0), refuse, //nolint:gosec // process IDs fit
		result(unix.SECCOMP_RET_ALLOW))
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // it is short
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(program)
	if errno != 0 && !errors.Is(errno, unix.ENOSYS) && !errors.Is(errno, unix.EINVAL) { // a kernel without filters
		return fmt.Errorf("filtering system calls: %w", errno)
	}
	return nil
}
