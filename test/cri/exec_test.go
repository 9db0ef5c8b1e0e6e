// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"strings"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var execSpecs = []spec{
	{name: "ExecSync returns both outputs and the exit code", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		resp := c.exec(ctr, "echo:out", "error:problem", "exit:5")
		c.equal("stdout", string(resp.Stdout), "out\n")
		c.equal("stderr", string(resp.Stderr), "problem\n")
		c.equal("exit code", resp.ExitCode, 5)
		c.equal("exit code 0", c.exec(ctr, "echo:x").ExitCode, 0)
	}},
	{name: "ExecSync sees the container's files and processes", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container("write:/data/new", "echo:the command"))
		c.equal("output", string(c.exec(ctr, "cat:/data/new", "others:the command").Stdout), "written in the container\nseen\n")
	}},
	{name: "ExecSync returns all of a large output", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		if n := len(c.exec(ctr, "repeat:1000000").Stdout); n != 1000001 {
			c.Errorf("%d bytes", n)
		}
	}},
	{name: "ExecSync gives no input", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		c.equal("output", string(c.exec(ctr, "input").Stdout), "input ended false <nil>\n")
	}},
	{name: "ExecSync of a program that is not there is an error or exit code 127", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		resp, err := c.runtime.ExecSync(c.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: ctr.id, Cmd: []string{"no-such-program"}})
		if err == nil && resp.ExitCode != 127 && resp.ExitCode != 126 {
			c.Errorf("%v", resp)
		}
	}},
	{name: "ExecSync ends the command when the timeout is over, and says so", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		_, err := c.runtime.ExecSync(c.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: ctr.id, Cmd: []string{probePath, "forever", "takes too long"}, Timeout: 1})
		c.refused("the command", err, codes.DeadlineExceeded)
		c.until("it is gone", func() bool { return string(c.exec(ctr, "others:takes too long").Stdout) == "not seen\n" })
		c.equal("the container", c.status(ctr).State, running)
	}},
	{name: "ExecSync in a container that does not run is an error", run: func(c *check) {
		p := c.sandbox()
		ended := c.begin(p, c.container("echo:x"))
		c.wait(ended)
		for _, ctr := range []*container{ended, c.create(p, c.container()), {id: unique("nothing")}} {
			_, err := c.runtime.ExecSync(c.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: ctr.id, Cmd: []string{probePath, "echo:x"}})
			c.refused("it", err)
		}
	}},
	{name: "Exec and Attach want some stream, and no stderr beside a terminal", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		_, err := c.runtime.Exec(c.ctx(), &runtimeapi.ExecRequest{ContainerId: ctr.id, Cmd: []string{probePath}})
		c.refused("exec without streams", err, codes.InvalidArgument)
		_, err = c.runtime.Exec(c.ctx(), &runtimeapi.ExecRequest{ContainerId: ctr.id, Cmd: []string{probePath}, Tty: true, Stdout: true, Stderr: true})
		c.refused("exec with a terminal and stderr", err, codes.InvalidArgument)
		_, err = c.runtime.Attach(c.ctx(), &runtimeapi.AttachRequest{ContainerId: ctr.id})
		c.refused("attach without streams", err, codes.InvalidArgument)
	}, differs: map[string]string{containerd: "the code of the error is Unknown"}},
	{name: "Exec, Attach and PortForward of what is not there are errors", run: func(c *check) {
		id := unique("nothing")
		_, err := c.runtime.Exec(c.ctx(), &runtimeapi.ExecRequest{ContainerId: id, Cmd: []string{probePath}, Stdout: true})
		c.refused("exec", err)
		_, err = c.runtime.Attach(c.ctx(), &runtimeapi.AttachRequest{ContainerId: id, Stdout: true})
		c.refused("attach", err)
		_, err = c.runtime.PortForward(c.ctx(), &runtimeapi.PortForwardRequest{PodSandboxId: id, Port: []int32{80}})
		c.refused("port-forward", err)
	}},
	{name: "what Exec, Attach and PortForward return is the address of a server", run: func(c *check) {
		p := c.sandbox()
		ctr := c.beginWaiting(p, c.container())
		exec, err := c.runtime.Exec(c.ctx(), &runtimeapi.ExecRequest{ContainerId: ctr.id, Cmd: []string{probePath}, Stdout: true})
		c.must(err)
		attach, err := c.runtime.Attach(c.ctx(), &runtimeapi.AttachRequest{ContainerId: ctr.id, Stdout: true})
		c.must(err)
		forward, err := c.runtime.PortForward(c.ctx(), &runtimeapi.PortForwardRequest{PodSandboxId: p.id, Port: []int32{80}})
		c.must(err)
		for _, url := range []string{exec.Url, attach.Url, forward.Url} {
			if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
				c.Errorf("%q", url)
			}
		}
	}},
}
