// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// showRights prints what a process may do, as the kernel sees it.
const showRights = `grep -E '^(Cap|SigIgn|NoNewPrivs|Seccomp:)' /proc/self/status`

// rightsOf runs a container that prints its rights, and returns them by name.
func rightsOf(t *testing.T, g *rig, pod, handler string, edit func(*runtimeapi.LinuxContainerSecurityContext)) map[string]string {
	t.Helper()
	config := shell(showRights)
	edit(config.Linux.SecurityContext)
	id := g.begin(g.sandbox(pod, handler), config)
	g.wait(id)
	return parseRights(t, g.output(id, "stdout"))
}

func parseRights(t *testing.T, out string) map[string]string {
	t.Helper()
	rights := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			t.Fatalf("line %q", line)
		}
		rights[name] = strings.TrimSpace(value)
	}
	return rights
}

// mask is a set of capabilities as /proc shows it.
func mask(names ...string) string {
	var m uint64
	for _, n := range names {
		i := -1
		for j, known := range capabilityNames {
			if known == n {
				i = j
			}
		}
		m |= 1 << i
	}
	return fmt.Sprintf("%016x", m)
}

func ownBounding(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			return strings.TrimSpace(v)
		}
	}
	t.Fatal("no CapBnd")
	return ""
}

// ignore has this process ignore a signal that the Go runtime knows nothing of, so that its children do, too.
func ignore(t *testing.T, signal int) {
	t.Helper()
	set := func(new, old *[4]uint64) {
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	before, ignored := [4]uint64{}, [4]uint64{1} // SIG_IGN
	set(&ignored, &before)
	t.Cleanup(func() { set(&before, &ignored) })
}

// A container has the capabilities that it was given and no others, in none of
// the five sets of the kernel: the inheritable set would hand on what the
// bounding set was meant to keep.
func TestRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root; ordinary users have TestOrdinaryRights")
	}
	ignore(t, 34)
	g := newRig(t)
	none := mask()
	usual := mask("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "SETGID", "SETUID", "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")
	all := ownBounding(t)
	uid := &runtimeapi.Int64Value{Value: 1000}
	type want struct{ prm, bnd, amb string }
	for name, tt := range map[string]struct {
		handler string
		edit    func(*runtimeapi.LinuxContainerSecurityContext)
		want    want
	}{
		"default": {edit: func(*runtimeapi.LinuxContainerSecurityContext) {}, want: want{usual, usual, none}},
		"other user": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser = uid },
			want: want{none, usual, none},
		},
		"no new privileges": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.RunAsUser, sc.NoNewPrivs = uid, true },
			want: want{none, usual, none},
		},
		"added and dropped": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
				sc.Capabilities = &runtimeapi.Capability{DropCapabilities: []string{"ALL"}, AddCapabilities: []string{"CHOWN", "NET_RAW", "MKNOD"}}
			},
			want: want{mask("CHOWN", "NET_RAW", "MKNOD"), mask("CHOWN", "NET_RAW", "MKNOD"), none},
		},
		"all dropped": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
				sc.Capabilities = &runtimeapi.Capability{DropCapabilities: []string{"ALL"}}
			},
			want: want{none, none, none},
		},
		"ambient": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) {
				sc.RunAsUser = uid
				sc.Capabilities = &runtimeapi.Capability{AddAmbientCapabilities: []string{"NET_BIND_SERVICE"}}
			},
			want: want{mask("NET_BIND_SERVICE"), usual, mask("NET_BIND_SERVICE")},
		},
		"privileged": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.Privileged = true },
			want: want{all, all, none},
		},
		"privileged as another user": {
			edit: func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.Privileged, sc.RunAsUser = true, uid },
			want: want{none, all, none},
		},
		"host": {handler: HandlerHost, edit: func(*runtimeapi.LinuxContainerSecurityContext) {}, want: want{all, all, none}},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			got := rightsOf(t, g, strings.ReplaceAll(name, " ", "-"), tt.handler, tt.edit)
			inh := none
			if tt.want.amb != none {
				inh = tt.want.amb // the kernel keeps ambient capabilities inheritable
			}
			for set, want := range map[string]string{"CapInh": inh, "CapPrm": tt.want.prm, "CapEff": tt.want.prm, "CapBnd": tt.want.bnd, "CapAmb": tt.want.amb, "SigIgn": none} {
				if got[set] != want {
					t.Errorf("%s is %s, want %s", set, got[set], want)
				}
			}
		})
	}
}

// An ordinary user's container has no capability, and nothing that it executes
// gets one, although its supervisor has all of them in its user namespace.
func TestOrdinaryRights(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("runs as an ordinary user")
	}
	g := newRig(t)
	if g.run.view.root != shim.RootUser {
		t.Skipf("no user namespaces here: %v", g.run.view.warnings)
	}
	for i, edit := range []func(*runtimeapi.LinuxContainerSecurityContext){
		func(*runtimeapi.LinuxContainerSecurityContext) {},
		func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.NoNewPrivs = true },
		func(sc *runtimeapi.LinuxContainerSecurityContext) {
			sc.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"ALL"}}
		},
	} {
		got := rightsOf(t, g, "p"+strconv.Itoa(i), "", edit)
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "SigIgn"} {
			if got[set] != mask() {
				t.Errorf("%d: %s is %s", i, set, got[set])
			}
		}
	}
}

// Who may make device nodes still reaches no disk with one: no place that a
// container can write takes them for what they stand for. The devices that
// every program expects work.
func TestDevices(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("makes device nodes")
	}
	g := newRig(t)
	const tryNodes = `for d in /tmp /dev /usr/lib /vol /dev/shm; do
  mknod $d/node c 1 5 || echo "no node in $d"
  if head -c 1 $d/node >/dev/null 2>&1; then echo "opened in $d"; fi
done
for d in null zero full random urandom; do [ -c /dev/$d ] || echo "no $d"; done
echo x >/dev/null || echo null; head -c 4 /dev/zero | od -An -tx1; head -c 4 /dev/urandom | wc -c; echo x 2>/dev/null >/dev/full || echo full; (: </dev/tty) 2>&1 | grep -c 'No such device or address'`
	config := withMount(shell(tryNodes), t.TempDir(), "/vol", false)
	config.Linux.SecurityContext.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"MKNOD"}}
	id := g.begin(g.sandbox("mknod", ""), config)
	g.wait(id)
	if got, want := g.output(id, "stdout"), " 00 00 00 00\n4\nfull\n1\n"; got != want {
		t.Errorf("with MKNOD: got %q, want %q; errors: %s", got, want, g.output(id, "stderr"))
	}

	config = shell(`mknod /tmp/node c 1 5 2>/dev/null && echo made; true`)
	id = g.begin(g.sandbox("default", ""), config)
	g.wait(id)
	if got := g.output(id, "stdout"); got != "" {
		t.Errorf("a container made a device node: %q", got)
	}

	config = shell(`mknod /tmp/node c 1 5 && head -c 1 /tmp/node | wc -c`)
	config.Linux.SecurityContext.Privileged = true
	id = g.begin(g.sandbox("privileged", ""), config)
	g.wait(id)
	if got := g.output(id, "stdout"); got != "1\n" {
		t.Errorf("privileged: got %q; errors: %s", got, g.output(id, "stderr"))
	}

	// A volume from the machine's /dev is there for its devices, one that only
	// holds it somewhere below too.
	for _, v := range []struct{ source, node string }{{"/dev", "/vol/zero"}, {"/dev/zero", "/vol"}, {"/", "/vol/dev/zero"}} {
		id = g.begin(g.sandbox("volume"+strings.ReplaceAll(v.source, "/", "-"), ""), withMount(shell("head -c 1 "+v.node+" | wc -c"), v.source, "/vol", false))
		g.wait(id)
		if got := g.output(id, "stdout"); got != "1\n" {
			t.Errorf("volume from %s: got %q; errors: %s", v.source, got, g.output(id, "stderr"))
		}
	}
}

// A container that forks without end meets its limit, and others go on. The
// devices that it does not show can not be opened, whoever made the node: this
// is a guard of its own, and works without nodev.
func TestProcessAndDeviceLimits(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs cgroups that can be written")
	}
	g := newRig(t)
	g.run.opts.PIDsMax = 20
	if g.run.cgroups.v1["pids"] == "" && g.run.cgroups.unified == "" {
		t.Skipf("no cgroups for processes here: %v", g.run.view.warnings)
	}
	id := g.begin(g.sandbox("forks", ""), shell(`i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done 2>/dev/null; echo all; wait`))
	st := g.wait(id)
	if st.ExitCode == 0 || strings.Contains(g.output(id, "stdout"), "all") {
		t.Errorf("40 processes were started: %v", st)
	}
	id = g.begin(g.sandbox("other", ""), shell(`for i in 1 2 3 4 5; do sleep 0 & done; wait; echo fine`))
	if st := g.wait(id); st.ExitCode != 0 || g.output(id, "stdout") != "fine\n" {
		t.Errorf("another container: %v %q", st, g.output(id, "stderr"))
	}

	devices := g.run.cgroups.v1[devicesController]
	if devices == "" {
		t.Skip("the devices of cgroups are not to be had here")
	}
	id = g.begin(g.sandbox("devices", ""), shell("exec sleep 1000"))
	list, err := os.ReadFile(devices + "/" + id + "/devices.list")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(list), "c 1:3 rwm") || strings.Contains(string(list), "a *:*") || strings.Contains(string(list), "b *:* r") {
		t.Errorf("allowed devices:\n%s", list)
	}
	procs, err := os.ReadFile(devices + "/" + id + "/cgroup.procs")
	if err != nil || len(strings.Fields(string(procs))) != 1 {
		t.Errorf("in the cgroup: %q, %v", procs, err)
	}
	g.stop(id, 0)
	// A device that a volume names may be opened, one that lies on it somewhere
	// may not.
	if _, err := os.Stat("/dev/kmsg"); err != nil {
		t.Skip("no /dev/kmsg")
	}
	for pod, want := range map[string]string{"/": "closed\n", "/dev/kmsg": "open\n"} {
		config := withMount(shell(`n=/vol/dev/kmsg; [ -c /vol ] && n=/vol; if (: <$n) 2>/dev/null; then echo open; else echo closed; fi`), pod, "/vol", false)
		config.Linux.SecurityContext.Capabilities = &runtimeapi.Capability{AddCapabilities: []string{"SYSLOG"}}
		id := g.begin(g.sandbox("volume"+strings.ReplaceAll(pod, "/", "-"), ""), config)
		g.wait(id)
		if got := g.output(id, "stdout"); got != want {
			t.Errorf("/dev/kmsg on a volume from %s: %q, want %q", pod, got, want)
		}
	}
}

// Without namespaces an ordinary user's containers have the filter all the
// same, and the promise to gain no privileges that the kernel wants for it;
// those of RuntimeClass host, which are to run programs such as sudo, only with
// that promise.
func TestOrdinaryRightsWithoutNamespaces(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("runs as an ordinary user")
	}
	g := newRig(t)
	host := rightsOf(t, g, "host", HandlerHost, func(*runtimeapi.LinuxContainerSecurityContext) {})
	if host["Seccomp"] != "0" || host["NoNewPrivs"] != "0" {
		t.Errorf("RuntimeClass host: %v", host)
	}
	host = rightsOf(t, g, "host-promised", HandlerHost, func(sc *runtimeapi.LinuxContainerSecurityContext) { sc.NoNewPrivs = true })
	if host["Seccomp"] != "2" || host["NoNewPrivs"] != "1" {
		t.Errorf("RuntimeClass host without privilege escalation: %v", host)
	}
	g.run.view.root, g.run.view.pids, g.run.view.user = shim.RootNone, false, false
	plain := rightsOf(t, g, "plain", "", func(*runtimeapi.LinuxContainerSecurityContext) {})
	if plain["Seccomp"] != "2" || plain["NoNewPrivs"] != "1" {
		t.Errorf("without namespaces: %v", plain)
	}
}
