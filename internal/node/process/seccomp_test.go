// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	profiles "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// call is a system call as a filter sees it.
type call struct {
	arch   uint32
	number uint32
	args   [6]uint64
}

// run executes a filter for a call, with the interpreter of another library.
func run(t interface{ Fatal(...any) }, filter []byte, c call) uint32 {
	var program []bpf.Instruction
	for in := range slices.Chunk(filter, 8) {
		raw := bpf.RawInstruction{Op: binary.NativeEndian.Uint16(in), Jt: in[2], Jf: in[3], K: binary.NativeEndian.Uint32(in[4:])}
		program = append(program, raw.Disassemble())
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	// The interpreter reads words as a network does, the kernel as the machine.
	words := []uint32{c.number, c.arch, 0, 0}
	for _, a := range c.args {
		words = append(words, uint32(a), uint32(a>>32))
	}
	var data []byte
	for _, w := range words {
		data = binary.BigEndian.AppendUint32(data, w)
	}
	ret, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(ret)
}

// expected is what a profile says about a call, read word for word.
func expected(t interface{ Fatal(...any) }, p *specs.LinuxSeccomp, a *arch.Info, c call) uint32 {
	for _, rule := range p.Syscalls {
		named := slices.ContainsFunc(rule.Names, func(n string) bool {
			number, ok := a.SyscallNames[n]
			return ok && uint32(number) == c.number
		})
		if !named {
			continue
		}
		ret, err := answer(rule.Action, rule.ErrnoRet)
		if err != nil {
			t.Fatal(err)
		}
		twice := false
		for i, x := range rule.Args {
			for _, y := range rule.Args[:i] {
				twice = twice || x.Index == y.Index
			}
		}
		all, any := true, false
		for _, arg := range rule.Args {
			ok := holds(arg, c.args[arg.Index])
			all, any = all && ok, any || ok
		}
		if all || twice && any {
			return ret
		}
	}
	ret, err := answer(p.DefaultAction, p.DefaultErrnoRet)
	if err != nil {
		t.Fatal(err)
	}
	return ret
}

func holds(a specs.LinuxSeccompArg, v uint64) bool {
	switch a.Op {
	case specs.OpEqualTo:
		return v == a.Value
	case specs.OpNotEqual:
		return v != a.Value
	case specs.OpGreaterThan:
		return v > a.Value
	case specs.OpGreaterEqual:
		return v >= a.Value
	case specs.OpLessThan:
		return v < a.Value
	case specs.OpLessEqual:
		return v <= a.Value
	}
	return v&a.Value == a.ValueTwo
}

// The filter of a profile answers each system call as the profile says, on
// each architecture that the machine runs programs of.
func TestFilterMeansProfile(t *testing.T) {
	native := nativeArch()
	if native == nil {
		t.Skipf("no filters on %s", runtime.GOARCH)
	}
	var names []string
	for _, n := range native.SyscallNumbers {
		names = append(names, n)
	}
	slices.Sort(names)
	interesting := []uint64{0, 1, 40, 1 << 31, 1 << 32, 1<<32 + 40, 0x7e020000, ^uint64(0)}
	value := rapid.OneOf(rapid.SampledFrom(interesting), rapid.Uint64())
	actions := []specs.LinuxSeccompAction{specs.ActAllow, specs.ActErrno, specs.ActKillProcess, specs.ActKillThread, specs.ActTrap, specs.ActLog, specs.ActTrace}
	ops := []specs.LinuxSeccompOperator{specs.OpEqualTo, specs.OpNotEqual, specs.OpGreaterThan, specs.OpGreaterEqual, specs.OpLessThan, specs.OpLessEqual, specs.OpMaskedEqual}
	errno := uint(unix.ENOSYS)
	rapid.Check(t, func(t *rapid.T) {
		arg := rapid.Custom(func(t *rapid.T) specs.LinuxSeccompArg {
			return specs.LinuxSeccompArg{Index: rapid.UintRange(0, 5).Draw(t, "index"), Value: value.Draw(t, "value"), ValueTwo: value.Draw(t, "valueTwo"), Op: rapid.SampledFrom(ops).Draw(t, "op")}
		})
		few := names[:12]
		p := &specs.LinuxSeccomp{DefaultAction: rapid.SampledFrom(actions).Draw(t, "default"), DefaultErrnoRet: &errno, Architectures: []specs.Arch{specs.ArchX86, specs.ArchARM}}
		for range rapid.IntRange(0, 8).Draw(t, "rules") {
			p.Syscalls = append(p.Syscalls, specs.LinuxSyscall{
				Names:  rapid.SliceOfN(rapid.SampledFrom(few), 1, 4).Draw(t, "names"),
				Action: rapid.SampledFrom(actions).Draw(t, "action"),
				Args:   rapid.SliceOfN(arg, 0, 3).Draw(t, "args"),
			})
		}
		filter, err := assembleProfile(p)
		if err != nil {
			t.Fatal(err)
		}
		arches := []*arch.Info{native}
		for _, a := range p.Architectures {
			if o := otherArch(a); o != nil {
				arches = append(arches, o)
			}
		}
		a := rapid.SampledFrom(arches).Draw(t, "arch")
		for _, name := range few {
			number, ok := a.SyscallNames[name]
			if !ok {
				continue
			}
			c := call{arch: uint32(a.ID), number: uint32(number)}
			for i := range c.args {
				c.args[i] = value.Draw(t, "arg")
			}
			if got, want := run(t, filter, c), expected(t, p, a, c); got != want {
				t.Fatalf("%s on %s: %#x, want %#x", name, a.Name, got, want)
			}
		}
	})
}

// The default profile as a filter: what every call gets, with several sets of
// capabilities; foreign architectures and x32 get nothing.
func TestStandardFilter(t *testing.T) {
	native := nativeArch()
	if native == nil {
		t.Skipf("no filters on %s", runtime.GOARCH)
	}
	for _, caps := range [][]string{nil, {"CAP_CHOWN", "CAP_SYS_CHROOT"}, {"CAP_SYS_ADMIN", "CAP_BPF"}} {
		p, err := profiles.GetDefaultProfile(processWith(caps))
		if err != nil {
			t.Fatal(err)
		}
		var f seccompFilters
		filter, err := f.standard(caps, false)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := f.standard(caps, false); err != nil || &again[0] != &filter[0] {
			t.Errorf("made anew: %v", err)
		}
		for number := range uint32(600) {
			for _, args := range [][6]uint64{{}, {unix.AF_VSOCK}, {unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, {^uint64(0)}} {
				c := call{arch: uint32(native.ID), number: number, args: args}
				if got, want := run(t, filter, c), expected(t, p, native, c); got != want {
					t.Errorf("%v: call %d (%s) %x: %#x, want %#x", caps, number, native.SyscallNumbers[int(number)], args[0], got, want)
				}
				c.arch = 1
				if got := run(t, filter, c); got&0xffff0000 != retErrno {
					t.Errorf("a foreign architecture's call %d: %#x", number, got)
				}
				c = call{arch: uint32(native.ID), number: number | x32Bit}
				if got := run(t, filter, c); got&0xffff0000 != retErrno {
					t.Errorf("x32 call %d: %#x", number, got)
				}
			}
		}
		t.Logf("%v: %d instructions", caps, len(filter)/8)
	}
}

// A profile that can not be applied is an error that says why; none is applied
// in part.
func TestBadProfiles(t *testing.T) {
	dir := t.TempDir()
	for body, want := range map[string]string{
		"":                                 "Decoding",
		"{}":                               "Unconfined",
		`{"defaultAction":"SCMP_ACT_FOO"}`: "SCMP_ACT_FOO",
		`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_NOTIFY"}]}`:                                          "read",
		`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":6,"op":"SCMP_CMP_EQ"}]}]}`:   "index 6",
		`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["read"],"action":"SCMP_ACT_ERRNO","args":[{"index":1,"op":"SCMP_CMP_LIKE"}]}]}`: "SCMP_CMP_LIKE",
		`{"defaultAction":"SCMP_ACT_ALLOW","listenerPath":"/run/x"}`:                                                                             "listenerPath",
	} {
		path := filepath.Join(dir, "p.json")
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := localFilter(path, nil, false); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "missing"), dir, "/dev/zero"} {
		if _, err := localFilter(path, nil, false); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// seccompOf runs a script in a container with a profile. `unshare --uts` stands
// for all that the default profile refuses.
func seccompOf(t *testing.T, g *rig, pod, handler, script string, edit func(*runtimeapi.LinuxContainerSecurityContext)) string {
	t.Helper()
	config := shell(script)
	edit(config.Linux.SecurityContext)
	id := g.begin(g.sandbox(pod, handler), config)
	g.wait(id)
	return g.output(id, "stdout")
}

const seccompMode = `sed -n 's/^Seccomp:[^0-9]*//p' /proc/self/status; `

// Every container has the default filter unless it asks for another or for
// none: as root and as an ordinary user, with and without no_new_privs, as any
// user, in what is executed in it later too.
func TestOrdinarySeccomp(t *testing.T) {
	g := newRig(t)
	if g.run.view.root == shim.RootNone {
		t.Skipf("no namespaces here: %v", g.run.view.warnings)
	}
	const userns = seccompMode + `unshare --user true 2>/dev/null && echo namespace; true`
	profile := func(typ runtimeapi.SecurityProfile_ProfileType, ref string) func(*runtimeapi.LinuxContainerSecurityContext) {
		return func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.Seccomp = &runtimeapi.SecurityProfile{ProfileType: typ, LocalhostRef: ref}
		}
	}
	denyMkdir := filepath.Join(t.TempDir(), "deny.json")
	if err := os.WriteFile(denyMkdir, []byte(`{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mkdir","mkdirat"],"action":"SCMP_ACT_ERRNO","errnoRet":95}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		script string
		edit   func(*runtimeapi.LinuxContainerSecurityContext)
		want   string
	}{
		"unset":             {userns, func(*runtimeapi.LinuxContainerSecurityContext) {}, "2\n"},
		"default":           {userns, profile(runtimeapi.SecurityProfile_RuntimeDefault, ""), "2\n"},
		"no-new-privileges": {userns, func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.NoNewPrivs = true }, "2\n"},
		"unconfined":        {userns, profile(runtimeapi.SecurityProfile_Unconfined, ""), "0\nnamespace\n"},
		"localhost": {
			seccompMode + `mkdir /tmp/made 2>&1 | grep -o 'not supported'; unshare --user true && echo namespace`,
			profile(runtimeapi.SecurityProfile_Localhost, denyMkdir), "2\nnot supported\nnamespace\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := seccompOf(t, g.in(t), name, "", tt.script, tt.edit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	config := shell("true")
	profile(runtimeapi.SecurityProfile_Localhost, "/nowhere/p.json")(config.Linux.SecurityContext)
	_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("missing", ""), Config: config})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "/nowhere/p.json") {
		t.Errorf("a profile that is not there: %v", err)
	}
	id := g.begin(g.sandbox("exec", ""), shell("sleep 1000"))
	if got := g.exec(id, "/bin/sh", "-c", userns); string(got.Stdout) != "2\n" {
		t.Errorf("exec: %q %q", got.Stdout, got.Stderr)
	}
	g.stop(id, 0)
}

// As root: the profile follows the capabilities, other users have it too, and
// privileged containers and those of RuntimeClass host keep what they are for.
func TestSeccompAsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	g := newRig(t)
	const uts = seccompMode + `unshare --uts true 2>/dev/null && echo namespace; true`
	for name, tt := range map[string]struct {
		handler string
		edit    func(*runtimeapi.LinuxContainerSecurityContext)
		want    string
	}{
		"user": {edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.RunAsUser = &runtimeapi.Int64Value{Value: 1000}
		}, want: "2\n"},
		"user-no-new-privileges": {edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.RunAsUser, sc.NoNewPrivs = &runtimeapi.Int64Value{Value: 1000}, true
		}, want: "2\n"},
		"sys-admin": {edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"SYS_ADMIN"}}
		}, want: "2\nnamespace\n"},
		"privileged": {edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.Privileged = true }, want: "0\nnamespace\n"},
		"host":       {handler: HandlerHost, edit: func(*runtimeapi.LinuxContainerSecurityContext) {}, want: "2\nnamespace\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := seccompOf(t, g.in(t), name, tt.handler, uts, tt.edit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	// Without no_new_privs a set-user-ID program still changes the user.
	config := shell(`cp /usr/bin/id /tmp/suid && chmod 4755 /tmp/suid && echo made; exec su -s /bin/sh nobody -c '/tmp/suid -un'`)
	id := g.begin(g.sandbox("suid", ""), config)
	g.wait(id)
	if got := g.output(id, "stdout"); got != "made\nroot\n" {
		t.Errorf("set-user-ID: %q; errors: %s", got, g.output(id, "stderr"))
	}
}
