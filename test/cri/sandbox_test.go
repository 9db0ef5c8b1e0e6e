// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	ready    = runtimeapi.PodSandboxState_SANDBOX_READY
	notReady = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
)

var sandboxSpecs = []spec{
	{name: "a sandbox is ready once it was run, and its status says what it was made of", run: func(c *check) {
		before := time.Now().Add(-time.Second) // clocks of files and of processes are not the same
		config := c.sandboxConfig()
		config.Labels = map[string]string{"app": "specs", "with/prefix": ""}
		config.Annotations = map[string]string{"note": "some text\nwith lines", "empty": ""}
		config.Metadata.Attempt = 3
		p := c.runSandbox(config)
		st := c.sandboxStatus(p)
		c.equal("ID", st.Id, p.id)
		c.equal("state", st.State, ready)
		c.equal("labels", st.Labels, config.Labels)
		c.equal("annotations", st.Annotations, config.Annotations)
		if !proto.Equal(st.Metadata, config.Metadata) {
			c.Errorf("metadata %v", st.Metadata)
		}
		if at := time.Unix(0, st.CreatedAt); at.Before(before) || at.After(time.Now().Add(time.Second)) {
			c.Errorf("created at %v", at)
		}
		options := st.GetLinux().GetNamespaces().GetOptions()
		c.equal("network", options.GetNetwork(), runtimeapi.NamespaceMode_NODE)
		c.equal("processes", options.GetPid(), runtimeapi.NamespaceMode_CONTAINER)
		c.equal("handler", st.RuntimeHandler, c.handler)
	}},
	{name: "a verbose status of a sandbox says more, in JSON", run: func(c *check) {
		p := c.sandbox()
		for _, verbose := range []bool{false, true} {
			resp, err := c.runtime.PodSandboxStatus(c.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.id, Verbose: verbose})
			c.must(err)
			if verbose {
				c.checkInfo(resp.Info)
			} else if len(resp.Info) > 0 {
				c.Errorf("more than was asked for: %v", resp.Info)
			}
		}
	}},
	{name: "the status of a sandbox has those of its containers, and when they were so", run: func(c *check) {
		p := c.sandbox()
		ctr := c.beginWaiting(p, c.container())
		before := time.Now().UnixNano()
		resp, err := c.runtime.PodSandboxStatus(c.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.id})
		c.must(err)
		if len(resp.ContainersStatuses) != 1 || resp.ContainersStatuses[0].Id != ctr.id || resp.ContainersStatuses[0].State != running || resp.Timestamp < before {
			c.Errorf("%v", resp)
		}
	}, differs: map[string]string{containerd: "1.6 does not know the fields yet"}},
	{name: "an unknown runtime handler is refused", run: func(c *check) {
		_, err := c.runtime.RunPodSandbox(c.ctx(), &runtimeapi.RunPodSandboxRequest{Config: c.sandboxConfig(), RuntimeHandler: "no-such-handler"})
		c.refused("a sandbox of it", err)
	}},
	{name: "the same sandbox is not run twice", run: func(c *check) {
		p := c.sandbox()
		_, err := c.runtime.RunPodSandbox(c.ctx(), &runtimeapi.RunPodSandboxRequest{Config: p.config, RuntimeHandler: c.handler})
		c.refused("the second", err)
		c.equal("the first", c.sandboxStatus(p).State, ready)
	}},
	{name: "a sandbox is run again with another number of attempt when the one before is stopped", run: func(c *check) {
		p := c.sandbox()
		c.stopSandbox(p)
		config := proto.Clone(p.config).(*runtimeapi.PodSandboxConfig)
		config.Metadata.Attempt++
		c.equal("the second", c.sandboxStatus(c.runSandbox(config)).State, ready)
	}},
	{name: "stopping a sandbox ends its containers, and it is not ready any more", run: func(c *check) {
		p := c.sandbox()
		running := c.beginWaiting(p, c.container())
		c.stopSandbox(p)
		c.equal("state", c.sandboxStatus(p).State, notReady)
		c.equal("container", c.status(running).State, runtimeapi.ContainerState_CONTAINER_EXITED)
		c.refused("a container more", c.tryBegin(p, c.container("echo:x")))
	}},
	{name: "stopping a sandbox twice is no error", run: func(c *check) {
		p := c.sandbox()
		c.stopSandbox(p)
		c.stopSandbox(p)
	}},
	{name: "stopping a sandbox that is not there is no error", run: func(c *check) {
		c.stopSandbox(&sandbox{id: unique("nothing")})
	}, differs: map[string]string{containerd: "to 1.6 it is an error still; later ones do as the documentation says"}},
	{name: "removing a sandbox removes its containers, those that run as well", run: func(c *check) {
		p := c.sandbox()
		running, created := c.beginWaiting(p, c.container()), c.create(p, c.container("echo:x"))
		c.stopSandbox(p)
		_, err := c.runtime.RemovePodSandbox(c.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id})
		c.must(err)
		_, err = c.runtime.PodSandboxStatus(c.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.id})
		c.refused("its status", err, codes.NotFound)
		for _, ctr := range []*container{running, created} {
			_, err = c.runtime.ContainerStatus(c.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: ctr.id})
			c.refused("the status of its container", err, codes.NotFound)
		}
	}},
	{name: "removing a sandbox that is ready stops it first", run: func(c *check) {
		p := c.sandbox()
		c.beginWaiting(p, c.container())
		_, err := c.runtime.RemovePodSandbox(c.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id})
		c.must(err)
		c.equal("it is listed", len(c.listSandboxes(&runtimeapi.PodSandboxFilter{Id: p.id})), 0)
	}},
	{name: "removing a sandbox twice is no error", run: func(c *check) {
		p := c.sandbox()
		for range 2 {
			_, err := c.runtime.RemovePodSandbox(c.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id})
			c.must(err)
		}
	}},
	{name: "the status of a sandbox that is not there is an error", run: func(c *check) {
		_, err := c.runtime.PodSandboxStatus(c.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: unique("nothing")})
		c.refused("its status", err, codes.NotFound)
	}},
	{name: "a container in a sandbox that is not there is refused", run: func(c *check) {
		config := c.sandboxConfig()
		_, err := c.tryCreate(&sandbox{id: unique("nothing"), config: config}, c.container("echo:x"))
		c.refused("it", err)
	}},
	{name: "sandboxes are listed by ID, state and labels, and by all of them together", run: listsSandboxes},
	{name: "a stream of sandboxes has what the list has", run: func(c *check) {
		p := c.sandbox()
		stream, err := c.runtime.StreamPodSandboxes(c.ctx(), &runtimeapi.StreamPodSandboxesRequest{Filter: &runtimeapi.PodSandboxFilter{Id: p.id}})
		c.must(err)
		var ids []string
		c.drain("StreamPodSandboxes", func() error {
			part, err := stream.Recv()
			for _, item := range part.GetPodSandboxes() {
				ids = append(ids, item.Id)
			}
			return err
		})
		c.equal("IDs", ids, []string{p.id})
	}},
	{name: "limits of a sandbox can be changed", run: func(c *check) {
		_, err := c.runtime.UpdatePodSandboxResources(c.ctx(), &runtimeapi.UpdatePodSandboxResourcesRequest{PodSandboxId: c.sandbox().id, Resources: &runtimeapi.LinuxContainerResources{CpuShares: 100}})
		c.needs("UpdatePodSandboxResources", err)
		c.must(err)
	}},
}

func (c *check) listSandboxes(filter *runtimeapi.PodSandboxFilter) []string {
	c.Helper()
	resp, err := c.runtime.ListPodSandbox(c.ctx(), &runtimeapi.ListPodSandboxRequest{Filter: filter})
	c.must(err)
	var ids []string
	for _, item := range resp.Items {
		ids = append(ids, item.Id)
	}
	return ids
}

func listsSandboxes(c *check) {
	run := unique("run")
	sandboxWith := func(labels map[string]string) *sandbox {
		config := c.sandboxConfig()
		config.Labels = maps.Clone(labels)
		config.Labels["run"] = run
		config.Annotations = map[string]string{"a": "b"}
		return c.runSandbox(config)
	}
	red, blue := sandboxWith(map[string]string{"color": "red"}), sandboxWith(map[string]string{"color": "blue"})
	stopped := sandboxWith(map[string]string{"color": "red", "size": "small"})
	c.stopSandbox(stopped)
	state := func(s runtimeapi.PodSandboxState) *runtimeapi.PodSandboxStateValue {
		return &runtimeapi.PodSandboxStateValue{State: s}
	}
	labels := func(more ...string) map[string]string {
		all := map[string]string{"run": run}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	for _, tc := range []struct {
		filter *runtimeapi.PodSandboxFilter
		want   []*sandbox
	}{
		{&runtimeapi.PodSandboxFilter{LabelSelector: labels()}, []*sandbox{red, blue, stopped}},
		{&runtimeapi.PodSandboxFilter{LabelSelector: labels("color", "red")}, []*sandbox{red, stopped}},
		{&runtimeapi.PodSandboxFilter{LabelSelector: labels("color", "red", "size", "small")}, []*sandbox{stopped}},
		{&runtimeapi.PodSandboxFilter{LabelSelector: labels("color", "green")}, nil},
		{&runtimeapi.PodSandboxFilter{LabelSelector: labels(), State: state(ready)}, []*sandbox{red, blue}},
		{&runtimeapi.PodSandboxFilter{LabelSelector: labels(), State: state(notReady)}, []*sandbox{stopped}},
		{&runtimeapi.PodSandboxFilter{Id: blue.id}, []*sandbox{blue}},
		{&runtimeapi.PodSandboxFilter{Id: blue.id, LabelSelector: labels("color", "red")}, nil},
		{&runtimeapi.PodSandboxFilter{Id: blue.id, State: state(notReady)}, nil},
		{&runtimeapi.PodSandboxFilter{Id: unique("nothing")}, nil},
	} {
		var want []string
		for _, p := range tc.want {
			want = append(want, p.id)
		}
		got := c.listSandboxes(tc.filter)
		slices.Sort(got)
		slices.Sort(want)
		c.equal(tc.filter.String(), got, want)
	}
	all := c.listSandboxes(nil)
	if !slices.Contains(all, red.id) || !slices.Contains(all, stopped.id) {
		c.Errorf("without filter: %v", all)
	}
	resp, err := c.runtime.ListPodSandbox(c.ctx(), &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{Id: red.id}})
	c.must(err)
	item := resp.Items[0]
	if !proto.Equal(item.Metadata, red.config.Metadata) || item.Annotations["a"] != "b" || item.CreatedAt <= 0 {
		c.Errorf("%v", item)
	}
}
