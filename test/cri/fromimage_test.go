// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var fromImageSpecs = []spec{
	{name: "without command and args a container runs the image's entrypoint with the image's arguments", run: func(c *check) {
		c.equal("output", c.run(c.container()), []string{`["/bin/probe" "args" "echo:of the image"]`, "of the image"})
	}},
	{name: "an image without an entrypoint runs its command", run: func(c *check) {
		c.equal("output", c.run(c.containerOf("only-command")), []string{"command"})
	}},
	{name: "args take the place of the image's arguments", run: func(c *check) {
		c.equal("output", c.run(c.container("args", "echo:own")), []string{`["/bin/probe" "args" "echo:own"]`, "own"})
	}},
	{name: "command takes the place of the image's entrypoint and of its arguments", run: func(c *check) {
		config := c.container()
		config.Command = []string{probePath, "args"}
		c.equal("output", c.run(config), []string{`["/bin/probe" "args"]`})
	}},
	{name: "command and args together are the whole command line", run: func(c *check) {
		config := c.container("echo:own")
		config.Command = []string{probePath, "args"}
		c.equal("output", c.run(config), []string{`["/bin/probe" "args" "echo:own"]`, "own"})
	}},
	{name: "a command without a path is looked for in PATH", run: func(c *check) {
		config := c.container("echo:found")
		config.Command = []string{probeName}
		c.equal("output", c.run(config), []string{"found"})
	}},
	{name: "an image without a command needs one of the container", run: func(c *check) {
		c.refused("it", c.tryBegin(c.sandbox(), c.containerOf("nothing-to-run")))
	}},
	{name: "the environment is that of the image, with the container's own in its place", run: func(c *check) {
		config := c.container("env:FROM_IMAGE", "env:BOTH", "env:OWN", "env:EMPTY", "env:TWICE")
		for _, v := range []string{"BOTH", "OWN", "TWICE"} {
			config.Envs = append(config.Envs, &runtimeapi.KeyValue{Key: v, Value: []byte("container, = and\ttab")})
		}
		config.Envs = append(config.Envs, &runtimeapi.KeyValue{Key: "EMPTY"}, &runtimeapi.KeyValue{Key: "TWICE", Value: []byte("last")})
		own := "container, = and\ttab"
		c.equal("output", c.run(config), []string{"image", own, own, "", "last"})
	}},
	{name: "PATH is set when the image sets none, and HOME is the user's in the image", run: func(c *check) {
		c.equal("output", c.run(c.containerOf("user-name", "env:PATH", "env:HOME")), []string{"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/home/app"})
	}},
	{name: "the working directory is the image's", run: func(c *check) {
		c.equal("output", c.run(c.container("pwd", "cat:file")), []string{"/data", "from the image"})
	}},
	{name: "the working directory is the container's when it names one", run: func(c *check) {
		config := c.container("pwd")
		config.WorkingDir = "/etc"
		c.equal("output", c.run(config), []string{"/etc"})
	}},
	{name: "the working directory is made when the image does not have it", run: func(c *check) {
		config := c.container("pwd")
		config.WorkingDir = "/made/for/it"
		c.equal("output", c.run(config), []string{"/made/for/it"})
	}},
	{name: "without any working directory it is the root", run: func(c *check) {
		config := c.containerOf("only-command")
		config.Command = []string{probePath, "pwd"}
		c.equal("output", c.run(config), []string{"/"})
	}},
	{name: "a container has the files of its image, and /proc, /sys, /dev and files about the network", run: func(c *check) {
		out := c.run(c.container("ls:/data", "cat:/data/file", "cat:/etc/hostname", "ls:/dev/shm", "open:/dev/null", "open:/dev/tty", "cat:/proc/self/comm"))
		hostname := c.run(c.container("hostname"))[0]
		c.equal("output", out, []string{"[file]", "from the image", hostname, "[]", "opened", "error: no such device or address", "probe"})
		for _, path := range []string{"/etc/hosts", "/etc/resolv.conf"} {
			if text := c.run(c.container("cat:" + path)); len(text) == 0 || slices.Contains(text, "error: no such file or directory") {
				c.Errorf("%s: %q", path, text)
			}
		}
	}},
}
