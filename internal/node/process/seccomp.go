// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/elastic/go-seccomp-bpf/arch"
	profiles "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// seccompFilters makes the programs with which the kernel filters the system
// calls of containers, and keeps those of the default profile: there is one
// for each set of capabilities that a Pod comes with.
type seccompFilters struct {
	mu    sync.Mutex
	known map[string][]byte
}

// maxKnownFilters bounds what seccompFilters keeps.
const maxKnownFilters = 64

// filterFor returns the seccomp filter of a container, nil for none. The
// default profile is what a container gets that names no other; only
// Unconfined and privileged containers do without. With pretend the filter has
// system calls succeed without effect, see pretended.
func (f *seccompFilters) filterFor(sc *runtimeapi.LinuxContainerSecurityContext, spec *shim.Spec, exempt, pretend bool) ([]byte, error) {
	if spec.Builtin != "" {
		return nil, nil
	}
	caps := boundingNames(spec)
	profile := sc.GetSeccomp()
	if sc.GetPrivileged() || profile.GetProfileType() == runtimeapi.SecurityProfile_Unconfined {
		if !pretend || nativeArch() == nil {
			return nil, nil
		}
		return assembleProfile(pretending(&specs.LinuxSeccomp{DefaultAction: specs.ActAllow}))
	}
	if profile.GetProfileType() == runtimeapi.SecurityProfile_Localhost {
		filter, err := localFilter(profile.GetLocalhostRef(), caps, pretend)
		if err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "seccompProfile of type Localhost: %v", err)
		}
		return filter, nil
	}
	if exempt || nativeArch() == nil {
		return nil, nil
	}
	return f.standard(caps, pretend)
}

// pretended are system calls that user 0 may make and that an ordinary user of
// the machine cannot grant: in his containers there is one user, and nobody
// else to give a file to or to become. Programs that install packages, and
// those that give up the rights of user 0 when they start, do no more than make
// them and look at the answer.
var pretended = strings.Fields(`chown chown32 fchown fchown32 fchownat lchown lchown32
	setgroups setgroups32 setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32
	setresuid setresuid32 setresgid setresgid32 setfsuid setfsuid32 setfsgid setfsgid32`)

// pretending is a profile in which they succeed without effect.
func pretending(p *specs.LinuxSeccomp) *specs.LinuxSeccomp {
	changed := *p
	changed.Syscalls = append([]specs.LinuxSyscall{{Names: pretended, Action: specs.ActErrno, ErrnoRet: new(uint)}}, p.Syscalls...)
	return &changed
}

// standard is the filter of the default profile for a bounding set.
func (f *seccompFilters) standard(caps []string, pretend bool) ([]byte, error) {
	key := fmt.Sprint(caps, pretend)
	f.mu.Lock()
	defer f.mu.Unlock()
	if filter, ok := f.known[key]; ok {
		return filter, nil
	}
	profile, err := profiles.GetDefaultProfile(processWith(caps))
	if err != nil {
		return nil, fmt.Errorf("the default seccomp profile: %w", err)
	}
	if pretend {
		profile = pretending(profile)
	}
	filter, err := assembleProfile(profile)
	if err != nil {
		return nil, fmt.Errorf("the default seccomp profile: %w", err)
	}
	if f.known == nil || len(f.known) >= maxKnownFilters {
		f.known = map[string][]byte{}
	}
	f.known[key] = filter
	return filter, nil
}

// maxProfile bounds a profile's file; Docker's default has 13 KiB.
const maxProfile = 1 << 20

// localFilter makes a filter of a file in the format of Docker and of the OCI
// runtime specification, which is a part of it.
func localFilter(path string, caps []string, pretend bool) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: put the profile there, or name another in localhostProfile", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxProfile {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", path, maxProfile)
	}
	body, err := io.ReadAll(io.LimitReader(file, maxProfile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	profile, err := profiles.LoadProfile(string(body), processWith(caps))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if profile == nil {
		return nil, fmt.Errorf("%s: it has neither defaultAction nor syscalls; Unconfined is the profile type for no filter", path)
	}
	if pretend {
		profile = pretending(profile)
	}
	filter, err := assembleProfile(profile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return filter, nil
}

// boundingNames are the capabilities that a profile's conditions look at.
func boundingNames(spec *shim.Spec) []string {
	var names []string
	for i, name := range capabilityNames {
		if !spec.LimitCaps || slices.Contains(spec.Bounding, i) {
			names = append(names, "CAP_"+name)
		}
	}
	return names
}

func processWith(caps []string) *specs.Spec {
	return &specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{Bounding: caps}}}
}

// nativeArch has the system calls of this machine, nil when they are not known.
func nativeArch() *arch.Info {
	switch runtime.GOARCH {
	case "amd64":
		return arch.X86_64
	case "arm64":
		return arch.AARCH64
	case "386":
		return arch.I386
	case "arm":
		return arch.ARM
	}
	return nil
}

// otherArch has the system calls of programs for the smaller processor that
// this one runs as well.
func otherArch(name specs.Arch) *arch.Info {
	switch {
	case runtime.GOARCH == "amd64" && name == specs.ArchX86:
		return arch.I386
	case runtime.GOARCH == "arm64" && name == specs.ArchARM:
		return arch.ARM
	}
	return nil
}

// What a filter sees, struct seccomp_data, by offset.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// Answers of a filter.
const (
	retKillProcess = 0x80000000
	retKillThread  = 0x00000000
	retTrap        = 0x00030000
	retErrno       = 0x00050000
	retTrace       = 0x7ff00000
	retLog         = 0x7ffc0000
	retAllow       = 0x7fff0000
)

// x32Bit marks system calls of the x32 ABI, which shares the number of its
// architecture with amd64. A profile that knows nothing of it must not let
// them pass.
const x32Bit = 0x40000000

// assembleProfile translates a profile to the kernel's struct sock_filter, one
// after the other. Of the rules for a system call the first that matches
// counts. A system call that this kernel's generation of tables does not know
// is left out, as everywhere.
func assembleProfile(p *specs.LinuxSeccomp) ([]byte, error) {
	native := nativeArch()
	if native == nil {
		return nil, fmt.Errorf("filters are not supported on %s: use the profile type Unconfined", runtime.GOARCH)
	}
	if p.ListenerPath != "" {
		return nil, errors.New("listenerPath: filters that ask another process are not supported")
	}
	standard, err := answer(p.DefaultAction, p.DefaultErrnoRet)
	if err != nil {
		return nil, fmt.Errorf("defaultAction: %w", err)
	}
	arches := []*arch.Info{native}
	for _, name := range p.Architectures {
		if a := otherArch(name); a != nil && !slices.Contains(arches, a) {
			arches = append(arches, a)
		}
	}
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: dataArch, Size: 4}}
	for _, a := range arches {
		part, err := archProgram(p, a, standard)
		if err != nil {
			return nil, err
		}
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(a.ID), SkipTrue: 1}, bpf.Jump{Skip: uint32(len(part))})
		program = append(program, part...)
	}
	program = append(program, bpf.RetConstant{Val: retErrno | uint32(unix.ENOSYS)})
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	if len(raw) > shim.MaxFilterInstructions {
		return nil, fmt.Errorf("the filter has %d instructions, the kernel takes %d: write fewer rules", len(raw), shim.MaxFilterInstructions)
	}
	var b bytes.Buffer
	for _, in := range raw {
		_ = binary.Write(&b, binary.NativeEndian, unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}) // a buffer takes everything
	}
	return b.Bytes(), nil
}

// archProgram is the filter for the system calls of one architecture. Each has
// a block that ends with an answer, so that no block sees a register in which
// another has left an argument. Blocks with conditions come first: the kernel
// remembers the answers of all others.
func archProgram(p *specs.LinuxSeccomp, a *arch.Info, standard uint32) ([]bpf.Instruction, error) {
	type rule struct {
		args []specs.LinuxSeccompArg
		ret  uint32
	}
	rules := map[int][]rule{}
	var numbers []int
	for _, call := range p.Syscalls {
		ret, err := answer(call.Action, call.ErrnoRet)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(call.Names, ", "), err)
		}
		for _, name := range call.Names {
			n, ok := a.SyscallNames[name]
			if !ok {
				continue
			}
			if rules[n] == nil {
				numbers = append(numbers, n)
			}
			for _, args := range alternatives(call.Args) {
				rules[n] = append(rules[n], rule{args, ret})
			}
		}
	}
	var plain, conditional []bpf.Instruction
	for _, n := range numbers {
		var block []bpf.Instruction
		ended := false
		for _, r := range rules[n] {
			code, err := ruleProgram(r.args, r.ret)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.SyscallNumbers[n], err)
			}
			block = append(block, code...)
			if len(r.args) == 0 {
				ended = true
				break // what comes behind it never matches
			}
		}
		if ended && len(block) == 1 {
			plain = append(plain, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(n), SkipFalse: 1}, block[0])
			continue
		}
		if !ended {
			block = append(block, bpf.RetConstant{Val: standard})
		}
		conditional = append(conditional, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(n), SkipTrue: 1}, bpf.Jump{Skip: uint32(len(block))})
		conditional = append(conditional, block...)
	}
	program := []bpf.Instruction{bpf.LoadAbsolute{Off: dataNumber, Size: 4}}
	if a.ID == arch.X86_64.ID {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: x32Bit, SkipFalse: 1}, bpf.RetConstant{Val: retErrno | uint32(unix.ENOSYS)})
	}
	program = append(append(program, conditional...), plain...)
	return append(program, bpf.RetConstant{Val: standard}), nil
}

// alternatives are the lists of conditions of a rule of which one must hold.
// Usually it is one list; conditions of which two look at the same argument
// are alternatives, by the rules of the format.
func alternatives(args []specs.LinuxSeccompArg) [][]specs.LinuxSeccompArg {
	seen := map[uint]bool{}
	for _, a := range args {
		if seen[a.Index] {
			var each [][]specs.LinuxSeccompArg
			for _, a := range args {
				each = append(each, []specs.LinuxSeccompArg{a})
			}
			return each
		}
		seen[a.Index] = true
	}
	return [][]specs.LinuxSeccompArg{args}
}

// ruleProgram answers ret when all conditions hold; otherwise it goes on
// behind its end.
func ruleProgram(args []specs.LinuxSeccompArg, ret uint32) ([]bpf.Instruction, error) {
	code := []bpf.Instruction{bpf.RetConstant{Val: ret}}
	for _, a := range slices.Backward(args) {
		check, err := argProgram(a, len(code))
		if err != nil {
			return nil, err
		}
		code = append(check, code...)
	}
	return code, nil
}

// argProgram checks one argument, in two halves. It ends at its end when the
// condition holds, and skips behind more instructions behind it when not.
func argProgram(a specs.LinuxSeccompArg, behind int) ([]bpf.Instruction, error) {
	if a.Index > 5 {
		return nil, fmt.Errorf("args: index %d: a system call has the arguments 0 to 5", a.Index)
	}
	low := bpf.LoadAbsolute{Off: dataArgs + 8*uint32(a.Index), Size: 4}
	high := bpf.LoadAbsolute{Off: low.Off + 4, Size: 4}
	value := [2]uint32{uint32(a.Value >> 32), uint32(a.Value)}
	// Of an order, the high half decides unless it is equal.
	ordered := func(higher, fails bpf.JumpTest) []bpf.Instruction {
		return []bpf.Instruction{
			high,
			bpf.JumpIf{Cond: higher, Val: value[0], SkipTrue: 3},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value[0], SkipTrue: uint8(2 + behind)},
			low,
			bpf.JumpIf{Cond: fails, Val: value[1], SkipTrue: uint8(behind)},
		}
	}
	switch a.Op {
	case specs.OpEqualTo:
		return []bpf.Instruction{
			high, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value[0], SkipTrue: uint8(2 + behind)},
			low, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value[1], SkipTrue: uint8(behind)},
		}, nil
	case specs.OpNotEqual:
		return []bpf.Instruction{
			high, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value[0], SkipTrue: 2},
			low, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value[1], SkipTrue: uint8(behind)},
		}, nil
	case specs.OpMaskedEqual:
		return []bpf.Instruction{
			high, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: value[0]},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(a.ValueTwo >> 32), SkipTrue: uint8(3 + behind)},
			low, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: value[1]},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(a.ValueTwo), SkipTrue: uint8(behind)},
		}, nil
	case specs.OpGreaterThan:
		return ordered(bpf.JumpGreaterThan, bpf.JumpLessOrEqual), nil
	case specs.OpGreaterEqual:
		return ordered(bpf.JumpGreaterThan, bpf.JumpLessThan), nil
	case specs.OpLessThan:
		return ordered(bpf.JumpLessThan, bpf.JumpGreaterOrEqual), nil
	case specs.OpLessEqual:
		return ordered(bpf.JumpLessThan, bpf.JumpGreaterThan), nil
	}
	return nil, fmt.Errorf("args: unknown comparison %q", a.Op)
}

// answer is what a filter returns for an action.
func answer(action specs.LinuxSeccompAction, errno *uint) (uint32, error) {
	code := uint32(unix.EPERM)
	if errno != nil {
		code = uint32(*errno) & 0xffff
	}
	switch action {
	case specs.ActAllow:
		return retAllow, nil
	case specs.ActErrno:
		return retErrno | code, nil
	case specs.ActKill, specs.ActKillThread:
		return retKillThread, nil
	case specs.ActKillProcess:
		return retKillProcess, nil
	case specs.ActTrap:
		return retTrap, nil
	case specs.ActTrace:
		return retTrace | code, nil
	case specs.ActLog:
		return retLog, nil
	}
	return 0, fmt.Errorf("the action %q is not supported", action)
}
