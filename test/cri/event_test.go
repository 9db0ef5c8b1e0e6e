// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var eventSpecs = []spec{
	{name: "events tell that a container has started and that it has ended, with the state of its Pod", run: func(c *check) {
		ctx, cancel := context.WithCancel(c.ctx())
		defer cancel()
		stream, err := c.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
		c.must(err)
		// The headers come when nothing is missed any more; without the call there are none, only the error.
		if header, err := stream.Header(); err != nil || header == nil {
			_, err = stream.Recv()
			c.needs("GetContainerEvents", err)
			c.must(err)
		}
		p := c.sandbox()
		ctr := c.begin(p, c.container("exit:3"))
		await := func(typ runtimeapi.ContainerEventType) *runtimeapi.ContainerEventResponse {
			for {
				e, err := stream.Recv()
				c.needs("GetContainerEvents", err)
				c.must(err)
				if e.ContainerId == ctr.id && e.ContainerEventType == typ {
					return e
				}
			}
		}
		await(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
		e := await(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
		c.equal("sandbox", e.PodSandboxStatus.GetId(), p.id)
		if e.CreatedAt <= 0 || len(e.ContainersStatuses) != 1 {
			c.Fatalf("%v", e)
		}
		st := e.ContainersStatuses[0]
		c.equal("container", []any{st.Id, st.State, st.ExitCode}, []any{ctr.id, exited, 3})
	}},
}
