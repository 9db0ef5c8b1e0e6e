// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// patience bounds waits for things that happen soon or never.
const patience = time.Minute

// number makes names that nobody else has.
var number atomic.Int64

// unique is a name of this run alone.
func unique(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), number.Add(1))
}

// ctx bounds one call; it outlives the check, for what is removed after it.
func (c *check) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), patience)
	c.Cleanup(cancel)
	return ctx
}

// until waits for a condition.
func (c *check) until(what string, cond func() bool) {
	c.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			c.Fatalf("still not: %s", what)
		}
	}
}

// must ends the check when a call failed.
func (c *check) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// refused ends the check when a call did not fail. With codes the error must have one of them.
func (c *check) refused(what string, err error, want ...codes.Code) {
	c.Helper()
	if err == nil {
		c.Fatalf("not refused: %s", what)
	}
	if len(want) > 0 && !slices.Contains(want, status.Code(err)) {
		c.Errorf("%s: %v, want code %v", what, err, want)
	}
}

// equal compares what can be printed.
func (c *check) equal(what string, got, want any) {
	c.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		c.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// sandbox is one that was run; it is removed with all that is in it when the check ends.
type sandbox struct {
	id     string
	config *runtimeapi.PodSandboxConfig
}

// sandboxConfig is a sandbox on the machine's network.
func (c *check) sandboxConfig() *runtimeapi.PodSandboxConfig {
	c.Helper()
	name := unique("pod")
	return &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "specs", Uid: "uid-of-" + name},
		LogDirectory: c.TempDir(),
		Linux: &runtimeapi.LinuxPodSandboxConfig{CgroupParent: c.cgroupParent, SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE, Pid: runtimeapi.NamespaceMode_CONTAINER},
		}},
	}
}

func (c *check) sandbox() *sandbox {
	c.Helper()
	return c.runSandbox(c.sandboxConfig())
}

func (c *check) runSandbox(config *runtimeapi.PodSandboxConfig) *sandbox {
	c.Helper()
	resp, err := c.runtime.RunPodSandbox(c.ctx(), &runtimeapi.RunPodSandboxRequest{Config: config, RuntimeHandler: c.handler})
	c.must(err)
	p := &sandbox{id: resp.PodSandboxId, config: config}
	c.Cleanup(func() {
		// The kubelet, too, stops what it removes; here some checks have removed it.
		if _, err := c.runtime.StopPodSandbox(c.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id}); err != nil && status.Code(err) != codes.NotFound {
			c.Errorf("stopping it at the end: %v", err)
		}
		if _, err := c.runtime.RemovePodSandbox(c.ctx(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.id}); err != nil {
			c.Errorf("removing it at the end: %v", err)
		}
	})
	return p
}

func (c *check) stopSandbox(p *sandbox) {
	c.Helper()
	_, err := c.runtime.StopPodSandbox(c.ctx(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: p.id})
	c.must(err)
}

func (c *check) sandboxStatus(p *sandbox) *runtimeapi.PodSandboxStatus {
	c.Helper()
	resp, err := c.runtime.PodSandboxStatus(c.ctx(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: p.id})
	c.must(err)
	return resp.Status
}

// container is one that was created.
type container struct {
	id  string
	log string
}

// container is a container that does the steps of the probe: args take the place of those of the image.
func (c *check) container(steps ...string) *runtimeapi.ContainerConfig {
	c.Helper()
	return c.containerOf("probe", steps...)
}

// containerOf is a container of one of the images of serveImages.
func (c *check) containerOf(image string, steps ...string) *runtimeapi.ContainerConfig {
	c.Helper()
	ref := c.pullOnce(image)
	name := unique("container")
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name},
		// As the kubelet has it: the ID that the pull returned, and the name beside it.
		Image:   &runtimeapi.ImageSpec{Image: ref, UserSpecifiedImage: c.registry.name(image)},
		Args:    steps,
		LogPath: name + ".log",
		Linux:   &runtimeapi.LinuxContainerConfig{SecurityContext: securityContext()},
	}
}

// securityContext is what the kubelet sends for a container that asks for nothing, on the machine's network.
func securityContext() *runtimeapi.LinuxContainerSecurityContext {
	return &runtimeapi.LinuxContainerSecurityContext{
		NamespaceOptions: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE, Pid: runtimeapi.NamespaceMode_CONTAINER},
		Seccomp:          &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
	}
}

func (c *check) tryCreate(p *sandbox, config *runtimeapi.ContainerConfig) (*container, error) {
	resp, err := c.runtime.CreateContainer(c.ctx(), &runtimeapi.CreateContainerRequest{PodSandboxId: p.id, Config: config, SandboxConfig: p.config})
	if err != nil {
		return nil, err
	}
	return &container{id: resp.ContainerId, log: filepath.Join(p.config.LogDirectory, config.LogPath)}, nil
}

func (c *check) create(p *sandbox, config *runtimeapi.ContainerConfig) *container {
	c.Helper()
	ctr, err := c.tryCreate(p, config)
	c.must(err)
	return ctr
}

func (c *check) tryStart(ctr *container) error {
	_, err := c.runtime.StartContainer(c.ctx(), &runtimeapi.StartContainerRequest{ContainerId: ctr.id})
	return err
}

// begin creates a container and starts it.
func (c *check) begin(p *sandbox, config *runtimeapi.ContainerConfig) *container {
	c.Helper()
	ctr := c.create(p, config)
	c.must(c.tryStart(ctr))
	return ctr
}

// tryBegin is begin of what may be refused by either call.
func (c *check) tryBegin(p *sandbox, config *runtimeapi.ContainerConfig) error {
	ctr, err := c.tryCreate(p, config)
	if err != nil {
		return err
	}
	return c.tryStart(ctr)
}

// beginWaiting begins a container that says that it waits, and waits for that. It ends at the first signal.
func (c *check) beginWaiting(p *sandbox, config *runtimeapi.ContainerConfig) *container {
	c.Helper()
	config.Args = append(config.Args, "wait")
	ctr := c.begin(p, config)
	c.awaitOutput(ctr, "waiting\n")
	return ctr
}

func (c *check) status(ctr *container) *runtimeapi.ContainerStatus {
	c.Helper()
	resp, err := c.runtime.ContainerStatus(c.ctx(), &runtimeapi.ContainerStatusRequest{ContainerId: ctr.id})
	c.must(err)
	return resp.Status
}

// wait waits for the end of a container.
func (c *check) wait(ctr *container) *runtimeapi.ContainerStatus {
	c.Helper()
	var st *runtimeapi.ContainerStatus
	c.until("the container has ended", func() bool {
		st = c.status(ctr)
		return st.State == runtimeapi.ContainerState_CONTAINER_EXITED
	})
	return st
}

// stop stops a container.
func (c *check) stop(ctr *container, seconds int64) {
	c.Helper()
	_, err := c.runtime.StopContainer(c.ctx(), &runtimeapi.StopContainerRequest{ContainerId: ctr.id, Timeout: seconds})
	c.must(err)
}

// run runs a container in a sandbox of its own to its end, which must be a good one, and returns its lines.
func (c *check) run(config *runtimeapi.ContainerConfig) []string {
	c.Helper()
	return c.runIn(c.sandbox(), config)
}

func (c *check) runIn(p *sandbox, config *runtimeapi.ContainerConfig) []string {
	c.Helper()
	ctr := c.begin(p, config)
	if st := c.wait(ctr); st.ExitCode != 0 {
		c.Fatalf("exit code %d (%s %s), output %q, %q", st.ExitCode, st.Reason, st.Message, c.output(ctr, "stdout"), c.output(ctr, "stderr"))
	}
	return lines(c.output(ctr, "stdout"))
}

func lines(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// output is what the log has of a stream.
func (c *check) output(ctr *container, stream string) string {
	c.Helper()
	var text strings.Builder
	for _, r := range c.records(ctr.log) {
		if r.stream == stream {
			text.WriteString(r.text)
			if !r.partial {
				text.WriteByte('\n')
			}
		}
	}
	return text.String()
}

// awaitOutput waits until the output has text.
func (c *check) awaitOutput(ctr *container, text string) {
	c.Helper()
	c.until(fmt.Sprintf("the output has %q", text), func() bool { return strings.Contains(c.output(ctr, "stdout"), text) })
}

// exec runs steps of the probe in a container.
func (c *check) exec(ctr *container, steps ...string) *runtimeapi.ExecSyncResponse {
	c.Helper()
	resp, err := c.runtime.ExecSync(c.ctx(), &runtimeapi.ExecSyncRequest{ContainerId: ctr.id, Cmd: append([]string{probePath}, steps...), Timeout: int64(patience / time.Second)})
	c.must(err)
	return resp
}

// removePulled removes the images that checks have pulled once for all.
func (e *endpoint) removePulled(t *testing.T) {
	c := &check{t, e}
	for _, name := range e.pulled.names() {
		if _, err := c.images.RemoveImage(c.ctx(), &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: name}}); err != nil {
			t.Errorf("removing %s: %v", name, err)
		}
	}
}
