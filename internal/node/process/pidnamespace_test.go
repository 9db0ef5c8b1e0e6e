// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/node/process/shim"
)

// sharing runs a sandbox whose containers share their processes.
func (g *rig) sharing(pod string) string {
	g.t.Helper()
	config := g.sandboxConfig(pod, 0)
	config.Linux = &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
		NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_POD, Network: runtimeapi.NamespaceMode_NODE},
	}}
	resp, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.PodSandboxId
}

// member is a container that shares the processes of its Pod.
func member(name, script string) *runtimeapi.ContainerConfig {
	config := shell(script)
	config.Metadata.Name, config.LogPath = name, name+"/0.log"
	config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_POD
	return config
}

// listProcesses prints the command lines of all processes that are visible.
const listProcesses = `for f in /proc/[0-9]*/cmdline; do tr '\0' ' ' <$f; echo; done 2>/dev/null`

func (g *rig) ready(sandbox string) bool {
	g.t.Helper()
	resp, err := g.rt.PodSandboxStatus(g.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: sandbox})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.Status.State == runtimeapi.PodSandboxState_SANDBOX_READY
}

func sharingRig(t *testing.T) *rig {
	t.Helper()
	g := newRig(t)
	if !g.run.view.pids {
		t.Skipf("no PID namespaces here: %v", g.run.view.warnings)
	}
	return g
}

// Containers of a Pod with shareProcessNamespace see and signal each other's
// processes, and none of the machine's. Each still ends by itself, with all
// that it started.
func TestOrdinarySharedPIDs(t *testing.T) {
	g := sharingRig(t)
	sb := g.sharing("p")
	first := g.begin(sb, member("first", "trap 'echo told; exit 3' USR1; echo ready; while :; do sleep 0.05; done"))
	until(t, "the first runs", func() bool { return strings.Contains(g.output(first, "stdout"), "ready") })
	second := g.begin(sb, member("second", listProcesses+`; cat /proc/1/comm; pkill -USR1 -f 'trap .echo tol[d]'; (setsid sleep 54329.4 &); echo done`))
	if st := g.wait(second); st.ExitCode != 0 {
		t.Errorf("the second ended with %v: %s", st, g.output(second, "stderr"))
	}
	out := g.output(second, "stdout")
	if !strings.Contains(out, "echo told") || !strings.HasSuffix(out, "carillon-shim\ndone\n") {
		t.Errorf("the second sees\n%s", out)
	}
	if self, err := os.ReadFile("/proc/self/cmdline"); err != nil || strings.Contains(out, string(self[:strings.IndexByte(string(self), 0)])+" ") {
		t.Errorf("it sees a process of the machine (%v):\n%s", err, out)
	}
	if st := g.wait(first); st.ExitCode != 3 || !strings.Contains(g.output(first, "stdout"), "told") {
		t.Errorf("the first ended with %v", st)
	}
	until(t, "what the second left has ended", func() bool { return !runsNow("54329.4") })
	if !g.ready(sb) {
		t.Error("the sandbox is not ready")
	}
	third := g.begin(sb, member("third", "sleep 54329.5"))
	if got := g.exec(third, "/bin/sh", "-c", listProcesses); !strings.Contains(string(got.Stdout), "sleep 54329.5") {
		t.Errorf("exec sees %q", got.Stdout)
	}
	// Neither TERM nor KILL from within the Pod ends all of it.
	if got := g.exec(third, "/bin/sh", "-c", "kill -TERM 1; kill -KILL 1; true"); got.ExitCode != 0 {
		t.Errorf("exec: %v", got)
	}
	if got := g.exec(third, "echo", "alive"); string(got.Stdout) != "alive\n" {
		t.Errorf("after signals to process 1: %v", got)
	}
	g.stop(third, 0)
	if runsNow("54329.5") {
		t.Error("the third was stopped and runs")
	}
	if _, err := g.rt.RemovePodSandbox(g.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sb}); err != nil {
		t.Fatal(err)
	}
	g.nothingLeft()
}

// The PID namespace of a Pod outlives the runtime with the Pod's containers,
// and the next one starts containers in it. It ends with the sandbox, and when
// its process 1 is killed the sandbox is over.
func TestOrdinarySharedPIDsSurvive(t *testing.T) {
	g := sharingRig(t)
	sb := g.sharing("p")
	first := g.begin(sb, member("first", "sleep 54329.6"))
	g.close()
	g.start()
	if !g.ready(sb) || g.status(first).State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Fatalf("after a restart: %v", g.status(first))
	}
	second := g.begin(sb, member("second", listProcesses))
	g.wait(second)
	if out := g.output(second, "stdout"); !strings.Contains(out, "sleep 54329.6") {
		t.Errorf("the second, started by the next runtime, sees\n%s", out)
	}

	dir := filepath.Join(g.run.sandboxesDir(), sb)
	id, err := shim.ReadIdentity(dir)
	if err != nil || !id.Supervises(dir) {
		t.Fatalf("process 1: %v, %v", id, err)
	}
	if err := unix.Kill(id.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the sandbox is over", func() bool { return !g.ready(sb) })
	if st := g.wait(first); st.ExitCode == 0 || runsNow("54329.6") {
		t.Errorf("the first: %v", st)
	}
	if _, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: sb, Config: member("third", "true")}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a container in a sandbox that is over: %v", err)
	}

	// Killed while no runtime runs, it is missed at the next start.
	other := g.sharing("q")
	dir = filepath.Join(g.run.sandboxesDir(), other)
	if id, err = shim.ReadIdentity(dir); err != nil {
		t.Fatal(err)
	}
	g.close()
	if !id.Kill(dir) {
		t.Fatal("not killed")
	}
	id.Wait(nil)
	g.start()
	if g.ready(other) {
		t.Error("a sandbox without its process is ready")
	}
	stays := g.sharing("r")
	dir = filepath.Join(g.run.sandboxesDir(), stays)
	if id, err = shim.ReadIdentity(dir); err != nil {
		t.Fatal(err)
	}
	if err := g.run.StopAll(g.ctx(), 0); err != nil {
		t.Fatal(err)
	}
	if id.Alive() {
		t.Error("a Pod's process outlives StopAll")
	}
}

// A container that asks for the processes of another one, in a Pod that does
// not share them, is refused: the machine's are not the answer.
func TestOrdinaryTargetPIDs(t *testing.T) {
	g := sharingRig(t)
	config := shell("true")
	config.Linux.SecurityContext.NamespaceOptions.Pid = runtimeapi.NamespaceMode_TARGET
	_, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: g.sandbox("p", ""), Config: config})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "shareProcessNamespace") {
		t.Errorf("%v", err)
	}
	config.Metadata.Name = "target"
	config.Command[2] = listProcesses
	sb := g.sharing("q")
	g.begin(sb, member("first", "sleep 54329.7"))
	id := g.begin(sb, config)
	g.wait(id)
	if out := g.output(id, "stdout"); !strings.Contains(out, "sleep 54329.7") {
		t.Errorf("it sees\n%s", out)
	}
}
