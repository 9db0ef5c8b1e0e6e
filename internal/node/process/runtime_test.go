// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/privatedir"
)

// rig is a Runtime and a client of its socket.
type rig struct {
	t    *testing.T
	opts Options
	run  *Runtime
	conn *grpc.ClientConn
	rt   runtimeapi.RuntimeServiceClient
	img  runtimeapi.ImageServiceClient
	logs string
}

// patience bounds waits for things that happen soon or never.
const patience = 30 * time.Second

func newRig(t *testing.T) *rig {
	t.Helper()
	g := stoppedRig(t)
	g.start()
	return g
}

// stoppedRig is a rig whose Runtime is not started yet.
func stoppedRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	short, err := os.MkdirTemp("", "cri") // names of tests are long, socket addresses are not
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	g := &rig{t: t, opts: Options{RootDir: filepath.Join(dir, "state"), Socket: filepath.Join(short, "s"), APIServer: "127.0.0.1:6443", LocalFiles: true}, logs: filepath.Join(dir, "logs")}
	t.Cleanup(func() {
		// What a container wrote is removed behind its end, by the next Runtime if this one is closed first; and an
		// overlay's directories are none that t.TempDir could remove as an ordinary user.
		defer func() {
			if err := privatedir.RemoveTree(g.opts.RootDir); err != nil {
				t.Error(err)
			}
		}()
		if g.run == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := g.run.StopAll(ctx, 0); err != nil {
			t.Errorf("StopAll: %v", err)
		}
		g.close()
	})
	return g
}

func (g *rig) start() {
	g.t.Helper()
	run, err := New(g.opts)
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run.Start(ctx); err != nil {
		g.t.Fatal(err)
	}
	<-run.Ready()
	g.run = run
	g.dial()
}

func (g *rig) dial() {
	g.t.Helper()
	conn, err := grpc.NewClient("unix://"+g.opts.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		g.t.Fatal(err)
	}
	g.conn, g.rt, g.img = conn, runtimeapi.NewRuntimeServiceClient(conn), runtimeapi.NewImageServiceClient(conn)
}

func (g *rig) close() {
	g.t.Helper()
	g.conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.run.Close(ctx); err != nil {
		g.t.Fatal(err)
	}
	g.run = nil
}

func (g *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	g.t.Cleanup(cancel)
	return ctx
}

// sandbox runs a sandbox named after the Pod.
func (g *rig) sandbox(pod, handler string) string {
	g.t.Helper()
	resp, err := g.rt.RunPodSandbox(g.ctx(), &runtimeapi.RunPodSandboxRequest{Config: g.sandboxConfig(pod, 0), RuntimeHandler: handler})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.PodSandboxId
}

func (g *rig) sandboxConfig(pod string, attempt uint32) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: pod, Uid: "uid-" + pod, Namespace: "default", Attempt: attempt},
		Hostname:     pod,
		LogDirectory: filepath.Join(g.logs, pod),
		Labels:       map[string]string{"io.kubernetes.pod.uid": "uid-" + pod},
		Annotations:  map[string]string{"example.com/seen": "yes"},
	}
}

// shell is a container that runs a script.
func shell(script string) *runtimeapi.ContainerConfig {
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"},
		Image:    &runtimeapi.ImageSpec{Image: "busybox:1"},
		Command:  []string{"/bin/sh", "-c", script},
		LogPath:  "main/0.log",
		Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER, Network: runtimeapi.NamespaceMode_NODE},
		}},
	}
}

func (g *rig) create(sandbox string, config *runtimeapi.ContainerConfig) string {
	g.t.Helper()
	resp, err := g.rt.CreateContainer(g.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox, Config: config, SandboxConfig: &runtimeapi.PodSandboxConfig{}})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.ContainerId
}

func (g *rig) begin(sandbox string, config *runtimeapi.ContainerConfig) string {
	g.t.Helper()
	id := g.create(sandbox, config)
	if _, err := g.rt.StartContainer(g.ctx(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		g.t.Fatal(err)
	}
	return id
}

func (g *rig) status(id string) *runtimeapi.ContainerStatus {
	g.t.Helper()
	resp, err := g.rt.ContainerStatus(g.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.Status
}

// until waits for a condition that must come true.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("still not: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (g *rig) wait(id string) *runtimeapi.ContainerStatus {
	g.t.Helper()
	var st *runtimeapi.ContainerStatus
	until(g.t, "the container has ended", func() bool {
		st = g.status(id)
		return st.State == runtimeapi.ContainerState_CONTAINER_EXITED
	})
	return st
}

// output reads the log of a container: the text of a stream, parts joined.
func (g *rig) output(id, stream string) string {
	g.t.Helper()
	b, err := os.ReadFile(g.status(id).LogPath)
	if err != nil {
		g.t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(f) != 4 {
			g.t.Fatalf("log line %q", line)
		}
		if f[1] != stream {
			continue
		}
		out.WriteString(f[3])
		if f[2] == "F" {
			out.WriteString("\n")
		}
	}
	return out.String()
}

func (g *rig) exec(id string, cmd ...string) *runtimeapi.ExecSyncResponse {
	g.t.Helper()
	resp, err := g.rt.ExecSync(g.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: cmd})
	if err != nil {
		g.t.Fatal(err)
	}
	return resp
}

// in is the rig for a subtest.
func (g *rig) in(t *testing.T) *rig {
	h := *g
	h.t = t
	return &h
}

func (g *rig) stop(id string, timeout int64) {
	g.t.Helper()
	if _, err := g.rt.StopContainer(g.ctx(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: timeout}); err != nil {
		g.t.Fatal(err)
	}
}

func withMount(c *runtimeapi.ContainerConfig, source, target string, readOnly bool) *runtimeapi.ContainerConfig {
	c.Mounts = append(c.Mounts, &runtimeapi.Mount{HostPath: source, ContainerPath: target, Readonly: readOnly})
	return c
}
