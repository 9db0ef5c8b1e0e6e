// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/mounts"
	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// Records of any content are read or refused, without a panic; what is
// accepted names a directory of ours and can be shown.
func FuzzRecords(f *testing.F) {
	config, _ := protoJSON(&runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "main", Attempt: 2}, Labels: map[string]string{"a": "b"}})
	rec, _ := json.Marshal(containerRecord{ID: newID(), Sandbox: newID(), CreatedAt: 1, Config: config})
	f.Add(rec)
	config, _ = protoJSON(&runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "p", Uid: "u"}})
	rec, _ = json.Marshal(sandboxRecord{ID: newID(), CreatedAt: 1, Config: config})
	f.Add(rec)
	f.Add([]byte(`{"id":"../../etc","config":{"metadata":{}}}`))
	f.Add([]byte(`{"id":"00000000000000000000000000000000","sandbox":"00000000000000000000000000000000","config":{"metadata":{},"linux":null}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := parseContainer(b); err == nil {
			if !validID(c.rec.ID) || !validID(c.rec.Sandbox) {
				t.Errorf("accepted IDs %q %q", c.rec.ID, c.rec.Sandbox)
			}
			if st := c.status(); st.Metadata == nil {
				t.Error("no metadata")
			}
		}
		if s, err := parseSandbox(b); err == nil && (!validID(s.rec.ID) || s.config.GetMetadata() == nil) {
			t.Errorf("accepted %+v", s.rec)
		}
	})
}

// The environment of a container is not kept after its creation but for the
// shim, which takes it away when it has read it.
func TestSecretsAreNotKept(t *testing.T) {
	g := newRig(t)
	config := shell("sleep 1000")
	config.Envs = []*runtimeapi.KeyValue{{Key: "PASSWORD", Value: []byte("tr0ub4dor")}}
	id := g.begin(g.sandbox("p", ""), config)
	dir := g.run.containers[id].dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if b, err := os.ReadFile(dir + "/" + e.Name()); err == nil && strings.Contains(string(b), "tr0ub4dor") {
			t.Errorf("%s holds the secret", e.Name())
		}
	}
	if info, _ := os.Stat(g.opts.RootDir); info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory has mode %v", info.Mode())
	}
	if info, _ := os.Stat(g.opts.Socket); info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v", info.Mode())
	}
}

// Options that can not work are refused with the reason.
func TestOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		opts Options
		says string
	}{
		"no directory":    {Options{}, "RootDir"},
		"long socket":     {Options{RootDir: "/" + strings.Repeat("x", 120)}, "107"},
		"bad API server":  {Options{RootDir: "/x", APIServer: "nonsense"}, "host:port"},
		"bad Pod address": {Options{RootDir: "/x", PodIP: "nonsense"}, "PodIP"},
	} {
		if _, err := New(tc.opts); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Resources of the CRI become the right files of either kind of cgroup.
func TestCgroupPlan(t *testing.T) {
	res := &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 1 << 20, MemorySwapLimitInBytes: 1 << 20, CpuQuota: 50000, CpuShares: 1024, Unified: map[string]string{"memory.oom.group": "1", "../escape": "1"}}
	type v = shim.CgroupValue
	for name, tc := range map[string]struct {
		cg      cgroups
		res     *runtimeapi.LinuxContainerResources
		pids    int64
		devices []string
		want    *shim.Cgroup
	}{
		"unified": {cgroups{unified: "/cg"}, res, 7, []string{"c 1:3 r"}, &shim.Cgroup{Dirs: []shim.CgroupDir{{Path: "/cg/id", Unified: true, Files: []v{
			{File: "pids.max", Value: "7"}, {File: "memory.max", Value: "1048576"}, {File: "memory.swap.max", Value: "0"}, {File: "cpu.max", Value: "50000 100000"}, {File: "cpu.weight", Value: "100"}, {File: "memory.oom.group", Value: "1"},
		}}}}},
		"old": {cgroups{v1: map[string]string{"memory": "/m", "cpu": "/c", "pids": "/p", "devices": "/d"}}, res, 7, []string{"c 1:3 r"}, &shim.Cgroup{Dirs: []shim.CgroupDir{
			{Path: "/c/id", Files: []v{{File: "cpu.shares", Value: "1024"}, {File: "cpu.cfs_period_us", Value: "100000"}, {File: "cpu.cfs_quota_us", Value: "50000"}}},
			{Path: "/d/id", Files: []v{{File: "devices.deny", Value: "a"}, {File: "devices.allow", Value: "c 1:3 r"}}},
			{Path: "/m/id", Files: []v{{File: "memory.limit_in_bytes", Value: "1048576"}, {File: "memory.memsw.limit_in_bytes", Value: "1048576"}}},
			{Path: "/p/id", Files: []v{{File: "pids.max", Value: "7"}}},
		}}},
		"all devices, any number": {cgroups{v1: map[string]string{"memory": "/m", "pids": "/p", "devices": "/d"}}, nil, -1, nil, &shim.Cgroup{Dirs: []shim.CgroupDir{{Path: "/p/id"}}}},
		"no cgroups":              {cgroups{}, res, 7, []string{"c 1:3 r"}, nil},
	} {
		if diff := cmp.Diff(tc.want, tc.cg.plan("id", tc.res, tc.pids, tc.devices)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The mounts and paths of cgroups are read from either kind of machine.
func TestFindCgroups(t *testing.T) {
	read := func(text string) []mounts.Mount {
		table, err := mounts.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	unified, old := cgroupMounts(read("31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"))
	if unified != "/sys/fs/cgroup" || len(old) != 0 {
		t.Errorf("%q %v", unified, old)
	}
	unified, old = cgroupMounts(read("32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n33 31 0:30 / /cg/memory rw - cgroup cgroup rw,memory\n34 31 0:31 / /cg/unified rw - cgroup2 c rw\n"))
	if diff := cmp.Diff(map[string]string{"cpu": "/cg/cpu", "memory": "/cg/memory"}, old); diff != "" || unified != "/cg/unified" {
		t.Errorf("%q %s", unified, diff)
	}
}

// The least and the most that can be asked for, and the default, keep their places: 2 is 1, 1024 is 100, 262144 is
// 10000.
func TestCPUWeight(t *testing.T) {
	for shares, want := range map[int64][]shim.CgroupValue{
		0: nil, 1: nil, 2: {{File: "cpu.weight", Value: "1"}}, 102: {{File: "cpu.weight", Value: "17"}},
		1024: {{File: "cpu.weight", Value: "100"}}, 262144: {{File: "cpu.weight", Value: "10000"}}, 1 << 40: {{File: "cpu.weight", Value: "10000"}},
	} {
		if diff := cmp.Diff(want, unifiedValues(&runtimeapi.LinuxContainerResources{CpuShares: shares})); diff != "" {
			t.Errorf("%d shares (-want +got):\n%s", shares, diff)
		}
	}
}

// Adding and dropping capabilities means what it says, in any spelling and
// order.
func TestCapabilities(t *testing.T) {
	index := func(n string) int { return slices.Index(capabilityNames, n) }
	for name, tc := range map[string]struct {
		caps *runtimeapi.Capability
		root shim.Root
		has  []string
		not  []string
	}{
		"usual":         {nil, shim.RootOverlay, []string{"CHOWN", "KILL"}, []string{"SYS_ADMIN", "NET_ADMIN"}},
		"host":          {nil, shim.RootHost, []string{"CHOWN", "SYS_ADMIN"}, nil},
		"host drops":    {&runtimeapi.Capability{DropCapabilities: []string{"SYS_ADMIN"}}, shim.RootHost, []string{"CHOWN"}, []string{"SYS_ADMIN"}},
		"add":           {&runtimeapi.Capability{AddCapabilities: []string{"cap_sys_admin"}}, shim.RootOverlay, []string{"SYS_ADMIN", "CHOWN"}, nil},
		"drop all, add": {&runtimeapi.Capability{DropCapabilities: []string{"ALL"}, AddCapabilities: []string{"CHOWN"}}, shim.RootOverlay, []string{"CHOWN"}, []string{"KILL"}},
		"add all, drop": {&runtimeapi.Capability{AddCapabilities: []string{"ALL"}, DropCapabilities: []string{"CHOWN"}}, shim.RootOverlay, []string{"SYS_ADMIN"}, []string{"CHOWN"}},
	} {
		limit, keep, _, err := capabilities(&runtimeapi.LinuxContainerSecurityContext{Capabilities: tc.caps}, tc.root)
		if err != nil || !limit {
			t.Errorf("%s: %v %v", name, limit, err)
		}
		for _, n := range tc.has {
			if !slices.Contains(keep, index(n)) {
				t.Errorf("%s: without %s", name, n)
			}
		}
		for _, n := range tc.not {
			if slices.Contains(keep, index(n)) {
				t.Errorf("%s: with %s", name, n)
			}
		}
	}
	if limit, _, _, _ := capabilities(&runtimeapi.LinuxContainerSecurityContext{Privileged: true}, shim.RootOverlay); limit {
		t.Error("a privileged container is limited")
	}
}
