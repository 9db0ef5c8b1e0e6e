// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

func needsRoot(t *testing.T, g *rig) {
	t.Helper()
	if g.run.view.root == shim.RootNone {
		t.Skipf("this machine does not let us build a root: %v", g.run.view.warnings)
	}
}

// Volumes appear at their mount paths, which need not exist on the machine;
// writing works where it is allowed, and what is written stays.
func TestVolumes(t *testing.T) {
	g := newRig(t)
	needsRoot(t, g)
	rw, ro, file, nested := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "message"), t.TempDir()
	for path, text := range map[string]string{filepath.Join(ro, "key"): "value", file: "", filepath.Join(nested, "n"): "nested"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := shell(`
		cat /config/key /data/in/n; echo
		echo written > /data/out || echo CANNOT WRITE
		echo x > /config/key2 2>/dev/null && echo WROTE TO READ-ONLY
		echo x >> /data/in/n 2>/dev/null && echo WROTE TO READ-ONLY
		printf 'last words' > /dev/termination-log`)
	// Out of order: the nested one first.
	withMount(config, nested, "/data/in", true)
	withMount(config, rw, "/data", false)
	withMount(config, ro, "/config", true)
	withMount(config, file, "/dev/termination-log", false)
	config.Annotations = map[string]string{terminationMessagePath: "/dev/termination-log"}
	id := g.begin(g.sandbox("p", ""), config)
	st := g.wait(id)
	if got, want := g.output(id, "stdout"), "valuenested\n"; got != want || st.ExitCode != 0 {
		t.Errorf("got %q code %d, want %q (stderr %q)", got, st.ExitCode, want, g.output(id, "stderr"))
	}
	if b, _ := os.ReadFile(filepath.Join(rw, "out")); string(b) != "written\n" {
		t.Errorf("the volume has %q", b)
	}
	if b, _ := os.ReadFile(file); string(b) != "last words" {
		t.Errorf("the termination message is %q", b)
	}
	if len(st.Mounts) != 4 {
		t.Errorf("%d mounts in the status", len(st.Mounts))
	}
	// Not looked for: /dev/termination-log, which a Pod of RuntimeClass host may have made meanwhile, and
	// /data, which a machine may well have.
	if _, err := os.Stat("/config"); err == nil {
		t.Error("/config was made on the machine")
	}
}

// A read-only volume is so with everything mounted below it.
func TestReadOnlyIsRecursive(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	g := newRig(t)
	needsRoot(t, g)
	// A tmpfs below a directory, as the kubelet has for medium: Memory.
	outer := "/dev/shm"
	config := withMount(shell(`echo x > /v/f 2>/dev/null && echo WROTE; echo x > /v/shm/f 2>/dev/null && echo WROTE BELOW; true`), filepath.Dir(outer), "/v", true)
	id := g.begin(g.sandbox("p", ""), config)
	g.wait(id)
	if got := g.output(id, "stdout"); got != "" {
		t.Errorf("%s", got)
	}
	os.Remove("/dev/shm/f")
}

// A mount path that is a symbolic link on the machine is followed inside the
// container's root.
func TestVolumeOverLink(t *testing.T) {
	g := newRig(t)
	needsRoot(t, g)
	v := t.TempDir()
	if err := os.WriteFile(filepath.Join(v, "token"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	// On nearly every machine /var/run is a link to /run.
	id := g.begin(g.sandbox("p", ""), withMount(shell(`cat /var/run/secrets/kubernetes.io/serviceaccount/token`), v, serviceAccountPath, true))
	g.wait(id)
	if got := g.output(id, "stdout"); got != "secret\n" {
		t.Errorf("got %q", got)
	}
}

// Writes outside volumes work and leave no trace on the machine: in the root,
// in directories of the machine, in /dev and in shared memory.
func TestWritesVanish(t *testing.T) {
	g := newRig(t)
	needsRoot(t, g)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	id := g.begin(g.sandbox("p", ""), shell(`set -e
		echo new > `+kept+`; cat `+kept+`
		echo x > `+dir+`/added; rm `+kept+`
		echo x > /carillon-test-trace || true
		echo x > /tmp/carillon-test-trace
		echo x > /dev/shm/carillon-test-trace
		echo x > /dev/carillon-test-trace
		ls `+dir))
	st := g.wait(id)
	if got := g.output(id, "stdout"); got != "new\nadded\n" {
		t.Errorf("code %d, got %q, stderr %q", st.ExitCode, got, g.output(id, "stderr"))
	}
	if b, err := os.ReadFile(kept); err != nil || string(b) != "old" {
		t.Errorf("the machine's file is %q (%v)", b, err)
	}
	for _, trace := range []string{filepath.Join(dir, "added"), "/carillon-test-trace", "/tmp/carillon-test-trace", "/dev/shm/carillon-test-trace", "/dev/carillon-test-trace"} {
		if _, err := os.Stat(trace); err == nil {
			t.Errorf("%s is on the machine", trace)
			os.Remove(trace)
		}
	}
	until(t, "the layer is thrown away", func() bool {
		_, err := os.Stat(filepath.Join(g.opts.RootDir, "containers", id, shim.LayerDir))
		return os.IsNotExist(err)
	})
}

// The state of this program, and what Options.Hidden names, is not to be seen
// by containers.
func TestHidden(t *testing.T) {
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "admin.conf"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := newRig(t)
	g.close()
	later := filepath.Join(t.TempDir(), "made", "later")
	g.opts.Hidden = []string{secret, "/no/such/dir", later}
	g.start()
	needsRoot(t, g)
	id := g.begin(g.sandbox("p", ""), shell(`ls -A `+secret+` `+g.opts.RootDir+` | grep -v :`))
	g.wait(id)
	if got := strings.TrimSpace(g.output(id, "stdout")); got != "" {
		t.Errorf("a container sees %q", got)
	}

	id = g.begin(g.sandbox("q", ""), shell(`echo begun; sleep 1000`))
	until(t, "it has begun", func() bool { return g.output(id, "stdout") == "begun\n" })
	if err := os.MkdirAll(later, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(later, "layer"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if resp := g.exec(id, "/bin/ls", "-A", later); len(resp.Stdout) > 0 {
		t.Errorf("a container sees what came later: %q", resp.Stdout)
	}
}

// readOnlyRootFilesystem leaves nothing writable but the volumes.
func TestReadOnlyRoot(t *testing.T) {
	g := newRig(t)
	needsRoot(t, g)
	v := t.TempDir()
	config := withMount(shell(`for d in / /etc /tmp /usr /var/tmp; do echo x > $d/carillon-test-trace 2>/dev/null && echo WROTE $d; done; echo x > /data/ok && echo volume`), v, "/data", false)
	config.Linux.SecurityContext.ReadonlyRootfs = true
	id := g.begin(g.sandbox("p", ""), config)
	g.wait(id)
	if got := g.output(id, "stdout"); got != "volume\n" {
		t.Errorf("got %q", got)
	}
}

// Masked and read-only paths of the security context are so, and /sys is
// read-only, unless the container is privileged.
func TestKernelPaths(t *testing.T) {
	g := newRig(t)
	needsRoot(t, g)
	config := shell(`cat /proc/version | head -c1; [ -w /proc/sys/kernel/domainname ] && echo WRITABLE PROC; mkdir /sys/fs/cgroup/x 2>/dev/null && echo WRITABLE SYS; echo done`)
	config.Linux.SecurityContext.MaskedPaths = []string{"/proc/version", "/proc/no-such", "/sys/firmware"}
	config.Linux.SecurityContext.ReadonlyPaths = []string{"/proc/sys", "/proc/no-such"}
	id := g.begin(g.sandbox("p", ""), config)
	g.wait(id)
	if got := g.output(id, "stdout"); got != "done\n" {
		t.Errorf("got %q", got)
	}
}

// RuntimeClass host works on the machine's files: what it writes stays, the
// host name and the processes are the machine's, and volumes appear where
// their path exists.
func TestHost(t *testing.T) {
	g := newRig(t)
	needsRoot(t, g)
	dir, v, at := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(v, "f"), []byte("volume"), 0o644); err != nil {
		t.Fatal(err)
	}
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	config := withMount(shell(`cat `+at+`/f; echo; hostname; echo stays > `+dir+`/made`), v, at, true)
	withMount(config, filepath.Join(v, "f"), etcHosts, false) // the machine's stays
	config.Command[2] += `; grep -c volume /etc/hosts`
	id := g.begin(g.sandbox("p", HandlerHost), config)
	g.wait(id)
	if got, want := g.output(id, "stdout"), "volume\n"+hostname+"\n0\n"; got != want {
		t.Errorf("got %q, want %q; stderr %q", got, want, g.output(id, "stderr"))
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "made")); string(b) != "stays\n" {
		t.Errorf("the machine has %q", b)
	}
	if entries, _ := os.ReadDir(at); len(entries) != 0 {
		t.Errorf("the volume is mounted on the machine: %v", entries)
	}
}

// A mount path that does not exist is refused for RuntimeClass host, with the
// cure; one in memory is made and taken away again; the kubelet's own mounts
// are left out.
func TestHostMountPaths(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("an ordinary user can not make directories there")
	}
	g := newRig(t)
	needsRoot(t, g)
	v := t.TempDir()
	missing := filepath.Join(t.TempDir(), "missing", "path")
	id := g.create(g.sandbox("a", HandlerHost), withMount(shell("true"), v, missing, false))
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
	if err == nil || !strings.Contains(err.Error(), "mkdir -p "+missing) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("it was made on the machine's disk")
	}

	config := withMount(shell("echo ran"), v, missing, false)
	config.Annotations = map[string]string{terminationMessagePath: missing}
	id = g.begin(g.sandbox("b", HandlerHost), config)
	if st := g.wait(id); st.ExitCode != 0 {
		t.Errorf("an implicit mount stopped the container: %s", st.Message)
	}

	const inMemory = "/dev/shm/carillon-test/deep/er"
	config = withMount(shell("echo x > "+inMemory+"/f; sleep 1000"), v, inMemory, false)
	id = g.begin(g.sandbox("c", HandlerHost), config)
	until(t, "the volume is written", func() bool { _, err := os.Stat(filepath.Join(v, "f")); return err == nil })
	if _, err := os.Stat(inMemory + "/f"); err == nil {
		t.Error("the volume is mounted on the machine")
	}
	for _, c := range mustList(t, g) {
		if _, err := g.rt.RemoveContainer(g.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: c}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat("/dev/shm/carillon-test"); err == nil {
		t.Error("the mount point is left in memory")
	}
	_ = id
}

func mustList(t *testing.T, g *rig) []string {
	t.Helper()
	resp, err := g.rt.ListContainers(g.ctx(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range resp.Containers {
		ids = append(ids, c.Id)
	}
	return ids
}

// dnsPolicy None brings its own resolv.conf; what the kubelet says for want of
// anything else is ignored.
func TestResolvConf(t *testing.T) {
	for name, tc := range map[string]struct {
		dns  *runtimeapi.DNSConfig
		want string
	}{
		"nothing":              {nil, ""},
		"the kubelet's excuse": {&runtimeapi.DNSConfig{Servers: []string{"127.0.0.1"}, Searches: []string{"."}}, ""},
		"own": {&runtimeapi.DNSConfig{Servers: []string{"192.0.2.53"}, Searches: []string{"a.example", "b.example"}, Options: []string{"ndots:5"}},
			"nameserver 192.0.2.53\nsearch a.example b.example\noptions ndots:5\n"},
	} {
		if got := resolvConf(tc.dns); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	g := newRig(t)
	needsRoot(t, g)
	config := g.sandboxConfig("p", 0)
	config.DnsConfig = &runtimeapi.DNSConfig{Servers: []string{"192.0.2.53"}}
	sb, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	id := g.begin(sb.PodSandboxId, shell("cat /etc/resolv.conf"))
	g.wait(id)
	if got := g.output(id, "stdout"); got != "nameserver 192.0.2.53\n" {
		t.Errorf("the container has %q", got)
	}
}
