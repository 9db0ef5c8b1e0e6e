// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const mebibyte = 1 << 20

var statsSpecs = []spec{
	{name: "ContainerStats tells what a container uses: time, memory and disk", run: func(c *check) {
		config := c.container("spin", "take:20")
		config.Labels = map[string]string{"app": "specs"}
		ctr := c.beginWaiting(c.sandbox(), config)
		// Some runtimes look at what is used every few seconds only.
		var st *runtimeapi.ContainerStats
		c.until("all of it is told", func() bool {
			resp, err := c.runtime.ContainerStats(c.ctx(), &runtimeapi.ContainerStatsRequest{ContainerId: ctr.id})
			c.must(err)
			st = resp.Stats
			return st.GetCpu().GetUsageCoreNanoSeconds().GetValue() > 10e6 && st.GetMemory().GetWorkingSetBytes().GetValue() > 10*mebibyte && st.GetWritableLayer().GetTimestamp() > 0
		})
		c.equal("ID", st.Attributes.Id, ctr.id)
		c.equal("name", st.Attributes.Metadata.Name, config.Metadata.Name)
		c.equal("labels", st.Attributes.Labels, config.Labels)
		if st.Cpu.Timestamp <= 0 || st.Memory.Timestamp <= 0 || st.WritableLayer.GetFsId().GetMountpoint() == "" {
			c.Errorf("%v", st)
		}
	}},
	{name: "ContainerStats of a container that is not there is an error", run: func(c *check) {
		_, err := c.runtime.ContainerStats(c.ctx(), &runtimeapi.ContainerStatsRequest{ContainerId: unique("nothing")})
		c.refused("it", err)
	}},
	{name: "ListContainerStats has running containers by ID, sandbox and labels", run: func(c *check) {
		run, p := unique("run"), c.sandbox()
		labelled := func(color string) *runtimeapi.ContainerConfig {
			config := c.container()
			config.Labels = map[string]string{"run": run, "color": color}
			return config
		}
		red, blue := c.beginWaiting(p, labelled("red")), c.beginWaiting(p, labelled("blue"))
		for _, tc := range []struct {
			filter *runtimeapi.ContainerStatsFilter
			want   []string
		}{
			{&runtimeapi.ContainerStatsFilter{PodSandboxId: p.id}, []string{red.id, blue.id}},
			{&runtimeapi.ContainerStatsFilter{Id: red.id}, []string{red.id}},
			{&runtimeapi.ContainerStatsFilter{LabelSelector: map[string]string{"run": run, "color": "blue"}}, []string{blue.id}},
			{&runtimeapi.ContainerStatsFilter{Id: red.id, LabelSelector: map[string]string{"color": "blue"}}, nil},
		} {
			resp, err := c.runtime.ListContainerStats(c.ctx(), &runtimeapi.ListContainerStatsRequest{Filter: tc.filter})
			c.must(err)
			var ids []string
			for _, st := range resp.Stats {
				ids = append(ids, st.Attributes.Id)
			}
			slices.Sort(ids)
			slices.Sort(tc.want)
			c.equal(tc.filter.String(), ids, tc.want)
		}
	}},
	{name: "PodSandboxStats tells what a sandbox and each of its containers use", run: func(c *check) {
		c.needsCgroupParent()
		p := c.sandbox()
		ctr := c.beginWaiting(p, c.container("spin", "take:20"))
		c.until("all of it is told", func() bool {
			resp, err := c.runtime.PodSandboxStats(c.ctx(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: p.id})
			c.needs("PodSandboxStats", err)
			c.must(err)
			linux := resp.Stats.GetLinux()
			if len(linux.GetContainers()) != 1 {
				return false
			}
			c.equal("sandbox", resp.Stats.Attributes.Id, p.id)
			c.equal("container", linux.Containers[0].Attributes.Id, ctr.id)
			return linux.GetMemory().GetWorkingSetBytes().GetValue() > 10*mebibyte && linux.GetCpu().GetUsageCoreNanoSeconds().GetValue() > 0 && linux.GetProcess().GetProcessCount().GetValue() >= 1
		})
	}},
	{name: "ListPodSandboxStats has sandboxes by ID and labels", run: func(c *check) {
		c.needsCgroupParent()
		config := c.sandboxConfig()
		config.Labels = map[string]string{"run": unique("run")}
		p := c.runSandbox(config)
		c.sandbox()
		for _, filter := range []*runtimeapi.PodSandboxStatsFilter{{Id: p.id}, {LabelSelector: config.Labels}} {
			resp, err := c.runtime.ListPodSandboxStats(c.ctx(), &runtimeapi.ListPodSandboxStatsRequest{Filter: filter})
			c.needs("ListPodSandboxStats", err)
			c.must(err)
			if len(resp.Stats) != 1 || resp.Stats[0].Attributes.Id != p.id {
				c.Errorf("%v: %v", filter, resp.Stats)
			}
		}
	}},
	{name: "a container that uses more memory than its limit is killed, and the reason is OOMKilled", run: func(c *check) {
		config := c.container("take:200")
		config.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 64 * mebibyte, MemorySwapLimitInBytes: 64 * mebibyte}
		st := c.wait(c.begin(c.sandbox(), config))
		if st.ExitCode == 0 {
			c.Skip("limits are not enforced on this machine")
		}
		c.equal("reason and code", []any{st.Reason, st.ExitCode}, []any{"OOMKilled", killed})
	}},
	{name: "limits of a running container can be changed", run: func(c *check) {
		config := c.container()
		config.Linux.Resources = &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 64 * mebibyte, CpuShares: 100, CpuPeriod: 100000, CpuQuota: 50000}
		ctr := c.beginWaiting(c.sandbox(), config)
		_, err := c.runtime.UpdateContainerResources(c.ctx(), &runtimeapi.UpdateContainerResourcesRequest{ContainerId: ctr.id, Linux: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 128 * mebibyte, CpuShares: 200, CpuPeriod: 100000, CpuQuota: 80000}})
		if err != nil && c.ordinary {
			c.Skipf("limits are not enforced on this machine: %v", err)
		}
		c.must(err)
		st := c.status(ctr).GetResources().GetLinux()
		if st == nil {
			c.Skip("this runtime does not tell limits")
		}
		c.equal("limits", []int64{st.MemoryLimitInBytes, st.CpuShares, st.CpuQuota}, []int64{128 * mebibyte, 200, 80000})
	}},
	{name: "limits of a container that is not there cannot be changed", run: func(c *check) {
		_, err := c.runtime.UpdateContainerResources(c.ctx(), &runtimeapi.UpdateContainerResourcesRequest{ContainerId: unique("nothing"), Linux: &runtimeapi.LinuxContainerResources{CpuShares: 100}})
		c.refused("it", err)
	}},
}
