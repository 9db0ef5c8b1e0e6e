// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	created = runtimeapi.ContainerState_CONTAINER_CREATED
	running = runtimeapi.ContainerState_CONTAINER_RUNNING
	exited  = runtimeapi.ContainerState_CONTAINER_EXITED
)

var containerSpecs = []spec{
	{name: "a container is created, runs and exits, and its status tells when", run: func(c *check) {
		config := c.container()
		config.Labels = map[string]string{"app": "specs"}
		config.Annotations = map[string]string{"note": "some text\nwith lines"}
		config.Metadata.Attempt = 2
		p := c.sandbox()
		ctr := c.create(p, config)
		st := c.status(ctr)
		c.equal("state", st.State, created)
		if st.CreatedAt <= 0 || st.StartedAt != 0 || st.FinishedAt != 0 {
			c.Errorf("times of what was created: %v", st)
		}
		c.equal("ID", st.Id, ctr.id)
		c.equal("labels", st.Labels, config.Labels)
		c.equal("annotations", st.Annotations, config.Annotations)
		c.equal("log", st.LogPath, ctr.log)
		if !proto.Equal(st.Metadata, config.Metadata) {
			c.Errorf("metadata %v", st.Metadata)
		}
		c.must(c.tryStart(ctr))
		st = c.wait(ctr)
		c.equal("exit code", st.ExitCode, 0)
		c.equal("reason", st.Reason, "Completed")
		// A command that ends at once may have ended before the runtime takes note that it started.
		if st.StartedAt < st.CreatedAt || st.FinishedAt < st.CreatedAt || st.FinishedAt > time.Now().Add(time.Second).UnixNano() {
			c.Errorf("times of what has ended: %v", st)
		}
	}},
	{name: "a container runs until its command ends", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		st := c.status(ctr)
		c.equal("state", st.State, running)
		if st.StartedAt < st.CreatedAt || st.FinishedAt != 0 {
			c.Errorf("times of what runs: %v", st)
		}
		c.stop(ctr, 60)
		if ended := c.status(ctr); ended.FinishedAt < st.StartedAt || ended.StartedAt != st.StartedAt {
			c.Errorf("times of what has ended: %v, it started at %d", ended, st.StartedAt)
		}
	}},
	{name: "a verbose status of a container says more, in JSON", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		for _, verbose := range []bool{false, true} {
			resp, err := c.runtime.ContainerStatus(c.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: ctr.id, Verbose: verbose})
			c.must(err)
			if verbose {
				c.checkInfo(resp.Info)
			} else if len(resp.Info) > 0 {
				c.Errorf("more than was asked for: %v", resp.Info)
			}
		}
	}},
	{name: "the exit code of a command is that of its container", run: func(c *check) {
		p := c.sandbox()
		for _, code := range []string{"exit:1", "exit:3", "exit:255"} {
			st := c.wait(c.begin(p, c.container(code)))
			c.equal("exit code", st.ExitCode, code[len("exit:"):])
			c.equal("reason", st.Reason, "Error")
		}
	}},
	{name: "a command that is not there fails the start, and the container has ended", run: func(c *check) {
		config := c.container()
		config.Command = []string{"/no/such/program"}
		ctr := c.create(c.sandbox(), config)
		c.refused("the start", c.tryStart(ctr))
		st := c.status(ctr)
		c.equal("state", st.State, exited)
		if st.ExitCode == 0 || st.Reason == "Completed" {
			c.Errorf("%v", st)
		}
	}},
	{name: "a file that is no program fails the start", run: func(c *check) {
		config := c.container()
		config.Command = []string{"/data/file"}
		c.refused("the start", c.tryStart(c.create(c.sandbox(), config)))
	}},
	{name: "a container that has ended is not started again", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("echo:once"))
		c.wait(ctr)
		c.refused("the second start", c.tryStart(ctr))
		c.equal("output", c.output(ctr, "stdout"), "once\n")
	}},
	{name: "a second start of a container that runs starts nothing", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container("echo:once"))
		_ = c.tryStart(ctr) // whether it is an error is not said
		c.equal("output", c.output(ctr, "stdout"), "once\nwaiting\n")
	}},
	{name: "starting a container that is not there is an error", run: func(c *check) {
		c.refused("it", c.tryStart(&container{id: unique("nothing")}))
	}},
	{name: "the status of a container that is not there is an error", run: func(c *check) {
		_, err := c.runtime.ContainerStatus(c.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: unique("nothing")})
		c.refused("its status", err, codes.NotFound)
	}},
	{name: "the same container is not created twice", run: func(c *check) {
		p, config := c.sandbox(), c.container()
		c.beginWaiting(p, config)
		_, err := c.tryCreate(p, config)
		c.refused("the second", err)
	}},
	{name: "a container can be created again with another number of attempt when the one before has ended", run: func(c *check) {
		p, config := c.sandbox(), c.container("echo:x")
		c.wait(c.begin(p, config))
		config.Metadata.Attempt++
		c.equal("exit code of the second", c.wait(c.begin(p, config)).ExitCode, 0)
	}},
	{name: "a container of an image that is not there is refused", run: func(c *check) {
		config := c.container("echo:x")
		config.Image = &runtimeapi.ImageSpec{Image: c.registry.host() + "/specs/no-such-image:1"}
		c.refused("it", c.tryBegin(c.sandbox(), config))
	}},
	{name: "containers of one sandbox do not see each other's files", run: func(c *check) {
		p := c.sandbox()
		c.equal("the first", c.runIn(p, c.container("write:/data/new", "cat:/data/new")), []string{"wrote", "written in the container"})
		c.equal("the second", c.runIn(p, c.container("cat:/data/new", "ls:/data")), []string{"error: no such file or directory", "[file]"})
	}},
	{name: "removing a container works in every state, and twice", run: func(c *check) {
		p := c.sandbox()
		ended := c.begin(p, c.container("echo:x"))
		c.wait(ended)
		for _, ctr := range []*container{c.create(p, c.container()), c.beginWaiting(p, c.container()), ended} {
			for range 2 {
				_, err := c.runtime.RemoveContainer(c.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: ctr.id})
				c.must(err)
			}
			_, err := c.runtime.ContainerStatus(c.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: ctr.id})
			c.refused("its status", err, codes.NotFound)
		}
	}},
	{name: "removing a container that is not there is no error", run: func(c *check) {
		_, err := c.runtime.RemoveContainer(c.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: unique("nothing")})
		c.must(err)
	}},
	{name: "containers are listed by ID, sandbox, state and labels, and by all of them together", run: listsContainers},
	{name: "a stream of containers has what the list has", run: func(c *check) {
		ctr := c.create(c.sandbox(), c.container())
		stream, err := c.runtime.StreamContainers(c.ctx(), &runtimeapi.StreamContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: ctr.id}})
		c.must(err)
		var ids []string
		c.drain("StreamContainers", func() error {
			part, err := stream.Recv()
			for _, item := range part.GetContainers() {
				ids = append(ids, item.Id)
			}
			return err
		})
		c.equal("IDs", ids, []string{ctr.id})
	}},
	{name: "a container says which image it runs from, as the image service does", run: func(c *check) {
		config := c.container()
		ctr := c.create(c.sandbox(), config)
		st := c.status(ctr)
		resp, err := c.images.ImageStatus(c.ctx(), &runtimeapi.ImageStatusRequest{Image: config.Image})
		c.must(err)
		c.equal("status", st.ImageId, resp.Image.Id)
		list, err := c.runtime.ListContainers(c.ctx(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: ctr.id}})
		c.must(err)
		c.equal("list", list.Containers[0].ImageId, resp.Image.Id)
		if !slices.Contains(resp.Image.RepoDigests, st.ImageRef) {
			c.Errorf("ImageRef is %s, the image has %v", st.ImageRef, resp.Image.RepoDigests)
		}
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
}

// drain reads a stream to its end.
func (c *check) drain(call string, receive func() error) {
	c.Helper()
	for {
		err := receive()
		if errors.Is(err, io.EOF) {
			return
		}
		c.needs(call, err)
		c.must(err)
	}
}

func (c *check) listContainers(filter *runtimeapi.ContainerFilter) []string {
	c.Helper()
	resp, err := c.runtime.ListContainers(c.ctx(), &runtimeapi.ListContainersRequest{Filter: filter})
	c.must(err)
	var ids []string
	for _, item := range resp.Containers {
		ids = append(ids, item.Id)
	}
	slices.Sort(ids)
	return ids
}

func listsContainers(c *check) {
	run := unique("run")
	one, two := c.sandbox(), c.sandbox()
	labelled := func(labels map[string]string, args ...string) *runtimeapi.ContainerConfig {
		config := c.container(args...)
		config.Labels = maps.Clone(labels)
		config.Labels["run"] = run
		config.Annotations = map[string]string{"a": "b"}
		return config
	}
	waits := c.beginWaiting(one, labelled(map[string]string{"color": "red"}))
	waiting := c.create(one, labelled(map[string]string{"color": "blue"}))
	ended := c.begin(two, labelled(map[string]string{"color": "red"}, "echo:x"))
	c.wait(ended)
	state := func(s runtimeapi.ContainerState) *runtimeapi.ContainerStateValue {
		return &runtimeapi.ContainerStateValue{State: s}
	}
	all, red := map[string]string{"run": run}, map[string]string{"run": run, "color": "red"}
	for _, tc := range []struct {
		filter *runtimeapi.ContainerFilter
		want   []*container
	}{
		{&runtimeapi.ContainerFilter{LabelSelector: all}, []*container{waits, waiting, ended}},
		{&runtimeapi.ContainerFilter{LabelSelector: red}, []*container{waits, ended}},
		{&runtimeapi.ContainerFilter{LabelSelector: red, PodSandboxId: one.id}, []*container{waits}},
		{&runtimeapi.ContainerFilter{PodSandboxId: one.id}, []*container{waits, waiting}},
		{&runtimeapi.ContainerFilter{PodSandboxId: one.id, State: state(created)}, []*container{waiting}},
		{&runtimeapi.ContainerFilter{PodSandboxId: one.id, State: state(running)}, []*container{waits}},
		{&runtimeapi.ContainerFilter{LabelSelector: all, State: state(exited)}, []*container{ended}},
		{&runtimeapi.ContainerFilter{Id: ended.id}, []*container{ended}},
		{&runtimeapi.ContainerFilter{Id: ended.id, PodSandboxId: one.id}, nil},
		{&runtimeapi.ContainerFilter{Id: ended.id, State: state(running)}, nil},
		{&runtimeapi.ContainerFilter{Id: unique("nothing")}, nil},
	} {
		var want []string
		for _, ctr := range tc.want {
			want = append(want, ctr.id)
		}
		slices.Sort(want)
		c.equal(tc.filter.String(), c.listContainers(tc.filter), want)
	}
	resp, err := c.runtime.ListContainers(c.ctx(), &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{Id: waits.id}})
	c.must(err)
	item := resp.Containers[0]
	if item.PodSandboxId != one.id || item.Annotations["a"] != "b" || item.CreatedAt <= 0 || item.ImageRef == "" || item.Image.GetImage() == "" {
		c.Errorf("%v", item)
	}
}
