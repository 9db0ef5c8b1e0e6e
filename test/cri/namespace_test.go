// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"fmt"
	"os"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var namespaceSpecs = []spec{
	{name: "a container with processes of its own sees no others", run: func(c *check) {
		p := c.sandbox()
		other := c.beginWaiting(p, c.container("echo:the other"))
		c.equal("output", c.runIn(p, c.container("others:the other")), []string{"not seen"})
		c.equal("the other", c.status(other).State, running)
	}},
	{name: "containers that share their processes see each other's", run: func(c *check) {
		config := c.sandboxConfig()
		config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
		p := c.runSandbox(config)
		shared := func(steps ...string) *runtimeapi.ContainerConfig {
			ctr := c.container(steps...)
			ctr.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
			return ctr
		}
		other := c.beginWaiting(p, shared("echo:the other"))
		c.equal("output", c.runIn(p, shared("others:the other")), []string{"seen"})
		c.stop(other, 60)
	}},
	{name: "a container with the machine's processes sees them", run: func(c *check) {
		config := c.sandboxConfig()
		config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_NODE
		p := c.runSandbox(config)
		ctr := c.container("namespace:pid", fmt.Sprintf("cat:/proc/%d/comm", os.Getpid()))
		ctr.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_NODE
		own, err := os.Readlink("/proc/self/ns/pid")
		c.must(err)
		comm, err := os.ReadFile("/proc/self/comm")
		c.must(err)
		c.equal("output", c.runIn(p, ctr), lines(own+"\n"+string(comm)))
	}},
	{name: "a container on the machine's network sees that", run: func(c *check) {
		own, err := os.Readlink("/proc/self/ns/net")
		c.must(err)
		c.equal("namespace", c.run(c.container("namespace:net"))[0], own)
	}},
	{name: "a container has shared memory of its Pod, unless it asks for the machine's", run: func(c *check) {
		own, err := os.Readlink("/proc/self/ns/ipc")
		c.must(err)
		if got := c.run(c.container("namespace:ipc"))[0]; got == own {
			c.Errorf("%s is the machine's", got)
		}
		config := c.sandboxConfig()
		config.Linux.SecurityContext.NamespaceOptions.Ipc = runtimeapi.NamespaceMode_NODE
		ctr := c.container("namespace:ipc")
		ctr.Linux.SecurityContext.NamespaceOptions.Ipc = runtimeapi.NamespaceMode_NODE
		c.equal("the machine's", c.runIn(c.runSandbox(config), ctr)[0], own)
	}},
	{name: "containers of one Pod have one shared memory", run: func(c *check) {
		if c.ordinary {
			c.Skip("the runtime runs as an ordinary user: each container has its own, unless the Pod shares its processes")
		}
		p := c.sandbox()
		c.equal("the second", c.runIn(p, c.container("namespace:ipc")), c.runIn(p, c.container("namespace:ipc")))
	}},
	{name: "a container has mounts of its own", run: func(c *check) {
		out := c.run(c.container("namespace:mnt"))
		own, err := os.Readlink("/proc/self/ns/mnt")
		c.must(err)
		if out[0] == own {
			c.Errorf("%v, the machine has %s", out, own)
		}
	}},
}
