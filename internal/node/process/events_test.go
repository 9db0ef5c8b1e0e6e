// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// listen collects events until the test ends or cancel is called.
func (g *rig) listen() (events chan *runtimeapi.ContainerEventResponse, cancel func()) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	g.t.Cleanup(cancel)
	stream, err := g.rt.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := stream.Header(); err != nil {
		g.t.Fatal(err)
	}
	events = make(chan *runtimeapi.ContainerEventResponse, 10000)
	go func() {
		defer close(events)
		for {
			e, err := stream.Recv()
			if err != nil {
				return
			}
			events <- e
		}
	}()
	return events, cancel
}

// next waits for an event that f accepts and checks what holds for all.
func next(t *testing.T, events chan *runtimeapi.ContainerEventResponse, what string, f func(*runtimeapi.ContainerEventResponse) bool) *runtimeapi.ContainerEventResponse {
	t.Helper()
	timeout := time.After(patience)
	var last int64
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before: %s", what)
			}
			if e.CreatedAt < last {
				t.Errorf("an event of %d after one of %d", e.CreatedAt, last)
			}
			last = e.CreatedAt
			if e.PodSandboxStatus.GetMetadata().GetUid() == "" {
				t.Errorf("an event without a sandbox: %v", e)
			}
			for _, st := range e.ContainersStatuses {
				if st.State == runtimeapi.ContainerState_CONTAINER_CREATED {
					t.Errorf("an event shows a container as created: %v", e)
				}
			}
			if f(e) {
				return e
			}
		case <-timeout:
			t.Fatalf("no event: %s", what)
		}
	}
}

const (
	evCreated = runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT
	evStarted = runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT
	evStopped = runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT
	evDeleted = runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT
)

// A container's life is told with the state of the whole Pod; its end again
// and again until the sandbox is stopped; and never is it shown as created.
func TestEvents(t *testing.T) {
	g := newRig(t)
	events, _ := g.listen()
	of := func(typ runtimeapi.ContainerEventType, id string) func(*runtimeapi.ContainerEventResponse) bool {
		return func(e *runtimeapi.ContainerEventResponse) bool {
			return e.ContainerEventType == typ && e.ContainerId == id
		}
	}
	sb := g.sandbox("p", "")
	next(t, events, "the sandbox is there", of(evCreated, sb))
	id := g.create(sb, shell("sleep 1000"))
	// Refreshes go on after the creation: none may show it as created.
	e := next(t, events, "a refresh with the container", func(e *runtimeapi.ContainerEventResponse) bool { return len(e.ContainersStatuses) == 1 })
	if e.ContainersStatuses[0].State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("it is shown as %v", e.ContainersStatuses[0].State)
	}
	if resp, err := g.rt.PodSandboxStatus(g.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sb}); err != nil || resp.ContainersStatuses[0].State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the sandbox's status shows it as %v (%v)", resp.GetContainersStatuses(), err)
	}
	if st := g.status(id); st.State != runtimeapi.ContainerState_CONTAINER_CREATED {
		t.Errorf("its own status says %v", st.State)
	}
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	e = next(t, events, "started", of(evStarted, id))
	if e.ContainersStatuses[0].StartedAt == 0 {
		t.Error("no start time")
	}
	g.stop(id, 0)
	for range 4 {
		e = next(t, events, "stopped", of(evStopped, id))
		if e.ContainersStatuses[0].State != runtimeapi.ContainerState_CONTAINER_EXITED || e.ContainersStatuses[0].ExitCode != 137 {
			t.Errorf("the state with it: %v", e.ContainersStatuses[0])
		}
	}
	if _, err := g.rt.StopPodSandbox(g.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: sb}); err != nil {
		t.Fatal(err)
	}
	next(t, events, "the sandbox is stopped", of(evStopped, sb))
	e = next(t, events, "a refresh afterwards", of(evCreated, sb))
	if e.PodSandboxStatus.State != runtimeapi.PodSandboxState_SANDBOX_NOTREADY || e.PodSandboxStatus.Network.Ip != "" {
		t.Errorf("the sandbox: %v", e.PodSandboxStatus)
	}
	if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
		t.Fatal(err)
	}
	for {
		// No end of the container is told between the stop of the sandbox and
		// its removal, and nothing at all afterwards.
		e = next(t, events, "the sandbox is gone", func(e *runtimeapi.ContainerEventResponse) bool {
			return e.ContainerEventType == evDeleted || e.ContainerEventType == evStopped && e.ContainerId == id
		})
		if e.ContainerEventType == evDeleted {
			break
		}
		t.Error("the end of the container is told although the sandbox was stopped")
	}
	other := g.sandbox("q", "")
	next(t, events, "of another Pod only", func(e *runtimeapi.ContainerEventResponse) bool {
		if e.PodSandboxStatus.Id == sb {
			t.Errorf("an event of the removed sandbox: %v", e)
		}
		return e.PodSandboxStatus.Id == other
	})
}

// With a newer sandbox of the same Pod the older one is not talked of any
// more, and the containers of both are told.
func TestEventsOfNewerSandbox(t *testing.T) {
	g := newRig(t)
	old := g.sandbox("p", "")
	first := g.begin(old, shell("exit 1"))
	g.wait(first)
	if _, err := g.rt.StopPodSandbox(g.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: old}); err != nil {
		t.Fatal(err)
	}
	events, _ := g.listen()
	resp, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: g.sandboxConfig("p", 1)})
	if err != nil {
		t.Fatal(err)
	}
	second := g.begin(resp.PodSandboxId, shell("sleep 1000"))
	e := next(t, events, "both containers", func(e *runtimeapi.ContainerEventResponse) bool { return len(e.ContainersStatuses) == 2 })
	if e.PodSandboxStatus.Id != resp.PodSandboxId || e.ContainersStatuses[0].Id != second || e.ContainersStatuses[1].Id != first {
		t.Errorf("%v", e)
	}
	if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: old}); err != nil {
		t.Fatal(err)
	}
	g.stop(second, 0)
	next(t, events, "the second one's end", func(e *runtimeapi.ContainerEventResponse) bool {
		if e.PodSandboxStatus.Id == old || e.ContainerEventType == evDeleted {
			t.Errorf("an event of the older sandbox: %v", e)
		}
		return e.ContainerEventType == evStopped && e.ContainerId == second
	})
}

// A listener that does not read is let go; others are not disturbed.
func TestSlowListener(t *testing.T) {
	r, err := New(Options{RootDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	slow := &subscriber{ch: make(chan *runtimeapi.ContainerEventResponse, 1), behind: make(chan struct{})}
	quick := &subscriber{ch: make(chan *runtimeapi.ContainerEventResponse, 10), behind: make(chan struct{})}
	r.events.subs = map[*subscriber]struct{}{slow: {}, quick: {}}
	s := &sandbox{rec: sandboxRecord{ID: newID()}, config: &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Uid: "u"}}}
	for range 3 {
		r.emit(evCreated, s, s.rec.ID)
	}
	select {
	case <-slow.behind:
	default:
		t.Error("the slow one is still served")
	}
	if len(quick.ch) != 3 {
		t.Errorf("the quick one has %d of 3", len(quick.ch))
	}
}
