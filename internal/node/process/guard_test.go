// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A second container of a name is refused while the first has not ended, and
// an attempt number is used once.
func TestSecondContainer(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	try := func(attempt uint32) codes.Code {
		config := shell("sleep 1000")
		config.Metadata.Attempt = attempt
		_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: config})
		return status.Code(err)
	}
	first := g.create(sb, shell("sleep 1000"))
	for _, attempt := range []uint32{0, 1} {
		if code := try(attempt); code != codes.AlreadyExists {
			t.Errorf("attempt %d beside a created one: %v", attempt, code)
		}
	}
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: first}); err != nil {
		t.Fatal(err)
	}
	for _, attempt := range []uint32{0, 1} {
		if code := try(attempt); code != codes.AlreadyExists {
			t.Errorf("attempt %d beside a running one: %v", attempt, code)
		}
	}
	g.stop(first, 0)
	if code := try(0); code != codes.AlreadyExists {
		t.Errorf("the same attempt again: %v", code)
	}
	if code := try(1); code != codes.OK {
		t.Errorf("the next attempt: %v", code)
	}
	other := shell("true")
	other.Metadata.Name = "other"
	g.create(sb, other)
}

// A container that an earlier run of the program created and never started is
// forgotten: it can not be started any more, and its number of attempt is free.
func TestForgottenContainer(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	forgotten := g.create(sb, shell("true"))
	g.close()
	g.start()
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: forgotten})
	if status.Code(err) != codes.NotFound {
		t.Errorf("starting the forgotten one: %v", err)
	}
	if _, err := os.Stat(filepath.Join(g.opts.RootDir, "containers", forgotten)); err == nil {
		t.Error("its directory, with the secrets of its environment, is left")
	}
	if st := g.wait(g.begin(sb, shell("exit 3"))); st.ExitCode != 3 || st.Metadata.Attempt != 0 {
		t.Errorf("the same attempt again: %v", st)
	}
}

// A container that was created long ago and never started does not block the
// next attempt, can not be started any more, and is not shown as one that
// failed: a Pod that is not restarted would be taken for failed with it.
func TestNeverStarted(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	old := g.create(sb, shell("true"))
	g.run.mu.Lock()
	g.run.containers[old].rec.CreatedAt -= int64(2 * createdGrace)
	g.run.mu.Unlock()
	next := shell("exit 3")
	next.Metadata.Attempt = 1
	id := g.begin(sb, next)
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: old})
	if status.Code(err) != codes.NotFound {
		t.Errorf("starting the old one: %v", err)
	}
	if st := g.wait(id); st.ExitCode != 3 {
		t.Errorf("%v", st)
	}
	if list := mustList(t, g); len(list) != 1 {
		t.Errorf("%d containers are shown", len(list))
	}
}

// Many calls to start one container run its command once.
func TestConcurrentStarts(t *testing.T) {
	g := newRig(t)
	dir := t.TempDir()
	id := g.create(g.sandbox("p", HandlerHost), shell("echo run >> "+dir+"/runs; sleep 0.1"))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, _ = g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
		})
	}
	wg.Wait()
	g.wait(id)
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("starting what has ended: %v", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "runs")); string(b) != "run\n" {
		t.Errorf("runs: %q", b)
	}
}

// Starting and removing at once leaves either, and nothing behind.
func TestStartAgainstRemove(t *testing.T) {
	g := newRig(t)
	for i := range 8 {
		sb := g.sandbox("p"+string(rune('a'+i)), "")
		id := g.create(sb, shell("sleep 1000"))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}) })
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond) // a different moment each time
			if _, err := g.rt.RemoveContainer(g.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
			t.Error(err)
		}
	}
	g.nothingLeft()
}

// A Pod has one ready sandbox, and an attempt number is used once.
func TestSecondSandbox(t *testing.T) {
	g := newRig(t)
	first := g.sandbox("p", "")
	try := func(attempt uint32) codes.Code {
		_, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: g.sandboxConfig("p", attempt)})
		return status.Code(err)
	}
	if code := try(0); code != codes.AlreadyExists {
		t.Errorf("the same attempt: %v", code)
	}
	if code := try(1); code != codes.FailedPrecondition {
		t.Errorf("beside a ready one: %v", code)
	}
	if _, err := g.rt.StopPodSandbox(g.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: first}); err != nil {
		t.Fatal(err)
	}
	if code := try(1); code != codes.OK {
		t.Errorf("after it was stopped: %v", code)
	}
	// Nothing is created or started in a stopped sandbox.
	_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: first, Config: shell("true")})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("creating in a stopped sandbox: %v", err)
	}
}

// StopAll ends everything, gives what handles TERM its time, and starts
// nothing any more; the next Runtime knows the codes.
func TestStopAll(t *testing.T) {
	g := newRig(t)
	sb := g.sandbox("p", "")
	handles := g.begin(sb, named("handles", shell(`trap 'exit 6' TERM; echo ready; while :; do sleep 0.01; done`)))
	ignores := g.begin(sb, named("ignores", shell(`trap '' TERM; echo ready; while :; do sleep 0.01; done`)))
	created := g.create(sb, named("created", shell(`true`)))
	for _, id := range []string{handles, ignores} {
		until(t, "it is ready", func() bool { return g.output(id, "stdout") == "ready\n" })
	}
	if err := g.run.StopAll(g.ctx(), 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	_, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: created})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("starting afterwards: %v", err)
	}
	_, err = g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: g.sandboxConfig("q", 0)})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a sandbox afterwards: %v", err)
	}
	g.close()
	g.start()
	if st := g.status(handles); st.ExitCode != 6 {
		t.Errorf("code %d", st.ExitCode)
	}
	if st := g.status(ignores); st.ExitCode != 137 {
		t.Errorf("code %d", st.ExitCode)
	}
}

// A start that hangs does not take stop and remove along: they end with their
// context.
func TestHangingStart(t *testing.T) {
	g := newRig(t)
	id := g.create(g.sandbox("p", ""), shell("true"))
	c := g.run.containers[id]
	<-c.op // a start that does not come to an end
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := g.run.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("stop: %v", err)
	}
	if _, err := g.run.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("remove: %v", err)
	}
	c.releaseOp()
	if _, err := g.rt.RemoveContainer(g.ctx(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
		t.Error(err)
	}
}
