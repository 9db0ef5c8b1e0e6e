// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// killed is the exit code of what was ended by SIGKILL.
const killed = 128 + 9

var stopSpecs = []spec{
	{name: "StopContainer sends SIGTERM and waits for the end", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		c.stop(ctr, 60)
		st := c.status(ctr)
		c.equal("state", st.State, exited)
		c.equal("exit code", st.ExitCode, 0)
		c.equal("output", c.output(ctr, "stdout"), "waiting\nterminated\n")
	}},
	{name: "StopContainer sends the stop signal of the image", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.containerOf("stop-signal"))
		c.stop(ctr, 60)
		c.equal("output", c.output(ctr, "stdout"), "waiting\nuser defined signal 1\n")
	}},
	{name: "StopContainer sends the stop signal of the container rather than that of the image", run: func(c *check) {
		config := c.containerOf("stop-signal")
		config.StopSignal = runtimeapi.Signal_SIGQUIT
		ctr := c.beginWaiting(c.sandbox(), config)
		c.equal("status", c.status(ctr).StopSignal, runtimeapi.Signal_SIGQUIT)
		c.stop(ctr, 60)
		c.equal("output", c.output(ctr, "stdout"), "waiting\nquit\n")
	}, differs: map[string]string{containerd: "1.6 does not know the field yet"}},
	{name: "StopContainer kills what has not ended when the timeout is over, and not before", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("ignore"))
		c.awaitOutput(ctr, "ignoring\n")
		start := time.Now()
		c.stop(ctr, 1)
		if took := time.Since(start); took < time.Second {
			c.Errorf("killed after %v", took)
		}
		c.equal("exit code", c.status(ctr).ExitCode, killed)
	}},
	{name: "StopContainer without a timeout kills at once", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		c.stop(ctr, 0)
		st := c.status(ctr)
		c.equal("state", st.State, exited)
		c.equal("exit code", st.ExitCode, killed)
		c.equal("output", c.output(ctr, "stdout"), "waiting\n")
	}},
	{name: "StopContainer of a container that has ended is no error and changes nothing", run: func(c *check) {
		ctr := c.begin(c.sandbox(), c.container("exit:3"))
		c.wait(ctr)
		before := c.status(ctr)
		c.stop(ctr, 10)
		c.stop(ctr, 0)
		c.equal("status", c.status(ctr), before)
	}},
	{name: "StopContainer of a container that is not there is no error", run: func(c *check) {
		c.stop(&container{id: unique("nothing")}, 10)
	}, differs: map[string]string{containerd: "to 1.6 it is an error still; later ones do as the documentation says"}},
	{name: "StopContainer ends what was executed in the container as well", run: func(c *check) {
		ctr := c.beginWaiting(c.sandbox(), c.container())
		ended := make(chan error, 1)
		go func() {
			_, err := c.runtime.ExecSync(c.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: ctr.id, Cmd: []string{probePath, "forever", "executed"}})
			ended <- err
		}()
		c.until("it is executed", func() bool { return string(c.exec(ctr, "others:executed").Stdout) == "seen\n" })
		c.stop(ctr, 60)
		<-ended // with or without an error
	}},
}
