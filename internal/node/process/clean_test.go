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

	"github.com/carillon-dev/carillon/internal/mounts"
)

// nothingLeft checks that no trace of any container is on the machine.
func (g *rig) nothingLeft() {
	g.t.Helper()
	for _, dir := range []string{"containers", "sandboxes"} {
		entries, err := os.ReadDir(filepath.Join(g.opts.RootDir, dir))
		if err != nil || len(entries) > 0 {
			g.t.Errorf("%s: %v %v", dir, entries, err)
		}
	}
	if points, err := mounts.Below(g.opts.RootDir); err != nil || len(points) > 0 {
		g.t.Errorf("mounts are left: %q %v", points, err)
	}
	bases := []string{g.run.cgroups.unified}
	for _, dir := range g.run.cgroups.v1 {
		bases = append(bases, dir)
	}
	for _, base := range bases {
		entries, _ := os.ReadDir(base)
		for _, e := range entries {
			if e.IsDir() && validID(e.Name()) {
				g.t.Errorf("the cgroup %s/%s is left", base, e.Name())
			}
		}
	}
	procs, err := os.ReadDir("/proc")
	if err != nil {
		g.t.Fatal(err)
	}
	for _, p := range procs {
		env, err := os.ReadFile("/proc/" + p.Name() + "/environ")
		if err == nil && strings.Contains(string(env), g.opts.RootDir) {
			cmd, _ := os.ReadFile("/proc/" + p.Name() + "/cmdline")
			g.t.Errorf("process %s is left: %q", p.Name(), cmd)
		}
	}
}

// When a Pod is removed nothing of it stays, whatever it did: no process,
// mount, cgroup or directory.
func TestNothingStays(t *testing.T) {
	g := newRig(t)
	limits := &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 256 << 20, CpuQuota: 50000, CpuPeriod: 100000, CpuShares: 512}
	for name, tc := range map[string]struct {
		handler string
		config  *runtimeapi.ContainerConfig
		stop    bool
	}{
		"ended":              {"", shell("true"), false},
		"running":            {"", shell("sleep 1000"), false},
		"stopped":            {"", shell("sleep 1000"), true},
		"host":               {HandlerHost, shell("(setsid sleep 1000 &); sleep 1000"), false},
		"with-limits":        {"", shell("sleep 1000"), false},
		"odd-files":          {"", shell(`mkdir -p /tmp/a/b && echo x > /tmp/a/b/c && chmod 0 /tmp/a/b/c /tmp/a/b /tmp/a; mkfifo /tmp/f; rm -rf /etc/passwd; true`), false},
		"never-started":      {"", nil, false},
		"could-not-start":    {"", shell("true"), false},
		"privileged-mounter": {"", shell("mkdir -p /tmp/m; mount -t tmpfs t /tmp/m || true; sleep 1000"), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := g.in(t)
			sb := g.sandbox(name, tc.handler)
			switch name {
			case "never-started":
				g.create(sb, shell("true"))
			case "could-not-start":
				tc.config.WorkingDir = "/no/such"
				id := g.create(sb, tc.config)
				if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err == nil {
					t.Error("started")
				}
			default:
				if name == "with-limits" {
					tc.config.Linux.Resources = limits
				}
				if name == "privileged-mounter" {
					tc.config.Linux.SecurityContext.Privileged = true
				}
				id := g.begin(sb, tc.config)
				if name == "ended" || name == "odd-files" {
					g.wait(id)
				}
				if tc.stop {
					g.stop(id, 0)
				}
			}
			for range 2 { // twice is no error
				if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
					t.Fatal(err)
				}
			}
			g.nothingLeft()
		})
	}
}

// Limits reach the container where cgroups can be written: one that takes too
// much memory is killed, and says so.
func TestMemoryLimit(t *testing.T) {
	g := newRig(t)
	if g.run.cgroups.unified == "" && g.run.cgroups.v1["memory"] == "" {
		t.Skip("the memory cgroup of this machine can not be written")
	}
	config := shell("")
	config.Command = []string{"/bin/sh", "-c", `exec dd if=/dev/zero of=/dev/null bs=300M count=1`}
	config.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 32 << 20}
	id := g.begin(g.sandbox("p", ""), config)
	st := g.wait(id)
	if st.ExitCode != 137 || st.Reason != "OOMKilled" {
		t.Errorf("code %d reason %q: %s", st.ExitCode, st.Reason, g.output(id, "stderr"))
	}
	if got := st.GetResources().GetLinux().GetMemoryLimitInBytes(); got != 32<<20 {
		t.Errorf("the status says %d", got)
	}

	config = shell("sleep 1000")
	config.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 64 << 20, CpuQuota: 20000, CpuPeriod: 100000, CpuShares: 100}
	id = g.begin(g.sandbox("q", ""), config)
	dirs := g.run.containers[id].rec.Cgroups
	if len(dirs) == 0 {
		t.Fatal("no cgroups")
	}
	pids := 0
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			t.Fatal(err)
		}
		pids += len(strings.Fields(string(b)))
	}
	if pids < len(dirs) {
		t.Errorf("%d processes in %d cgroups", pids, len(dirs))
	}
	if _, err := g.rt.UpdateContainerResources(g.ctx(), &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Linux: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 128 << 20, CpuQuota: 40000, CpuPeriod: 100000, CpuShares: 200}}); err != nil {
		t.Error(err)
	}
	found := false
	for _, dir := range dirs {
		for _, file := range []string{"memory.max", "memory.limit_in_bytes"} {
			if b, err := os.ReadFile(filepath.Join(dir, file)); err == nil {
				found = strings.TrimSpace(string(b)) == "134217728"
			}
		}
	}
	if !found {
		t.Error("the new limit is not there")
	}
}

// The cgroups of the unified hierarchy hold the container's processes, kill
// them and go away, without a controller, too.
func TestUnifiedCgroup(t *testing.T) {
	g := newRig(t)
	table, err := mounts.Table()
	if err != nil {
		t.Fatal(err)
	}
	unified, _ := cgroupMounts(table)
	base := filepath.Join(unified, g.run.opts.CgroupName+"-test")
	if unified == "" || os.Mkdir(base, 0o755) != nil {
		t.Skip("the unified cgroups of this machine can not be written")
	}
	defer os.Remove(base)
	before := g.run.cgroups
	defer func() { g.run.cgroups = before }()
	g.run.cgroups = cgroups{unified: base}
	for _, handler := range []string{"", HandlerHost} {
		config := shell(`(setsid sleep 1000 &) ; cat /proc/self/cgroup; echo ready; sleep 1000`)
		config.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 1 << 30}
		sb := g.sandbox("p"+handler, handler)
		id := g.begin(sb, config)
		until(t, "it runs", func() bool { return strings.HasSuffix(g.output(id, "stdout"), "ready\n") })
		if out := g.output(id, "stdout"); !strings.Contains(out, "/"+id+"\n") {
			t.Errorf("handler %q: it is in %q", handler, out)
		}
		if resp := g.exec(id, "cat", "/proc/self/cgroup"); !strings.Contains(string(resp.Stdout), "/"+id+"\n") {
			t.Errorf("handler %q: an exec is in %q", handler, resp.Stdout)
		}
		g.stop(id, 0)
		if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
			t.Fatal(err)
		}
	}
	g.nothingLeft()
}
