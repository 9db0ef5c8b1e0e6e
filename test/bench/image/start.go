// Copyright The Carillon Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/carillon-dev/carillon/internal/image"
	"github.com/carillon-dev/carillon/internal/node/process"
	"github.com/carillon-dev/carillon/test/runtimes"
)

// startContainers has each side run containers of an image that is here, one after the other. What the program says is
// when it began.
func (b *bench) startContainers(ctx context.Context) (err error) {
	ref, _, err := b.newImage(ctx, 150)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "start-")
	if err != nil {
		return err
	}
	c, err := runtimes.StartContainerd(ctx, filepath.Join(dir, "c"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	p, err := runtimes.NewPodman(filepath.Join(dir, "p"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	for _, cmd := range []*exec.Cmd{c.Pull(ctx, ref), p.Pull(ctx, ref)} {
		if _, err := runtimes.Output(cmd); err != nil {
			return err
		}
	}
	own, err := newOwnRuntime(ctx, filepath.Join(dir, "o"), ref)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close(context.WithoutCancel(ctx))) }()
	type side struct {
		name string
		run  func(n int) (string, error)
	}
	sides := []side{
		{plain, func(int) (string, error) { return runtimes.Output(exec.CommandContext(ctx, b.probe)) }},
		{oursHost, func(int) (string, error) { return own.container(ctx, "host", b.probe) }},
		{oursReal, func(int) (string, error) { return own.container(ctx, ref, "") }},
		{ctr, func(n int) (string, error) {
			return runtimes.Output(c.RunCommand(ctx, ref, "c"+strconv.Itoa(n)))
		}},
		{podman, func(n int) (string, error) {
			return runtimes.Output(p.RunCommand(ctx, ref, "c"+strconv.Itoa(n)))
		}},
	}
	r := results{}
	for _, s := range sides {
		r.sides = append(r.sides, s.name)
	}
	for i := range b.starts + 1 {
		for _, s := range turns(sides, i) {
			began := time.Now()
			said, err := s.run(i)
			ended := time.Now()
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			nanoseconds, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
			if err != nil {
				return fmt.Errorf("%s: it said %q", s.name, said)
			}
			if i > 0 { // the first of each finds nothing in the machine's caches
				r.addTime(s.name, "program begins", time.Unix(0, nanoseconds).Sub(began))
				r.addTime(s.name, "all is removed", ended.Sub(began))
			}
		}
	}
	return r.print(os.Stdout, "start of a container")
}

// ownRuntime is Carillon's container runtime without a kubelet.
type ownRuntime struct {
	*process.Runtime
	dir  string
	pods int
}

func newOwnRuntime(ctx context.Context, dir, ref string) (*ownRuntime, error) {
	store, err := image.Open(ctx, image.Options{Dir: filepath.Join(dir, "images")})
	if err != nil {
		return nil, err
	}
	name, err := image.ParseName(ref)
	if err != nil {
		return nil, err
	}
	if _, err := store.Pull(ctx, name, nil, nil); err != nil {
		return nil, err
	}
	r, err := process.New(process.Options{RootDir: filepath.Join(dir, "runtime"), Images: store})
	if err != nil {
		return nil, err
	}
	return &ownRuntime{Runtime: r, dir: dir}, r.Start(ctx)
}

// container runs a container as the kubelet does, and returns what it wrote.
func (r *ownRuntime) container(ctx context.Context, ref, command string) (string, error) {
	r.pods++
	uid := strconv.Itoa(r.pods)
	logs := filepath.Join(r.dir, "logs", uid)
	pod := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "p", Uid: uid, Namespace: "default"}, Hostname: "p", LogDirectory: logs,
	}
	sandbox, err := r.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: pod})
	if err != nil {
		return "", err
	}
	config := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "main"}, Image: &runtimeapi.ImageSpec{Image: ref}, LogPath: "main.log",
		Linux: &runtimeapi.LinuxContainerConfig{SecurityContext: &runtimeapi.LinuxContainerSecurityContext{
			Seccomp: &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
		}},
	}
	if command != "" {
		config.Command = []string{command}
	}
	created, err := r.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox.PodSandboxId, Config: config, SandboxConfig: pod})
	if err != nil {
		return "", err
	}
	if _, err := r.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		return "", err
	}
	for {
		status, err := r.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: created.ContainerId})
		if err != nil {
			return "", err
		}
		if status.Status.State == runtimeapi.ContainerState_CONTAINER_EXITED {
			break
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	said, err := os.ReadFile(filepath.Join(logs, "main.log"))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(said)) // time, stream, tag, text
	if len(fields) != 4 {
		return "", fmt.Errorf("its log is %q", said)
	}
	_, err = r.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: sandbox.PodSandboxId})
	return fields[3], err
}
